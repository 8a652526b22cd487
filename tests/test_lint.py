"""The lint step: each rule notices a broken example at its line, and is silent about a sound one."""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from scripts.lint import __main__ as lint
from scripts.lint import code, packages, pages
from scripts.lint.finding import Finding
from tests.imports import ROOT, Module, read_tree


def written(folder: Path, text: str, name: str = "page.md") -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def found(findings: Iterable[Finding]) -> list[tuple[str, int]]:
    """Where something is found."""
    return [(finding.path.name, finding.line) for finding in findings]


def modules(folder: Path, **texts: str) -> list[Module]:
    """A package of these files."""
    for name, text in {"__init__": '"""A room."""\n', **texts}.items():
        written(folder, text, f"room/{name}.py")
    return [*read_tree(("room",), folder).values()]


def test_a_room_of_many_files(tmp_path: Path) -> None:
    few = {f"file_{number}": "" for number in range(code.LYING_FLAT)}
    assert found(code.crowds(modules(tmp_path, **few))) == []
    (finding,) = code.crowds(modules(tmp_path, **few, one_more=""))
    assert finding.path == tmp_path / "room" / "__init__.py"
    assert "17 files" in finding.sentence and "16" in finding.sentence


def test_a_room_that_names_a_file(tmp_path: Path) -> None:
    assert found(code.rooms_faces(modules(tmp_path, other='"""As in queues/ring.py."""'))) == []
    assert found(code.rooms_faces(modules(tmp_path, __init__='"""As in queues/ring.py."""'))) == [("__init__.py", 1)]


class Silent:
    """A kind with a method that says nothing, and one that sends its reader on."""

    def said(self) -> None:
        """As it should be."""

    def silent(self) -> None: ...

    def elsewhere(self) -> None:
        """See docs/model.md."""

    def _private(self) -> None: ...


def test_a_public_name_that_says_nothing_or_sends_its_reader_on() -> None:
    face: Any = ModuleType("face")
    face.__all__, face.Silent, face.NUMBER = ["Silent", "NUMBER"], Silent, 3
    findings = [*code.public_names([face])]
    lines = Path(__file__).read_text().splitlines()
    assert [lines[line - 1].strip() for _, line in found(findings)] == [
        "def silent(self) -> None: ...",
        "def elsewhere(self) -> None:",
    ]
    assert "docs/model.md" in findings[1].sentence


@pytest.mark.parametrize(
    "line", ["pytest.raises(ValueError, {}='row')", "pytest.warns({}='row')", "pytest.RaisesExc(KeyError, {}='row')"]
)
def test_a_check_that_freezes_a_sentence(tmp_path: Path, line: str) -> None:
    sound = "import re\npattern(match=3)\nraises(ValueError, 'row 3')\n"
    path = written(tmp_path, f"{sound}with {line.format('match')}:\n    pass\n", "test_some.py")
    assert found(code.frozen_wordings([path])) == [("test_some.py", 4)]


def test_a_folder_that_is_no_package(tmp_path: Path) -> None:
    modules(tmp_path, some="")
    assert found(packages.broken_packages([tmp_path / "room"])) == []
    written(tmp_path, "", "room/within/some.py")
    (finding,) = packages.broken_packages([tmp_path / "room"])
    assert finding.path.parent.name == "within"


NEEDS = {
    "dependencies": ["numpy>=2.0", "click"],
    "optional-dependencies": {"kernels": [], "spark": [], "bench": [], "delta": []},
}


def test_what_is_imported_and_declared(tmp_path: Path) -> None:
    path = written(tmp_path, '[project]\ndependencies = [\n    "numpy>=2.0",\n    "click",\n]\n', "pyproject.toml")
    sound = modules(tmp_path, some="import numpy, click, sys\nfrom tokenring.engine import Token")
    assert found(packages.undeclared(path, NEEDS, sound)) == []
    wrong = modules(tmp_path, some="import numpy, requests")
    assert [(finding.line, finding.sentence.split()[0]) for finding in packages.undeclared(path, NEEDS, wrong)] == [
        (1, "requests"),
        (4, "click"),
    ]


def test_what_is_declared_and_explained(tmp_path: Path) -> None:
    lines = [f"- **{name}**: why" for name in ("numpy", "click", "hatchling", "ziglang")]
    assert found(packages.unexplained(written(tmp_path, "\n".join(["", *lines])), NEEDS)) == []
    page = written(tmp_path, "\n".join(["", *lines[1:], "- **left-pad**: why", lines[1]]))
    names = {(finding.line, finding.sentence) for finding in packages.unexplained(page, NEEDS)}
    assert {(1, "numpy has no line here"), (5, "left-pad is explained, and not needed")} < names
    assert "click is explained twice" in {sentence for _, sentence in names}


def test_a_page_that_is_not_drawn_anew(tmp_path: Path) -> None:
    page = written(tmp_path, "one\ntwo\n")
    assert found(pages.outdated(page, "one\ntwo\n", "do so")) == []
    (old,) = pages.outdated(page, "one\n", "do so")
    assert (old.line, old.sentence) == (2, "'two' is not so any more; do so")
    (new,) = pages.outdated(page, "one\nhalf\ntwo\n", "do so")
    assert (new.line, new.sentence) == (2, "'half' is missing; do so")


