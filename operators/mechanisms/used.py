"""Which mechanism a dataflow coordinates by: said once, before all else, and asked by all that take part."""

from collections.abc import Callable

from tokenring.engine import GraphError, Scope, UsageError
from tokenring.operators.mechanisms.interface import Mechanism
from tokenring.operators.mechanisms.tokens import TOKENS, Tokens


def _notifications() -> Mechanism:
    from tokenring.operators.mechanisms.notifications import Notifications

    return Notifications()


def _watermarks(name: str) -> Mechanism:
    from tokenring.operators.mechanisms.watermarks import Watermarks

    return Watermarks(name, crosses=name == "watermarks-X")


def _sequential() -> Mechanism:
    from tokenring.operators.mechanisms.sequential import Sequential

    return Sequential()


_MAKE: dict[str, Callable[[], Mechanism]] = {
    "tokens": Tokens,
    "notifications": _notifications,
    "watermarks-X": lambda: _watermarks("watermarks-X"),
    "watermarks-P": lambda: _watermarks("watermarks-P"),
    "sequential": _sequential,
}

MECHANISMS = tuple(_MAKE)
"""Their names, as on the command line."""


class _Used:
    """What one dataflow coordinates by."""

    mechanism: Mechanism = TOKENS


def mechanism(name: str) -> Mechanism:
    """A mechanism for one dataflow. Raises UsageError for a name that is not in MECHANISMS."""
    if name not in _MAKE:
        raise UsageError(f"there is no mechanism {name!r}; choose one of {', '.join(MECHANISMS)}")
    return _MAKE[name]()


def use(scope: Scope, name: str) -> Mechanism:
    """Let the dataflow coordinate by the mechanism of that name; returns it, for its sources, inputs and probes. To be
    said before anything else is declared: GraphError otherwise. UsageError for a name that is not in MECHANISMS.
    """
    chosen = mechanism(name)
    if scope.graph.operators:
        raise GraphError(
            f"dataflow {scope.graph.name!r}: its mechanism is said before anything is declared, since all of it "
            f"coordinates in one way: say worker.dataflow(name, mechanism={name!r})"
        )
    scope.kept(_Used).mechanism = chosen
    return chosen


def mechanism_of(scope: Scope) -> Mechanism:
    """What the dataflow coordinates by: tokens, unless it was told otherwise."""
    return scope.kept(_Used).mechanism
