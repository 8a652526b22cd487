"""Functions of an aggregate as entries: blocks of rows, states and results around functions of one state."""

import builtins
import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from types import FunctionType
from typing import Any

import numpy as np

from tokenring.engine import SchemaError, kernel
from tokenring.engine.compiled import Entry, address_of, entry
from tokenring.engine.raw import Kernel, records_at
from tokenring.operators.folds.called.job import (
    FoldJob,
    float_results_of,
    floats_taken,
    null_of,
    other_of,
    parameters_of,
    results_of,
    state_of,
    words_taken,
)
from tokenring.operators.folds.called.takes import TAKES

Function = Callable[..., Any]
"""What numba can compile: a kernel, or a function without Python objects."""


# The bodies of entries. What they name beside arguments is given to each of them (see `_entry`): the function, the
# state's dtype, and how arguments and results are read and written.


@kernel
def _init(job: int, rows: int) -> int:
    for i in range(rows):
        init(records_at(state_of(job, i), 1, STATE)[0])  # type: ignore[name-defined]  # noqa: F821
    return 0


@kernel
def _update(job: int, rows: int) -> int:
    first = first_taken(job, 0, rows)  # type: ignore[name-defined]  # noqa: F821
    for i in range(rows):
        update(records_at(state_of(job, i), 1, STATE)[0], first[i])  # type: ignore[name-defined]  # noqa: F821
    return 0


@kernel
def _update_by_two(job: int, rows: int) -> int:
    first = first_taken(job, 0, rows)  # type: ignore[name-defined]  # noqa: F821
    second = second_taken(job, 1, rows)  # type: ignore[name-defined]  # noqa: F821
    for i in range(rows):
        update(records_at(state_of(job, i), 1, STATE)[0], first[i], second[i])  # type: ignore[name-defined]  # noqa: F821
    return 0


@kernel
def _combine(job: int, rows: int) -> int:
    for i in range(rows):
        state = records_at(state_of(job, i), 1, STATE)  # type: ignore[name-defined]  # noqa: F821
        other = records_at(other_of(job, i), 1, STATE)  # type: ignore[name-defined]  # noqa: F821
        combine(state[0], other[0])  # type: ignore[name-defined]  # noqa: F821
    return 0


@kernel
def _finalize(job: int, rows: int) -> int:
    results, words, null = made_results(job, rows), results_of(job, rows), null_of(job)  # type: ignore[name-defined]  # noqa: F821
    for i in range(rows):
        made = finalize(records_at(state_of(job, i), 1, STATE)[0])  # type: ignore[name-defined]  # noqa: F821
        if made is None:
            words[i] = null
        else:
            results[i] = made
    return 0


@kernel
def _finalize_with_parameters(job: int, rows: int) -> int:
    results, words, null = made_results(job, rows), results_of(job, rows), null_of(job)  # type: ignore[name-defined]  # noqa: F821
    parameters = parameters_of(job)
    for i in range(rows):
        made = finalize(records_at(state_of(job, i), 1, STATE)[0], parameters)  # type: ignore[name-defined]  # noqa: F821
        if made is None:
            words[i] = null
        else:
            results[i] = made
    return 0


_BODIES: dict[tuple[str, int], Any] = {
    ("init", 1): _init, ("update", 2): _update, ("update", 3): _update_by_two, ("combine", 2): _combine,
    ("finalize", 1): _finalize, ("finalize", 2): _finalize_with_parameters,
}  # fmt: skip
"""By what a function does, and how many arguments it takes."""
_READS = {False: words_taken, True: floats_taken}
_WRITES = {False: results_of, True: float_results_of}
_GIVEN = [kind for kind in TAKES["word"] if kind != "decimal"]
_COMMON = {
    "records_at": records_at, "state_of": state_of, "other_of": other_of, "results_of": results_of, "null_of": null_of,
    "parameters_of": parameters_of,
}  # fmt: skip


def _entry(does: str, function: Function, state: np.dtype[Any], module: str, name: str, **read: Any) -> Entry:
    """The entry around a function, which reads and writes by `read`. It bears the name of the aggregate, by which the
    library of kernels and numba's files tell it from others of the same body."""
    body = _BODIES[does, _arguments(function)].py_func
    named = {"__builtins__": builtins, **_COMMON, "STATE": state, does: _compiled(function), **read}
    made = FunctionType(body.__code__, named, body.__name__)
    made.__module__, made.__qualname__ = module, name
    return entry(made)