def test_a_file_without_a_test(tmp_path: Path) -> None:
    text = "| [`a.py`](../a.py) | what | [`test`](../tests/test_a.py) |\n| [`b.py`](../b.py) | what | |\n"
    findings = pages.untested(tmp_path / "page.md", text, ["a.py", "b.py", "c.py"])
    assert [finding.sentence.split()[-1] for finding in findings] == ["b.py", "c.py"]


def test_a_link_that_leads_nowhere(tmp_path: Path) -> None:
    written(tmp_path, "# One `name`, of two\n", "there.md")
    sound = "[a](there.md) [b](there.md#one-name-of-two) [c](https://x.org/none) [d](#here)\n# Here\n"
    page = written(tmp_path, sound)
    assert found(pages.dead_links([page])) == []
    page = written(tmp_path, sound + "[e](gone.md)\n[f](there.md#three)\n")
    assert found(pages.dead_links([page])) == [("page.md", 3), ("page.md", 4)]


def test_a_page_that_nobody_is_led_to(tmp_path: Path) -> None:
    readme = written(tmp_path, "[a](docs/a.md)", "README.md")
    ways = pages.unled(readme, [tmp_path / "docs/a.md", tmp_path / "docs/b.md"])
    assert [finding.sentence for finding in ways] == ["it does not lead to docs/b.md"]


def test_a_map_of_other_folders(tmp_path: Path) -> None:
    readme = written(tmp_path, "# Map\n\nshm/     bytes\nengine/  times\n", "README.md")
    assert found(pages.unmapped(readme, ["shm", "engine"])) == []
    assert [(finding.line, finding.sentence) for finding in pages.unmapped(readme, ["shm", "docs"])] == [
        (3, "the map has no docs/"),
        (4, "the map has engine/, which there is not"),
    ]


def test_a_copy_that_is_not_its_file_any_more(tmp_path: Path) -> None:
    written(tmp_path, "print(1)\n", "some.py")
    page = written(tmp_path, "Text\n\n<!-- some.py -->\n```python\nprint(1)\n```\n")
    assert found(pages.stale_copies(page, tmp_path)) == []
    written(tmp_path, "print(2)\n", "some.py")
    assert found(pages.stale_copies(page, tmp_path)) == [("page.md", 3)]


def test_an_operator_that_is_not_listed(tmp_path: Path) -> None:
    page = written(tmp_path, "| `join` | what |\n")
    assert [finding.sentence for finding in pages.unlisted_operators(page, ["join", "top"])] == [
        "the list has no row for top"
    ]


def test_a_name_that_the_package_has_not(tmp_path: Path) -> None:
    page = written(tmp_path, "`KeyError`, `TokenError`, tr.run(f)\n`TokneError`\ntr.rnu(f)\n")
    assert found(pages.unknown_names([page], {"TokenError", "run"})) == [("page.md", 2), ("page.md", 3)]


def test_an_operator_that_is_not_exported(tmp_path: Path) -> None:
    page = written(tmp_path, "| `join`, `top` | what `else` |\n| `jion` | |\n")
    assert found(pages.unknown_operators(page, {"join", "top"})) == [("page.md", 2)]


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    written(tmp_path, "", "docs/a.md")
    page = written(tmp_path, "`docs/a.md`, `other/b.md`\n```\n`docs/c.md`\n```\n`docs/b.md`\n")
    assert found(pages.missing_files([page], tmp_path, ["docs"])) == [("page.md", 5)]


def test_a_member_that_a_class_has_not(tmp_path: Path) -> None:
    source = (
        "class Base:\n    far = 1\nclass Kind(Base):\n    def __init__(self): self.near = 1\n    def call(self): ...\n"
    )
    classes = pages.members([written(tmp_path, source, "kind.py")])
    page = written(tmp_path, "`Kind.near`, `Kind.far`, `Kind.call(it)`, `Other.any`\n`Kind.gone`\n")
    assert found(pages.missing_members([page], classes)) == [("page.md", 2)]


def test_a_drawing_of_other_rooms(tmp_path: Path) -> None:
    rooms = {"shm": ("queues",), "nexmark": ("events", "run")}
    drawn = "# Rooms\n```\nnexmark events run\nshm     queues\n```\n"
    assert found(pages.undrawn_rooms(written(tmp_path, drawn), rooms)) == []
    (finding,) = pages.undrawn_rooms(written(tmp_path, drawn.replace("run", "running")), rooms)
    assert finding.line == 3 and "'run'" in finding.sentence


def test_a_finding_is_a_line_and_a_status(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(lint, "findings", lambda: [Finding(ROOT / "docs" / "model.md", 7, "it is so")])
    assert lint.main() == 1
    assert capsys.readouterr().out == "docs/model.md:7: it is so\n"
    monkeypatch.setattr(lint, "findings", list)
    assert lint.main() == 0
    assert capsys.readouterr().out == ""


def test_every_rule_is_asked() -> None:
    calls = inspect.getsource(lint.findings)
    for module in (code, packages, pages):
        for name, rule in vars(module).items():
            if inspect.isgeneratorfunction(rule) and not name.startswith("_"):
                assert f"{module.__name__.rpartition('.')[2]}.{name}(" in calls
