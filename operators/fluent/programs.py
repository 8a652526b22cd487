"""Functions that are called on every worker: with the worker, or with the scope of a dataflow that they declare."""

import inspect
from collections.abc import Callable
from typing import Any

from tokenring.engine import UsageError

_BY_POSITION = (
    inspect.Parameter.POSITIONAL_ONLY,
    inspect.Parameter.POSITIONAL_OR_KEYWORD,
    inspect.Parameter.VAR_POSITIONAL,
)
_INSTEAD = {"worker": "tokenring.execute(program)", "scope": "tokenring.run(pipeline)"}


def taken_by(called: str, function: Callable[..., Any]) -> str:
    """What its one parameter says it is, by its annotation or, without one, by its name, in small letters: "worker",
    "scope", or something else; "" where nothing is known of it. UsageError if it takes nothing, or needs more.

    called: the function's name, for the error.
    """
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):  # written in C
        return ""
    first = next((one for one in parameters if one.kind in _BY_POSITION), None)
    others = [one for one in parameters if one is not first and one.default is one.empty]
    if first is None or any(one.kind not in (one.VAR_POSITIONAL, one.VAR_KEYWORD) for one in others):
        takes = f"({', '.join(map(str, parameters))})" if parameters else "nothing"
        raise UsageError(f"{called} takes {takes}; a program takes its worker, or a scope, and nothing else")
    noted = first.annotation
    said = "" if noted is first.empty else noted if isinstance(noted, str) else getattr(noted, "__name__", "")
    return (said.strip("'\"").rpartition(".")[2] or first.name).lower()


def require_function_of(what: str, function: Any, caller: str) -> None:
    """UsageError unless `caller` can call it with a worker, or with a scope, as `what` says."""
    if not callable(function):
        raise UsageError(f"{caller} calls a function on every worker, with its {what}; {function!r} is no function")
    name = getattr(function, "__qualname__", "") or repr(function)
    said = taken_by(name, function)
    if said != what and said in _INSTEAD:
        raise UsageError(f"{caller} calls {name} with a {what}, and it takes a {said}: use {_INSTEAD[said]}")
