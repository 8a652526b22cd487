"""`tokenring install` and `tokenring remove`: dataflows come and go in a group that runs."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.copies import CopyBeside
from tests.errors import raises
from tests.tools.commands.serving import KEPT, WATCHDOG_S, Serving, serving
from tokenring.engine import UsageError
from tokenring.engine.ask import group_of
from tokenring.engine.install import code_of, install, remove
from tokenring.operators.collections import query, views_of

FUNCTIONS = """
import sys
import time

import tokenring as tr


def by_name(scope):
    return scope.import_arrangement("rows").collection().aggregate("name", rows=tr.Count())


def of_totals(scope):
    return scope.import_arrangement("by_name").collection().aggregate("rows", names=tr.Count())


def slow(scope):
    time.sleep(0.5)
    return by_name(scope)


def unknown(scope):
    scope.import_arrangement("row")


def wrong(scope):
    1 / 0


def fed(scope):
    scope.new_input(tr.Schema("value"))[1].collect()


def empty(scope):
    pass


def two(scope):
    return by_name(scope), by_name(scope)


def told(scope):
    return by_name(scope).changes()


def nothing():
    pass


def number(scope):
    by_name(scope)
    return 0


def leaves(scope):
    sys.exit("no such day")


def interrupts(scope):
    raise KeyboardInterrupt
"""


@pytest.fixture(scope="module")
def group(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    with serving(tmp_path_factory.mktemp("serving")) as found:
        yield found


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("functions") / "functions.py"
    path.write_text(FUNCTIONS)
    return path


def counts(group: Serving, name: str = "by_name") -> dict[str, int]:
    rows = query(group_of(group.launcher), name, timeout_s=WATCHDOG_S).rows.to_pylist()
    assert all(row["times"] == 1 for row in rows)
    return {row["name"]: row["rows"] for row in rows}


def test_what_is_installed_is_right_from_its_first_answer_on(group: Serving, file: Path) -> None:
    said = group.typed("install", f"{file}:by_name")
    assert said.stdout == "installed by_name\n", said.stderr
    for _ in range(5):
        found = counts(group)
        assert found.pop("stays") == 1
        assert sum(found.values()) == KEPT and set(found.values()) <= {KEPT // 7, KEPT // 7 + 1}
    assert "imported by 'by_name'" in (listed := group.tokenring("views").stdout) and "installed: by_name" in listed
    assert group.tokenring("install", f"{file}:of_totals", "--name", "second").returncode == 0
    rows = query(group_of(group.launcher), "second", timeout_s=WATCHDOG_S).rows.to_pylist()
    assert sum(row["rows"] * row["names"] for row in rows) == KEPT + 1
    said = group.typed("remove", "by_name")
    assert said.returncode == 2 and "'by_name' of 'by_name' is imported by 'second'; remove that first" in said.stderr
    for name in ("second", "by_name"):
        assert group.tokenring("remove", name).stdout == f"removed {name}\n"
    assert [view["name"] for view in views_of(group_of(group.launcher), WATCHDOG_S).views] == ["rows"]


def test_nothing_is_left_of_what_came_and_went(group: Serving, file: Path) -> None:
    asked, code = group_of(group.launcher), code_of(f"{file}:by_name")
    for _ in range(25):
        install(asked, code, "by_name", WATCHDOG_S)
        assert sum(counts(group).values()) == KEPT + 1
        remove(asked, "by_name", WATCHDOG_S)
        (view,), installed = views_of(asked, WATCHDOG_S)
        assert view["readers"] == [] and view["rows"] < 100 * KEPT and not installed
    assert not group.folders()


@pytest.mark.parametrize(
    ("function", "cure"),
    [
        ("unknown", "exported as 'row'; did you mean 'rows'?"),
        ("wrong", "raised ZeroDivisionError: division by zero"),
        ("fed", "nobody could feed the input 'input'"),
        ("empty", "declares nothing"),
        ("non", "has no function 'non'"),
        ("two", "returned tuple, which nobody could read"),
        ("told", "returned Stream, which nobody could read"),
        ("nothing", "nothing takes nothing; a program takes its worker, or a scope"),
        ("number", "returned int, which nobody could read"),
        ("leaves", "raised SystemExit: no such day"),
        ("interrupts", "raised KeyboardInterrupt"),
    ],
)
def test_what_cannot_be_installed_is_one_line_and_the_group_goes_on(
    group: Serving, file: Path, function: str, cure: str
) -> None:
    said = group.tokenring("install", f"{file}:{function}", "--name", "never")
    assert said.returncode == 2 and cure in said.stderr and said.stderr.count("\n") == 1
    assert views_of(group_of(group.launcher), WATCHDOG_S).installed == []


def test_a_file_that_ends_its_process_when_it_is_imported_cannot_be_installed(group: Serving, tmp_path: Path) -> None:
    path = tmp_path / "program.py"
    path.write_text("import sys\n\nsys.exit(2)\n")
    with raises(UsageError, "program.py", "cannot be imported", "SystemExit"):
        install(group_of(group.launcher), code_of(f"{path}:main"), "never", WATCHDOG_S)
    assert views_of(group_of(group.launcher), WATCHDOG_S).installed == []


def test_names_are_taken_once(group: Serving, file: Path) -> None:
    asked, code = group_of(group.launcher), code_of(f"{file}:by_name")
    with raises(UsageError, "'by_name'", "none"):
        remove(asked, "by_name", WATCHDOG_S)
    install(asked, code, "by_name", WATCHDOG_S)
    with raises(UsageError, "'by_name'", "remove"):
        install(asked, code, "by_name", WATCHDOG_S)
    with raises(UsageError, "'base'", "the program's own", "another name"):
        install(asked, code, "base", WATCHDOG_S)
    remove(asked, "by_name", WATCHDOG_S)
    nameless = group.tokenring("install", f"{file}:by_name", "--name", "")
    assert nameless.returncode == 2 and "text and not empty" in nameless.stderr


@pytest.mark.parametrize("after_s", [0.0, 0.3, 0.8, 1.2])
def test_an_asker_who_is_killed_leaves_all_workers_alike(group: Serving, file: Path, after_s: float) -> None:
    asked = group_of(group.launcher)
    code = code_of(f"{file}:slow")

    def asking() -> None:
        group_asked = group_of(group.launcher)
        print("asks", flush=True)
        install(group_asked, code, "slow", WATCHDOG_S)

    with CopyBeside(asking) as asker:
        assert asker.stdout.readline() == "asks\n", asker.stderr()
        time.sleep(after_s)
        asker.kill()
    install(asked, code_of(f"{file}:by_name"), "by_name", WATCHDOG_S)  # workers that waited for one another could not
    assert sum(counts(group).values()) == KEPT + 1
    if "slow" in views_of(asked, WATCHDOG_S).installed:
        assert sum(counts(group, "slow").values()) == KEPT + 1
        remove(asked, "slow", WATCHDOG_S)
    remove(asked, "by_name", WATCHDOG_S)
    assert not group.folders()


@pytest.mark.parametrize("told", [lambda scope: None, "function", len, Serving.folders])
def test_only_what_has_a_name_in_a_file_is_code(told: object) -> None:
    if told is Serving.folders:
        assert code_of(Serving.folders).function == "Serving.folders"
        return
    with raises(UsageError, {"top level", "names no function"}):
        code_of(told)  # type: ignore[arg-type]
