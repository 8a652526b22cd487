"""Runs a function on every worker of a new group: one of a worker, or one of a scope, which declares one dataflow."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from tokenring.tools.errors import InputError

if TYPE_CHECKING:
    from tokenring.engine import Config
    from tokenring.operators.fluent import Worker

_BY_POSITION = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


def run(name: str, program: Callable[..., Any], config: Config) -> list[Any]:
    """What `program` returned on each worker, in their order; an Arrow table in place of what `collect` or `latest`
    gave it, or of a stream of its scope, and None in place of a sink's probe.

    It is called with a scope if its parameter is annotated or named so, else with the worker: those that have the
    operators as methods. InputError if it takes nothing, or needs more than that.
    """
    from tokenring.operators.fluent import execute

    return execute(partial(_part, program, name, _takes_a_scope(name, program)), config=config)


def _takes_a_scope(name: str, program: Callable[..., Any]) -> bool:
    try:
        parameters = list(inspect.signature(program).parameters.values())
    except (TypeError, ValueError):  # written in C: nothing is known of it
        return False
    needed = [one for one in parameters if one.default is one.empty and one.kind is not one.VAR_KEYWORD]
    first = next((one for one in parameters if one.kind in (*_BY_POSITION, inspect.Parameter.VAR_POSITIONAL)), None)
    if first is None or any(one is not first for one in needed if one.kind is not one.VAR_POSITIONAL):
        takes = f"({', '.join(map(str, parameters))})" if parameters else "nothing"
        raise InputError(f"{name} takes {takes}; a program takes its worker, or a scope, and nothing else")
    noted = first.annotation
    said = "" if noted is first.empty else noted if isinstance(noted, str) else getattr(noted, "__name__", "")
    return (said.strip("'\"").rpartition(".")[2] or first.name).lower() == "scope"


def _part(program: Callable[..., Any], name: str, of_a_scope: bool, worker: Worker) -> Any:
    """What each worker runs."""
    from tokenring.engine import Probe, Stream
    from tokenring.operators import Collected, Latest, collect

    if of_a_scope:
        with worker.dataflow(name) as scope:
            value = program(scope)
            if isinstance(value, Stream):
                value = collect(value)
    else:
        value = program(worker)
    if isinstance(value, Collected | Latest):
        worker.run()  # now, and not after the program: the rows are whole only then
        return value.to_arrow()
    return None if isinstance(value, Probe) else value
