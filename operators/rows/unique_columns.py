"""Columns of which no two rows of a stream have the same value, as its source has proved: operators use it untold."""

from collections.abc import Collection

from tokenring.engine import Stream
from tokenring.engine.graph import Source
from tokenring.operators.expressions import Part


class _Proved:
    """What is known of the outputs of one dataflow."""

    def __init__(self) -> None:
        self.columns: dict[Source, frozenset[str]] = {}


def has_unique(stream: Stream, columns: Collection[str]) -> None:
    """Say that in each of these columns of a source's stream no two rows, of all workers, have the same value."""
    stream.scope.kept(_Proved).columns[stream.source] = frozenset(columns)


def unique_columns(stream: Stream) -> frozenset[str]:
    """The columns of which that is known: those of the source that stateless operators behind it hand on as they are,
    whatever rows they leave out and whatever they call them. Behind others nothing is."""
    known = stream.scope.kept(_Proved).columns.get(stream.source, frozenset())
    stages, stage = [], stream.stage
    while known and stage is not None:
        stages.append(stage.function)
        stage = stage.parent
    for function in reversed(stages):
        if not isinstance(function, Part):
            return frozenset()
        made = function.step().columns
        known = frozenset([name for name, term in made.items() if term.operation == "column" and term.value in known])
    return known
