"""What callers give, looked at before anything runs, so that a mistake is named where it was made."""

import os
from math import inf, isfinite
from operator import index
from pathlib import Path
from typing import Any

import numpy as np

from tokenring.engine.errors import GraphError, SchemaError, UsageError


def as_integer(value: Any) -> int:
    """A whole number as Python's; TypeError for what is none, a bool among it."""
    if isinstance(value, bool):
        raise TypeError(f"{value!r} is no whole number")
    return index(value)


def is_whole(value: Any) -> bool:
    """Whether it is a whole number, Python's or numpy's: no bool, and no difference of times, a kind of numpy's."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool | np.timedelta64)


def whole_number(who: str, argument: str, value: Any, least: int | None = 1, most: int = 2**62 - 1) -> int:
    """A whole number that an argument says, from `least` to `most`, as Python's; or, without `least`, any but 0 that is
    no greater, either way. UsageError, naming both, for another."""
    try:
        found = as_integer(value)
    except TypeError:
        found = None
    if found is None or abs(found) > most or (found == 0 if least is None else found < least):
        said = "above or below 0" if least is None else f"{least} or more"
        if found is not None and abs(found) > most:
            said = f"from {-most if least is None else least} to {most}"
        raise UsageError(f"{who}: {argument} must be a whole number, {said}, not {value!r}")
    return found


def is_number(value: Any) -> bool:
    """Whether it is a number, Python's or numpy's, with a fraction or not: no bool, no NaN, not infinite."""
    return isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool) and isfinite(value)


def require_seconds(**limits: Any) -> None:
    """UsageError for a limit that is no number of seconds; infinitely many are."""
    for name, value in limits.items():
        if not is_number(value) and value != inf:
            raise UsageError(f"{name}= is a number of seconds, such as 10, not {value!r}")


def is_only_made(function: Any) -> bool:
    """Whether a call of a function makes a generator or a coroutine, whose body would never run."""
    import inspect  # here: a start looks at programs once

    return any(
        is_it(function)
        for is_it in (inspect.isgeneratorfunction, inspect.iscoroutinefunction, inspect.isasyncgenfunction)
    )


def require_flags(who: str, **flags: Any) -> None:
    """UsageError, naming it, for a flag that is not True or False: any text would pass for True."""
    for what, flag in flags.items():
        if not isinstance(flag, bool | np.bool_):
            raise UsageError(f"{who}: {what} must be True or False, not {flag!r}")


def require_function(who: str, what: str, function: Any) -> None:
    """UsageError, naming it, for what cannot be called."""
    if not callable(function):
        raise UsageError(f"{who}: {what} must be a function, not {function!r}")


def is_text(value: Any) -> bool:
    """Whether it is text that can be written: half of a surrogate pair is no character."""
    try:
        return isinstance(value, str) and value.encode() is not None
    except UnicodeEncodeError:
        return False


def folder_at(who: str, folder: Any) -> Path:
    """The absolute path of a folder, which text or a path says. UsageError, naming who was given it, for what is
    neither, and for "", which would be wherever the process happens to be."""
    path = os.fspath(folder) if isinstance(folder, str | os.PathLike) else None
    if not isinstance(path, str) or not path or "\0" in path:
        raise UsageError(f"{who}: a folder is named by text or a Path, such as 'results', not {folder!r}")
    return Path(os.path.abspath(path))


def require_name(of: str, name: Any) -> None:
    """GraphError for the name `of` an operator, say, that is no text."""
    if not is_text(name):
        raise GraphError(f"the name of {of} is text, not {name!r}")


def require_column(who: str, **names: Any) -> None:
    """SchemaError for what a column of the result cannot be called."""
    for what, name in names.items():
        if not is_text(name):
            raise SchemaError(f"{who}: {what} is the name of a column, which is text, not {name!r}")
