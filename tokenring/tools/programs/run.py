"""Runs a function on every worker of a new group: one of a worker, or one of a scope, which declares one dataflow."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from tokenring.tools.errors import InputError

if TYPE_CHECKING:
    from tokenring.engine import Config, Results
    from tokenring.operators.fluent import Worker
    from tokenring.operators.recovery import Recovery


def run(name: str, program: Callable[..., Any], config: Config, recovery: Recovery | None = None) -> Results:
    """What `program` returned on each worker, in their order; an Arrow table in place of what `collect` or `latest`
    gave it, or of a stream of its scope, and None in place of a sink's probe or a view.

    It is called with a scope if its parameter is annotated or named so, else with the worker: those of
    operators.fluent. InputError if it takes nothing, or needs more than that.
    """
    from tokenring.operators.fluent import execute

    return execute(partial(_part, program, name, _takes_a_scope(name, program)), config=config, recovery=recovery)


def _takes_a_scope(name: str, program: Callable[..., Any]) -> bool:
    from tokenring.engine import UsageError
    from tokenring.engine.install import taken_by

    try:
        return taken_by(name, program) == "scope"
    except UsageError as error:
        raise InputError(str(error)) from None


def _part(program: Callable[..., Any], name: str, of_a_scope: bool, worker: Worker) -> Any:
    """What each worker runs."""
    from tokenring.engine import Probe, Stream
    from tokenring.operators import Collected, Latest, collect

    if of_a_scope:
        with worker.dataflow(name) as scope:
            value = program(scope)
            if isinstance(value, Stream):
                value = collect(value)
            elif not isinstance(value, Collected | Latest | Probe | None):
                _require_read(value)
    else:
        value = program(worker)
    if isinstance(value, Collected | Latest):
        worker.run()  # now, and not after the program: the rows are whole only then
        return value.to_arrow()
    return None if isinstance(value, Probe | None) or _is_view(value) else value


def _require_read(value: Any) -> None:
    """UsageError for what a function of a scope returned, if nobody reads that."""
    from tokenring.engine import UsageError
    from tokenring.operators.collections import Arranged, Collection

    if isinstance(value, Collection | Arranged):
        raise UsageError(
            f"the function returned {type(value).__name__}, which nobody could read: return what its .changes() or "
            f".export(name) gives"
        )


def _is_view(value: Any) -> bool:
    from tokenring.operators.collections import View

    return isinstance(value, View)
