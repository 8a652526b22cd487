"""What Python calls of a library takes what its signature says, refuses everything else with words, gives back what
the function returns, and keeps nothing."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Callable
from contextlib import nullcontext, suppress
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tests.errors import Fact, raises
from tests.imports import ROOT
from tests.shm.kernels.making.call_cases import REFUSED, TAKEN, WORDS_SAID, Derived, frozen, table, words
from tests.shm.kernels.making.samples import SAMPLES
from tokenring.shm.kernels.library import Library, opened

FUNCTIONS = {function.__name__: function for function, _ in SAMPLES}
_PAGE = os.sysconf("SC_PAGE_SIZE")

Calls = dict[str, Callable[..., Any]]


@pytest.fixture(scope="module")
def library(little_library: Path) -> Library:
    found, why = opened(ROOT / "tokenring", little_library)
    assert found is not None, why
    return found


@pytest.fixture(scope="module")
def calls(library: Library) -> Calls:
    """What Python calls, of each sample."""
    found: Calls = {}
    for function, signature in SAMPLES:
        name = f"{function.__module__}.{function.__qualname__}"
        taken = library.find(SimpleNamespace(name=name, py_func=function, signature=signature))
        assert taken is not None
        found[function.__name__] = taken
    return found


def _plain(value: Any) -> Any:
    """A result in a form that says all of it: kinds, shapes and values."""
    if isinstance(value, tuple):
        return tuple([_plain(part) for part in value])
    if isinstance(value, np.ndarray):
        return value.dtype.str, value.flags.writeable, value.tolist(), value.shape
    return type(value), value


def _named(case: Any) -> str | None:
    return case if isinstance(case, str) else ""


@pytest.mark.parametrize(("name", "arguments"), TAKEN, ids=_named)
def test_what_fits_is_taken_and_the_result_is_the_function_s(
    calls: Calls, name: str, arguments: tuple[Any, ...]
) -> None:
    plain = [int(one) if name == "difference" else bool(one) if name == "opposite" else one for one in arguments]
    expected = FUNCTIONS[name](*plain)
    found = calls[name](*arguments)
    if name in ("total", "corner", "product", "difference", "checked", "from_within"):
        expected = int(expected)
    elif name.startswith(("halved", "total_of")):
        expected = float(expected)
    assert _plain(found) == _plain(expected)


@pytest.mark.parametrize(("name", "arguments", "kind", "said"), REFUSED, ids=_named)
def test_what_does_not_fit_is_refused_with_words(
    calls: Calls, name: str, arguments: tuple[Any, ...], kind: type[Exception], said: Fact
) -> None:
    with raises(kind, said) as caught:
        calls[name](*arguments)
    assert type(caught.value) is kind
    if name == "checked":
        assert caught.value.args == ("" if said == "''" else said,), "the function's own words, whole"


def test_a_call_after_one_that_failed_is_as_good_as_any(calls: Calls) -> None:
    for _ in range(3):
        with pytest.raises(MemoryError):
            calls["checked"](words(1), 1)
        assert calls["checked"](words(1, 2), 0) == 2


def test_arrays_are_written_to(calls: Calls, tmp_path: Path) -> None:
    column, reals = words(1, 2, 3), np.array([[1.0, 3.0]])
    assert (calls["fill"](column[1:], 9), calls["halve"](reals)) == (None, None)
    assert (column.tolist(), reals.tolist()) == ([1, 9, 9], [[0.5, 1.5]])
    mapped = np.memmap(tmp_path / "mapped", np.int64, "w+", shape=4)
    calls["fill"](mapped, 5)
    assert calls["total"](mapped) == 20
    with raises(TypeError, WORDS_SAID):
        calls["fill"](np.memmap(tmp_path / "mapped", np.int64, "r", shape=4), 5)


def test_an_array_that_is_given_back_is_the_same_object(calls: Calls) -> None:
    column, rows = words(1, 2, 3), table(2, 3)
    assert calls["same"](column) is column
    assert calls["same_table"](rows) is rows
    assert calls["same_column"](frozen(column)) is column
    assert calls["part"](words_of := words(1, 2), 0, 2) is words_of
    assert calls["given_and_made"](rows_of := words(3), 1)[0] is rows_of
    derived = words(1).view(Derived)
    assert calls["same"](derived) is derived


def test_a_part_of_an_array_lives_in_it_and_keeps_it(calls: Calls) -> None:
    column = words(1, 2, 3, 4)
    part = calls["part"](column, 1, 3)
    part[0] = 7
    assert column.tolist() == [1, 7, 3, 4]
    assert part.base is column
    fixed = calls["part_of_column"](frozen(words(1, 2, 3)), 1, 2)
    assert not fixed.flags.writeable, "nor is what it is a part of"
    kept = [calls["part"](np.full(1000, at), 10, 20) for at in range(100)]
    gc.collect()
    assert [part.tolist() for part in kept] == [[at] * 10 for at in range(100)]


def test_parts_of_one_allocation_end_it_once(calls: Calls) -> None:
    """Each alone keeps the memory that they share."""
    first, second = calls["halves"](2000)
    first[:], second[:] = 1, 2
    del first
    others = [calls["halves"](2000) for _ in range(100)]
    assert second.tolist() == [2] * 1000
    del second
    assert all([not part.any() for pair in others for part in pair])


def _resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * _PAGE


@pytest.mark.parametrize("name", ["counted", "halves", "two_tables"])
def test_what_a_kernel_allocated_is_freed(calls: Calls, name: str) -> None:
    """10^5 times 8 KiB and more would be 800 MiB."""
    one = calls[name]
    for _ in range(1000):
        one(1000)
    before = _resident_bytes()
    for _ in range(100_000 if name == "counted" else 20_000):
        one(1000)
    assert _resident_bytes() - before < 16 << 20


def test_failing_calls_keep_nothing(calls: Calls) -> None:
    before = _resident_bytes()
    for _ in range(50_000):
        with suppress(MemoryError):
            calls["checked"](words(1), 1)
    assert _resident_bytes() - before < 4 << 20


def _quietly(call: Callable[[], Any], expected: type[Exception] | None) -> None:
    with suppress(expected) if expected is not None else nullcontext():
        call()


COUNTED = [(name, arguments, None) for name, arguments in TAKEN] + [case[:3] for case in REFUSED]


@pytest.mark.parametrize(("name", "arguments", "kind"), COUNTED, ids=_named)
def test_nobody_s_count_of_references_changes(
    calls: Calls, name: str, arguments: tuple[Any, ...], kind: type[Exception] | None
) -> None:
    objects = [*arguments, None, True, False, TypeError, MemoryError, np.ndarray, np.dtype(np.int64), calls[name]]
    objects += [part for one in arguments if isinstance(one, tuple) for part in one]
    call = partial(calls[name], *arguments)
    for _ in range(3):
        _quietly(call, kind)
    before = [sys.getrefcount(one) for one in objects]
    for _ in range(200):
        _quietly(call, kind)
    after = [sys.getrefcount(one) for one in objects]
    assert max([abs(now - then) for now, then in zip(after, before, strict=True)]) < 100, (before, after)


def test_kernels_know_who_they_are(calls: Calls, library: Library) -> None:
    assert len(calls) == len(library.kernels) == len(SAMPLES)
    assert [library._module.address(at) for at in (0, 5)] == [0, 0], "none of them is an entry"
