"""What callers of sources give, looked at before anything runs, so that a mistake is named where it was made."""

import inspect
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from tokenring.engine import SchemaError, UsageError, did_you_mean
from tokenring.engine.arguments import whole_number
from tokenring.engine.columns import names_of


def require_positive(name: str, **sizes: Any) -> None:
    """UsageError for sizes that are not whole numbers from 1 to 2**31 - 1."""
    for what, size in sizes.items():
        whole_number(f"source {name!r}", what, size, most=2**31 - 1)


OfWorker = Callable[[int, int], Callable[[], Any] | None]
"""of_worker(worker_index, peers): what a source calls there for rows; None on a worker that is not asked for any."""


def asked_on(name: str, function: Any, example: str, per_worker: bool, *named: str) -> OfWorker:
    """Who is asked for the rows of a function: each worker, if the function must be given (worker_index, peers) or
    `per_worker` says so; else worker 0 alone. named: what it is given besides, by name. UsageError for what is no
    function, or must be given something else.
    """
    if not callable(function):
        raise UsageError(
            f"source {name!r}: give the function itself, {example}, not what it returned ({type(function).__name__})"
        )
    if takes(function, named=named):  # what it takes besides has defaults, which are not ours to fill
        return lambda worker, peers: function if per_worker or worker == 0 else None
    if takes(function, 0, 1, named=named):
        return lambda worker, peers: partial(function, worker, peers)
    raise UsageError(
        f"source {name!r}: the function takes {inspect.signature(function)}, and a source's takes: nothing, to be "
        f"asked on one worker, or (worker_index, peers), to be asked on each for its share"
        f"{''.join([f', and {one}= by name' for one in named])}"
    )


def takes(function: Callable[..., Any], *arguments: Any, named: Sequence[str] = ()) -> bool:
    """Whether a function can be called so."""
    try:
        inspect.signature(function).bind(*arguments, **dict.fromkeys(named))
    except ValueError:  # written in C, and says nothing: what waits in a queue takes nothing
        return not arguments
    except TypeError:
        return False
    return True


def chosen_columns(name: str, columns: str | Sequence[str], there: Sequence[str], where: str) -> list[str]:
    """The columns that are named, as a sequence or as words of a string; SchemaError for one that is not there, or
    twice.
    """
    what = f"source {name!r}: columns="
    chosen = [columns] if isinstance(columns, str) and columns in there else list(names_of(columns, what))
    if not chosen:
        raise SchemaError(f"source {name!r}: columns= names none; leave it out for all of them")
    for column in chosen:
        if column not in there:
            near = did_you_mean(column, there)
            raise SchemaError(
                f"source {name!r}: no column {column!r}; the columns of {where} are {', '.join(there)}{near}"
            )
    if len(set(chosen)) != len(chosen):
        raise SchemaError(f"source {name!r}: a column is named twice: {', '.join(chosen)}")
    return chosen


def named_rows(make: Callable[[], Any], where: str) -> Any:
    """What `make` gives; its SchemaError says where."""
    try:
        return make()
    except SchemaError as error:
        raise SchemaError(f"{where}: {error}") from None


_OF_FRAMES = {f"{verb}_{what}" for verb in ("read", "from") for what in ("pandas", "polars", "arrow", "table", "frame")}


def meant_by(name: str) -> str:
    """What is said of a source that other libraries have and we have by another name; nothing of others."""
    if name in _OF_FRAMES:
        return "; here it is 'read_arrow', which takes tables of Arrow, pandas and Polars"
    return ""
