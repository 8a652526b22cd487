"""Programs: what they take; and, for processes that import them, module, qualified name, and a partial one's arguments.
"""

import importlib
import sys
from collections.abc import Callable
from functools import partial
from types import ModuleType
from typing import Any

from tokenring.engine.arguments import is_only_made
from tokenring.engine.errors import UsageError
from tokenring.engine.install import file_of, module_of, taken_by

MAIN = "__tokenring_main__"
"""What the program's own file is called where a worker imports it; so `if __name__ == "__main__"` is not entered."""

_INSTEAD = {
    "worker": "tokenring.execute(program)",
    "scope": "tokenring.run(pipeline), or call it in `with worker.dataflow() as scope`",
}


def named(program: Callable[..., Any], start: str) -> dict[str, Any]:
    """What `resolve` makes the program of, in another process. UsageError if it cannot be imported."""
    if isinstance(program, partial):
        return {
            "of": named(program.func, start),
            "arguments": [_argument(value, start) for value in program.args],
            "keywords": {name: _argument(value, start) for name, value in program.keywords.items()},
        }
    module, name = getattr(program, "__module__", None), getattr(program, "__qualname__", None)
    found: Any = sys.modules.get(module or "")
    for part in (name or "?").split("."):
        found = getattr(found, part, None)
    if found is not program or module is None:
        what = f"{name or program!r} of {module}" if module else repr(program)
        raise UsageError(
            f"start={start!r} imports the program in each worker, and {what} cannot be imported by its name: define it "
            f"at the top level of a module (no lambda, no function within a function; functools.partial hands it "
            f"arguments), or use start='fork'"
        )
    if module in ("__main__", MAIN):
        module = _file_or_module(sys.modules[module], start)
    return {"module": module, "name": name}


def _argument(value: Any, start: str) -> dict[str, Any]:
    return {"program": named(value, start)} if callable(value) else {"value": value}


def _file_or_module(main: ModuleType, start: str) -> str:
    """The module or file that this process runs."""
    spec = getattr(main, "__spec__", None)
    if spec is not None and spec.name not in ("__main__", MAIN):  # the former: a folder, or an archive
        return str(spec.name)
    path = file_of(main)
    if path is None:
        raise UsageError(
            f"start={start!r} imports the program in each worker, and what is typed, given by -c, in an archive or "
            f"read from standard input is in no file: put it into one, or use start='fork'"
        )
    return f"file:{path}"


def resolve(told: dict[str, Any]) -> Callable[..., Any]:
    """The program that `named` told of."""
    if "of" in told:
        keywords = {name: _resolved(value) for name, value in told["keywords"].items()}
        return partial(resolve(told["of"]), *[_resolved(value) for value in told["arguments"]], **keywords)
    found: Any = _module(told["module"])
    for part in told["name"].split("."):
        found = getattr(found, part)
    program: Callable[..., Any] = found
    return program


def _resolved(told: dict[str, Any]) -> Any:
    return resolve(told["program"]) if "program" in told else told["value"]


def _module(name: str) -> ModuleType:
    if not name.startswith("file:"):
        return importlib.import_module(name)
    return import_program(name.removeprefix("file:"))


def import_program(path: str) -> ModuleType:
    """The program that is a file, imported once, under a name that is not `__main__`."""
    if MAIN not in sys.modules:
        sys.modules[MAIN], run = module_of(MAIN, path)
        try:
            run()
        except BaseException:
            del sys.modules[MAIN]
            raise
    return sys.modules[MAIN]


def require_function_of(what: str, function: Any, caller: str) -> None:
    """UsageError unless `caller` can call it with a worker, or with a scope, as `what` says."""
    if not callable(function):
        raise UsageError(f"{caller} calls a function on every worker, with its {what}; {function!r} is no function")
    name = getattr(function, "__qualname__", "") or repr(function)
    if is_only_made(function):
        raise UsageError(
            f"{caller} calls {name} once, and it has a yield or is async, so that nothing in it would run: make it a "
            f"plain function"
        )
    said = taken_by(name, function)
    if said != what and said in _INSTEAD:
        raise UsageError(f"{caller} calls {name} with a {what}, and it takes a {said}: use {_INSTEAD[said]}")
