"""TokenRing's one name: `import tokenring as tr` gives all that dataflow authors need.

The names are those of the faces of `tokenring.engine`, `tokenring.operators` and `tokenring.operators.fluent`, with
`tr.graphs` and `tr.mechanisms`; where two have a name, such as Stream, it is the one with the methods.
A name is found when it is first used, and only what it needs is loaded then (see `faces`); so importing the package, or
one of its parts, costs that part alone. What type checkers and editors see stands in `__init__.pyi`.
"""

from importlib import import_module

__version__ = "0.1.0"

_FACES = ("tokenring.operators.fluent", "tokenring.operators", "tokenring.engine")  # an earlier one goes first
_ROOMS = {"graphs": "tokenring.operators.graphs", "mechanisms": "tokenring.operators.mechanisms"}
_PARTS = ("engine", "nexmark", "operators", "shm", "spark", "tools")


def __getattr__(name: str) -> object:
    """What `name` stands for, found once; AttributeError names the one that is likely meant."""
    if name == "__all__":
        found: object = sorted({*_ROOMS, *(name for face in _FACES for name in import_module(face).__all__)})
    elif name.startswith("_"):  # tools ask any module for such names: nothing is loaded
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    elif name in _PARTS:
        found = import_module(f"tokenring.{name}")
    elif name in _ROOMS:
        found = import_module(_ROOMS[name])
    else:
        found = _of_a_face(name)
    globals()[name] = found
    return found


def _of_a_face(name: str) -> object:
    for face in map(import_module, _FACES):
        if name in face.__all__:
            return getattr(face, name)
    from tokenring.engine import did_you_mean

    cure = import_module("tokenring.operators.sources").meant_by(name) or did_you_mean(name, __dir__())
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}{cure}")


def __dir__() -> list[str]:
    """All names, loaded or not."""
    every = __getattr__("__all__")
    return sorted({*globals(), *_PARTS, *every})  # type: ignore[misc]
