"""Rules of pages: those that are drawn are drawn anew, links lead somewhere, and what is named exists."""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from itertools import zip_longest
from pathlib import Path

from scripts.lint.finding import Finding, line_of


def outdated(page: Path, anew: str, cure: str) -> Iterator[Finding]:
    """A page that is made by a program says what it would say today; cure: how it is made."""
    written, there = page.read_text().splitlines(), anew.splitlines()
    for line, (old, new) in enumerate(zip_longest(written, there), 1):
        if old != new:
            wrong = f"{new!r} is missing" if new is not None and new not in written else f"{old!r} is not so any more"
            yield Finding(page, line, f"{wrong}; {cure}")
            return


def untested(page: Path, text: str, files: Iterable[str]) -> Iterator[Finding]:
    """Each file of sources stands on the rooms' page with a test."""
    rows = {match[1]: line for line in text.splitlines() if (match := re.search(r"\]\(\.\./([^)]+)\)", line))}
    for name in files:
        if "](../tests/" not in rows.get(name, ""):
            yield Finding(page, 1, f"no test is about {name}")


def _anchors(text: str) -> set[str]:
    """The names that headings can be linked by."""
    headings = re.findall(r"^#+ (.+)$", text, flags=re.M)
    return {re.sub(r"[^\w -]", "", heading).strip().lower().replace(" ", "-") for heading in headings}


def dead_links(pages: Iterable[Path]) -> Iterator[Finding]:
    """Links lead to files and headings that there are."""
    for page in pages:
        text = page.read_text()
        for match in re.finditer(r"\]\(([^)\s]+)\)", text):
            path, _, anchor = match[1].partition("#")
            target = (page.parent / path).resolve() if path else page
            if match[1].startswith("http"):
                continue
            if not target.exists() or (anchor and anchor not in _anchors(target.read_text())):
                yield Finding(page, line_of(text, match.start()), f"the link to {match[1]} leads nowhere")


def unled(readme: Path, pages: Iterable[Path]) -> Iterator[Finding]:
    """The README leads to every page."""
    text = readme.read_text()
    for page in pages:
        if f"]({page.relative_to(readme.parent)})" not in text:
            yield Finding(readme, 1, f"it does not lead to {page.relative_to(readme.parent)}")


def unmapped(readme: Path, folders: Iterable[str]) -> Iterator[Finding]:
    """The README's map of the checkout has these folders, and no others."""
    text = readme.read_text()
    mapped = {match[1]: line_of(text, match.start()) for match in re.finditer(r"^(\w+)/ {2,}", text, flags=re.M)}
    wanted = {*folders}
    for folder in sorted(wanted - mapped.keys()):
        yield Finding(readme, min(mapped.values(), default=1), f"the map has no {folder}/")
    for folder in sorted(mapped.keys() - wanted):
        yield Finding(readme, mapped[folder], f"the map has {folder}/, which there is not")


def stale_copies(page: Path, root: Path) -> Iterator[Finding]:
    """A program below `<!-- file -->` is that file, whole."""
    text = page.read_text()
    for match in re.finditer(r"^<!-- (\S+) -->\n```python\n(.*?)^```$", text, flags=re.M | re.S):
        if match[2] != (root / match[1]).read_text():
            yield Finding(page, line_of(text, match.start()), f"the program is not {match[1]} any more: copy it anew")


def unlisted_operators(page: Path, names: Iterable[str]) -> Iterator[Finding]:
    """Each operator that is exported stands in the list."""
    text = page.read_text()
    for name in names:
        if f"`{name}`" not in text:
            yield Finding(page, 1, f"the list has no row for {name}")


def unknown_names(pages: Iterable[Path], names: Container[str]) -> Iterator[Finding]:
    """Errors and warnings that pages name, and names of `tr`, are the package's."""
    for page in pages:
        text = page.read_text()
        for match in re.finditer(r"`([A-Z]\w+(?:Error|Warning))`|\btr\.(\w+)", text):
            name = match[1] or match[2]
            if name not in names and not (match[1] and hasattr(builtins, name)):
                yield Finding(page, line_of(text, match.start()), f"the package has no {name}")


def unknown_operators(page: Path, names: Container[str]) -> Iterator[Finding]:
    """The operators of the list are exported."""
    for number, line in enumerate(page.read_text().splitlines(), 1):
        if line.startswith("| `"):
            for name in re.findall(r"`(\w+)`", line.split("|")[1]):
                if name not in names:
                    yield Finding(page, number, f"no operator {name} is exported")


def _prose(text: str) -> Iterator[tuple[int, str]]:
    """What stands between backticks, with its line, but for programs and what is shown of a terminal."""
    blank = re.sub(r"^```.*?^```", lambda shown: "\n" * shown[0].count("\n"), text, flags=re.DOTALL | re.MULTILINE)
    for match in re.finditer(r"`([^`\n]+)`", blank):
        yield line_of(blank, match.start()), match[1]


def missing_files(pages: Iterable[Path], root: Path, folders: Sequence[str]) -> Iterator[Finding]:
    """Files and folders that pages name, below folders of the checkout, exist."""
    for page in pages:
        for line, name in _prose(page.read_text()):
            if re.fullmatch(rf"(?:{'|'.join(folders)})/[\w./-]*", name) and not (root / name).exists():
                yield Finding(page, line, f"there is no {name}")


def missing_members(pages: Iterable[Path], classes: Mapping[str, set[str]]) -> Iterator[Finding]:
    """Classes have what pages say of them."""
    for page in pages:
        for line, said in _prose(page.read_text()):
            for name, member in re.findall(r"^([A-Z]\w*)\.(\w+)(?:\(.*\))?$", said):
                if member not in classes.get(name, {member}):
                    yield Finding(page, line, f"{name} has no {member}")


def members(sources: Iterable[Path]) -> dict[str, set[str]]:
    """By name, what classes have; those of one name together, with what their bases have."""
    found: dict[str, set[str]] = {}
    bases: dict[str, set[str]] = {}
    for source in (path.read_text() for path in sources):
        for node in ast.walk(ast.parse(source)) if "class " in source else ():
            if isinstance(node, ast.ClassDef):
                found.setdefault(node.name, set()).update(_has(node))
                bases.setdefault(node.name, set()).update(re.findall(r"\w+", " ".join(map(ast.unparse, node.bases))))
    for _ in range(4):
        for name, above in bases.items():
            found[name] |= {each for base in above if base in found for each in found[base]}
    return found


def _has(node: ast.ClassDef) -> Iterator[str]:
    """What a class defines, and what its methods give it."""
    for part in ast.walk(node):
        if isinstance(part, ast.FunctionDef | ast.ClassDef):
            yield part.name
        elif isinstance(part, ast.Attribute) and isinstance(part.value, ast.Name) and part.value.id == "self":
            yield part.attr
        elif isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store):
            yield part.id


def undrawn_rooms(page: Path, rooms: Mapping[str, Sequence[str]]) -> Iterator[Finding]:
    """The drawing in docs/architecture.md has the rooms there are, the last package first."""
    text = page.read_text()
    start = text.index(f"```\n{[*rooms][-1]}")
    drawn = text[start:].split("```")[1].split()
    there = [word for package in reversed([*rooms]) for word in (package, *rooms[package])]
    if drawn != there:
        first = next((new or old for old, new in zip_longest(drawn, there) if old != new), "")
        yield Finding(page, line_of(text, start) + 1, f"the drawing is not of the rooms there are, from {first!r} on")
