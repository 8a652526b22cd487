"""What is known of a stream by its source and the stateless operators behind it: operators use it untold."""

from collections.abc import Collection, Iterator
from typing import Any

from tokenring.engine import Stream
from tokenring.engine.graph import Source
from tokenring.operators.expressions import Part


class _Known:
    """What is known of the outputs of one dataflow."""

    def __init__(self) -> None:
        self.unique: dict[Source, frozenset[str]] = {}
        self.ending: set[Source] = set()


def has_unique(stream: Stream, columns: Collection[str]) -> None:
    """Say that in each of these columns of a source's stream no two rows, of all workers, have the same value."""
    stream.scope.kept(_Known).unique[stream.source] = frozenset(columns)


def unique_columns(stream: Stream) -> frozenset[str]:
    """The columns of which that is known: those of the source that stateless operators behind it hand on as they are,
    whatever rows they leave out and whatever they call them. Behind others nothing is."""
    known = stream.scope.kept(_Known).unique.get(stream.source, frozenset())
    for function in _stages(stream) if known else ():
        if not isinstance(function, Part):
            return frozenset()
        made = function.step().columns
        known = frozenset([name for name, term in made.items() if term.operation == "column" and term.value in known])
    return known


def has_end(stream: Stream) -> None:
    """Say that this stream of a source ends by itself: files do."""
    stream.scope.kept(_Known).ending.add(stream.source)


def has_known_end(stream: Stream) -> bool:
    """Whether a stream is of a source that ends by itself, whatever stateless operators lie between."""
    return stream.source in stream.scope.kept(_Known).ending


def is_filtered(stream: Stream) -> bool:
    """Whether an expression, behind the operator that a stream is of, leaves out rows."""
    return any(isinstance(function, Part) and function.step().condition is not None for function in _stages(stream))


def _stages(stream: Stream) -> Iterator[Any]:
    """The functions of the stateless operators behind an operator, in order."""
    stages, stage = [], stream.stage
    while stage is not None:
        stages.append(stage.function)
        stage = stage.parent
    return reversed(stages)