def _compiled(function: Function) -> Kernel:
    return function if isinstance(function, Kernel) else Kernel(function)


def _plain(function: Function) -> Function:
    return function.py_func if isinstance(function, Kernel) else function


def _arguments(function: Function) -> int:
    return len(inspect.signature(_plain(function)).parameters)


@dataclass(frozen=True, eq=False)
class Functions:
    """An aggregate's functions, by the address of their entries; see `functions_of`."""

    name: str
    state: np.dtype[Any]
    takes: tuple[str, ...]
    gives: str
    init: Entry
    update: Entry
    combine: Entry
    finalize: Entry
    retract: Entry | None
    has_parameters: bool

    @property
    def width(self) -> int:
        """How many words a state is."""
        return self.state.itemsize // 8

    @cached_property
    def initial(self) -> list[int]:
        """The words of a state before any row."""
        job, words, slots = FoldJob(), np.zeros(self.width, np.int64), np.zeros(1, np.int64)
        job.states, job.slots = address_of(words), address_of(slots)
        self.init(job.address, 1)
        return list(map(int, words))

    def finished_by(self, name: str, finalize: Function) -> "Functions":
        """The same state with another result, of the same kind."""
        made, has_parameters = _finalizing(name, self.state, self.gives, finalize)
        return replace(self, name=name, finalize=made, has_parameters=has_parameters)


def functions_of(
    name: str,
    state: np.dtype[Any],
    takes: Sequence[str],
    gives: str,
    init: Function,
    update: Function,
    combine: Function,
    finalize: Function,
    retract: Function | None = None,
) -> Functions:
    """The functions of an aggregate that is called `name`. state: a dtype of fields of words; takes: for one column or
    two one of TAKES each; gives: the kind of the result, with ? where it may be null whatever comes in, or "same", that
    of the first column. SchemaError for what is no such thing.

    A module's aggregates that are in the library of kernels have a dtype that it calls STATE: by that name the library
    finds where it stands.
    """
    said = f"aggregate {name!r}"
    if len(takes) not in (1, 2) or any(taken not in TAKES for taken in takes):
        raise SchemaError(f"{said}: takes={takes!r}; say of one column or two which of {', '.join(TAKES)} it takes")
    names = state.names or ()
    if not names or any(state[field].base.itemsize != 8 for field in names) or state.itemsize % 8:
        raise SchemaError(f"{said}: state={state!r}; give a dtype of fields of int64, uint64 or float64")
    if gives != "same" and gives.removesuffix("?") not in _GIVEN:
        raise SchemaError(f"{said}: gives={gives!r}; give {', '.join(_GIVEN)}, with ? for null, or 'same'")
    wanted = [
        ("init", init, 1), ("update", update, 1 + len(takes)), ("combine", combine, 2), ("retract", retract, 2),
        ("finalize", finalize, 2 if _arguments(finalize) == 2 else 1),
    ]  # fmt: skip
    for called, function, count in wanted:
        if function is not None and _arguments(function) != count:
            raise SchemaError(
                f"{said}: {called} takes {_arguments(function)} arguments, and is called with {count}: a state, and "
                f"{'a value of each column' if called == 'update' else 'another state' if count == 2 else 'no more'}"
            )
    module = _plain(init).__module__
    read = [_READS[taken == "float64"] for taken in takes]
    made, has_parameters = _finalizing(name, state, gives, finalize)
    return Functions(
        name, state, tuple(takes), gives,
        _entry("init", init, state, module, f"{name}.init"),
        _entry("update", update, state, module, f"{name}.update", first_taken=read[0], second_taken=read[-1]),
        _entry("combine", combine, state, module, f"{name}.combine"),
        made,
        None if retract is None else _entry("combine", retract, state, module, f"{name}.retract"),
        has_parameters,
    )  # fmt: skip


def _finalizing(name: str, state: np.dtype[Any], gives: str, finalize: Function) -> tuple[Entry, bool]:
    """The entry of `finalize`, and whether that takes parameters beside a state."""
    written = _WRITES[gives.removesuffix("?") == "float64"]
    made = _entry("finalize", finalize, state, _plain(finalize).__module__, f"{name}.finalize", made_results=written)
    return made, _arguments(finalize) == 2
