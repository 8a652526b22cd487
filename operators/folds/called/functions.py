"""Functions of an aggregate as entries: blocks of rows, states and results around functions of one state."""

import builtins
import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from types import FunctionType
from typing import Any

import numpy as np

from tokenring.engine import SchemaError, float64, int64, kernel
from tokenring.engine.compiled import RAISED, Entry, address_of
from tokenring.engine.raw import Kernel, records_at
from tokenring.operators.folds.called.job import (
    FoldJob,
    floats_taken,
    null_of,
    other_of,
    parameters_of,
    results_of,
    state_of,
    words_taken,
    write_float,
    write_signed,
    write_unsigned,
    write_word,
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
    words, null, is_made = results_of(job, rows), null_of(job), 0
    for i in range(rows):
        made = finalize(records_at(state_of(job, i), 1, STATE)[0])  # type: ignore[name-defined]  # noqa: F821
        is_made |= write(words, i, made, null)  # type: ignore[name-defined]  # noqa: F821
    return is_made


@kernel
def _finalize_with_parameters(job: int, rows: int) -> int:
    words, null, is_made, parameters = results_of(job, rows), null_of(job), 0, parameters_of(job)
    for i in range(rows):
        made = finalize(records_at(state_of(job, i), 1, STATE)[0], parameters)  # type: ignore[name-defined]  # noqa: F821
        is_made |= write(words, i, made, null)  # type: ignore[name-defined]  # noqa: F821
    return is_made


_BODIES: dict[tuple[str, int], Any] = {
    ("init", 1): _init, ("update", 2): _update, ("update", 3): _update_by_two, ("combine", 2): _combine,
    ("finalize", 1): _finalize, ("finalize", 2): _finalize_with_parameters,
}  # fmt: skip
"""By what a function does, and how many arguments it takes."""
_READS = {False: words_taken, True: floats_taken}
_FIELDS = (np.dtype(np.int64), np.dtype(np.uint64), np.dtype(np.float64))
_GIVEN = [kind for kind in TAKES["word"] if kind != "decimal"]
_WRITES = dict.fromkeys(_GIVEN, write_signed) | {
    "float64": write_float, "uint64": write_unsigned, "same": write_word,
}  # fmt: skip
"""By the kind of the result."""
_COMMON = {
    "records_at": records_at, "state_of": state_of, "other_of": other_of, "results_of": results_of, "null_of": null_of,
    "parameters_of": parameters_of,
}  # fmt: skip


class _Around(Entry):
    """The entry around a function, which is compiled before it."""

    def __init__(self, function: Function, check: Callable[[], None]) -> None:
        super().__init__(function)
        self._check = check

    def make_ready(self, only_load: bool = False) -> bool:
        """As an entry's."""
        if super().make_ready(only_load=True):
            return True
        if only_load:
            return False
        self._check()
        return super().make_ready()


def _entry(
    does: str, function: Function, takes: Sequence[Any], name: str, called: str, module: str, gives: str | None = None,
    **read: Any,
) -> Entry:  # fmt: skip
    """The entry around a function that is `called` so, which reads and writes by `read`; takes, gives: see
    `check_function`. It bears the name of the aggregate, by which the library of kernels and numba's files tell it from
    others of the same body."""
    body, kernel = _BODIES[does, _arguments(function)].py_func, _compiled(function)
    named = {"__builtins__": builtins, **_COMMON, "STATE": takes[0], does: kernel, **read}
    made = FunctionType(body.__code__, named, body.__name__)
    made.__module__, made.__qualname__ = module, f"{name}.{called}"
    code = _plain(function).__code__
    said = f"aggregate {name!r}: {called} ({code.co_filename}:{code.co_firstlineno})"
    return _Around(made, partial(_check, said, kernel, takes, gives))


def _check(said: str, function: Kernel, takes: Sequence[Any], gives: str | None) -> None:
    function.numba_comes()
    from tokenring.operators.folds.called.compiled_alone import check_function

    check_function(said, function, takes, gives)


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
    init: Entry = field(repr=False)  # what is said of what is kept is the same wherever the functions stand
    update: Entry = field(repr=False)
    combine: Entry = field(repr=False)
    finalize: Entry = field(repr=False)
    retract: Entry | None = field(repr=False)
    has_parameters: bool

    @property
    def width(self) -> int:
        """How many words a state is."""
        return self.state.itemsize // 8

    def make_ready(self) -> None:
        """Compile what is not: whoever declares the aggregate is to wait for that, and hear of it, not the first rows.
        KernelError names a function that cannot be."""
        for entry in (self.init, self.update, self.combine, self.finalize, self.retract):
            if entry is not None:
                entry.make_ready()

    @cached_property
    def initial(self) -> list[int]:
        """The words of a state before any row. ValueError if `init` raises."""
        job, words, slots = FoldJob(), np.zeros(self.width, np.int64), np.zeros(1, np.int64)
        job.states, job.slots = address_of(words), address_of(slots)
        if self.init(job.address, 1) == RAISED:
            raise ValueError(f"aggregate {self.name!r}: init raised; let it make the state of no row, always")
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
    if not state.names or not all(_is_field(state[field]) for field in state.names) or state.itemsize % 8:
        raise SchemaError(
            f"{said}: state={state!r}; give a dtype of fields of int64, uint64 or float64, or of arrays of these, of "
            f"one dimension and a length of at least 1"
        )
    if gives != "same" and (not isinstance(gives, str) or gives.removesuffix("?") not in _GIVEN):
        raise SchemaError(f"{said}: gives={gives!r}; give {', '.join(_GIVEN)}, with ? for null, or 'same'")
    if gives == "same" and takes[0] == "float64":
        raise SchemaError(f"{said}: gives='same' is of what is taken as a word, not as 'float64'; give 'float64'")
    wanted: list[tuple[str, Function, tuple[int, ...]]] = [
        ("init", init, (1,)), ("update", update, (1 + len(takes),)), ("combine", combine, (2,)),
        ("retract", combine if retract is None else retract, (2,)), ("finalize", finalize, (1, 2)),
    ]  # fmt: skip
    for called, function, counts in wanted:
        if not isinstance(_plain(function), FunctionType):
            raise SchemaError(f"{said}: {called}={function!r}; give a function, or a kernel")
        count = counts[0]
        if _arguments(function) not in counts:
            raise SchemaError(
                f"{said}: {called} takes {_arguments(function)} arguments, and is called with {count}: a state, and "
                f"{'a value of each column' if called == 'update' else 'another state' if count == 2 else 'no more'}"
            )
    module = _plain(init).__module__
    read = [_READS[taken == "float64"] for taken in takes]
    values = [float64 if taken == "float64" else int64 for taken in takes]
    made, has_parameters = _finalizing(name, state, gives, finalize)
    return Functions(
        name, state, tuple(takes), gives,
        _entry("init", init, (state,), name, "init", module),
        _entry("update", update, (state, *values), name, "update", module, first_taken=read[0], second_taken=read[-1]),
        _entry("combine", combine, (state, state), name, "combine", module),
        made,
        None if retract is None else _entry("combine", retract, (state, state), name, "retract", module),
        has_parameters,
    )  # fmt: skip


def _is_field(kind: np.dtype[Any]) -> bool:
    return kind.base in _FIELDS and len(kind.shape) <= 1 and 0 not in kind.shape


def _finalizing(name: str, state: np.dtype[Any], gives: str, finalize: Function) -> tuple[Entry, bool]:
    """The entry of `finalize`, and whether that takes parameters beside a state."""
    module, has_parameters = _plain(finalize).__module__, _arguments(finalize) == 2
    takes = (state, float64[::1]) if has_parameters else (state,)
    write = _WRITES[gives.removesuffix("?")]
    return _entry("finalize", finalize, takes, name, "finalize", module, gives, write=write), has_parameters
