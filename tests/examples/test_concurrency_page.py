"""docs/concurrency.md against the code: every SYNC label has both ends; the page names them and every shared word."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from typing import NamedTuple

import pytest

from tests.imports import ROOT
from tokenring.shm.memory import layout

PAGE = (ROOT / "docs" / "concurrency.md").read_text()
LABELS_TABLE = PAGE.split("## Every label, both ends")[1].split("\n## ")[0]
WORDS_TABLE = PAGE.split("## Every shared word")[1].split("\n## ")[0]

# Which calls stand at which end. Parking's two halves are both a fence.
CALLS = {
    "release": {"store_release", "poke"},
    "acquire": {"load_acquire", "peek"},
    "parker's half": {"fence"},
    "waker's half": {"fence"},
}
ENDS = {"parking": {"parker's half", "waker's half"}}


class End(NamedTuple):
    """One end of a label: where it is, in which function, and what is called in the expression the comment ends."""

    where: str
    function: str
    end: str
    calls: set[str]


def read_ends() -> dict[str, list[End]]:
    """Every `# SYNC label: end` comment of shm and engine."""
    found = defaultdict(list)
    for path in sorted([*(ROOT / "shm").rglob("*.py"), *(ROOT / "engine").rglob("*.py")]):
        source = path.read_text()
        if "# SYNC" not in source:
            continue
        nodes = list(ast.walk(ast.parse(source)))
        for number, line in enumerate(source.splitlines(), 1):
            if "# SYNC" not in line:
                continue
            where = f"{path.relative_to(ROOT)}:{number}"
            match = re.search(r"# SYNC ([\w-]+): (release|acquire|parker's half|waker's half)\b", line)
            assert match, f"{where}: a SYNC comment reads `# SYNC label: end`"
            around = [node for node in nodes if getattr(node, "lineno", number + 1) <= number <= node.end_lineno]
            functions = [node for node in around if isinstance(node, ast.FunctionDef)]
            called = [node.func for node in around if isinstance(node, ast.Call)]
            names = {node.id for node in called if isinstance(node, ast.Name)}
            found[match[1]].append(End(where, max(functions, key=lambda node: node.lineno).name, match[2], names))
    return found


SYNC = read_ends()


@pytest.mark.parametrize("label", sorted(SYNC))
def test_a_label_has_both_ends_and_the_right_order_at_each(label: str) -> None:
    assert {end.end for end in SYNC[label]} == ENDS.get(label, {"release", "acquire"})
    wrong = [end.where for end in SYNC[label] if not end.calls & CALLS[end.end]]
    assert not wrong


@pytest.mark.parametrize("label", sorted(SYNC))
def test_the_page_names_the_functions_at_both_ends(label: str) -> None:
    (row,) = re.findall(rf"^\| `{label}` \|(.*)\|$", LABELS_TABLE, flags=re.M)
    published, relied_on, _ = row.split("|")
    for end in SYNC[label]:
        column = published if end.end in ("release", "waker's half") else relied_on
        assert re.search(rf"\.{end.function}`", column), f"{end.where} is in {end.function}"


def test_the_page_has_no_label_that_the_code_has_not() -> None:
    assert set(re.findall(r"^\| `([\w-]+)` \|", LABELS_TABLE, flags=re.M)) == SYNC.keys()


def test_every_word_of_the_layout_has_its_row() -> None:
    words = {name for name in vars(layout) if re.match(r"(HEADER|WORKER)_", name)}
    words |= {"stop", "ending", "over", "relief", "used"}
    words |= {"parked", "congested", "bell", "ring_write_position", "ring_read_position"}
    assert len(words) >= 20
    assert all(hasattr(layout.Layout, name) or hasattr(layout, name) for name in words)
    assert words <= set(re.findall(r"`(\w+)`", WORDS_TABLE))


def test_the_proof_s_assumptions_are_each_held_and_tested_somewhere() -> None:
    rows = re.findall(r"^\| (A\d+) \|.*\| ([^|]+) \| ([^|]+) \|$", PAGE, flags=re.M)
    assert [number for number, _, _ in rows] == [f"A{number}" for number in range(1, 13)]
    for number, held, tested in rows:
        paths = re.findall(r"`([\w/]+\.py)`", held + tested)
        assert re.search(r"`tests/", tested), number
        assert not [path for path in paths if not (ROOT / path).exists()], number
