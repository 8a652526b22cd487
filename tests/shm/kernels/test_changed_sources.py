"""A kernel is taken out of the library only while what is compiled into it is what it was, in whatever file that
stands; and the library's list names those files."""

from __future__ import annotations

import os
import shutil
from typing import Any

import pytest

from tests.shm.kernels import little

CHANGES: dict[str, tuple[str, str, str, set[str]]] = {
    "nothing": ("leaf", "", "", set()),
    "a comment": ("leaf", "# a step", "# a pace", set()),
    "its own code": ("caller", "at - 1", "at - 2", {"alone"}),
    "a kernel that is called": ("leaf", "at + STEP", "at - STEP", {"twice"}),
    "what a face imports": ("__init__", ".aback import", ".ahead import", {"gone"}),
    "a constant, by other names": ("leaf", "FOUNDATION + 1", "FOUNDATION + 2", {"twice", "far", "of_module"}),
    "a constant of which a constant is made": ("deep", "BASE = 2", "BASE = 5", {"twice", "far", "of_module"}),
    "a tuple": ("deep", "(1, 2)", "(1, 3)", {"paired"}),
    "a constant of numpy's": ("leaf", "uint64(32)", "uint64(64)", {"marked"}),
    "the words of a record": ("records", '"left"', '"last"', {"row"}),
    "the fields of a record": ("records", "first: int", "before: int", {"within"}),
    "the fields of a record within a record": ("inner", "one: int", "last: int", {"within"}),
    "an intrinsic": ("machine", "args[0]", "args[-1]", {"added"}),
    "a function that an intrinsic calls": ("emitting", "builder.add", "builder.sub", {"added"}),
}
"""File, what it says, what it says then, the kernels that are not what they were."""


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    folder = tmp_path_factory.mktemp("changed")
    package = folder / "package"
    little.make(package)
    for at, (file, before, after, _) in enumerate(CHANGES.values()):
        shutil.copytree(package, folder / str(at), symlinks=True)
        path = folder / str(at) / "sample" / f"{file}.py"
        was, text = path.stat(), path.read_text()
        assert before in text
        path.write_text(text.replace(before, after))
        os.utime(path, ns=(was.st_atime_ns, was.st_mtime_ns))
    said = little.ask([folder / str(at) for at in range(len(CHANGES))])
    return dict(zip(CHANGES, said, strict=True))


@pytest.mark.parametrize("change", CHANGES)
def test_what_has_changed_is_not_taken_out_of_the_library(answers: dict[str, dict[str, Any]], change: str) -> None:
    affected = CHANGES[change][3]
    assert answers[change]["found"] == {name: value for name, value in little.VALUES.items() if name not in affected}


@pytest.mark.parametrize("change", CHANGES)
def test_each_file_that_can_change_a_kernel_is_listed_with_it(answers: dict[str, dict[str, Any]], change: str) -> None:
    file, _, _, affected = CHANGES[change]
    files = answers["nothing"]["files"]
    assert {name for name in files if file in files[name]} >= affected
    # Where numba finds another kernel than it has kept, it must be in the same file.
    made_of, now = answers["nothing"]["made_of"], answers[change]["made_of"]
    assert {name for name in made_of if made_of[name] != now[name]} == affected


def test_a_kernel_of_one_file_has_that_one_alone(answers: dict[str, dict[str, Any]]) -> None:
    assert answers["nothing"]["files"]["alone"] == ["caller"]
    assert answers["nothing"]["files"]["far"] == ["__init__", "caller", "deep", "leaf"]


def test_dates_say_what_to_look_at_unless_it_must_be_sure(answers: dict[str, dict[str, Any]]) -> None:
    assert answers["nothing"]["changed"] == [[], []]
    assert answers["a tuple"]["changed"] == [[], ["tokenring.sample.caller"]], "of the same size and date"
