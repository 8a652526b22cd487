"""What is known of a stream by its source and the stateless operators behind it: operators use it untold."""

from collections.abc import Collection
from math import inf
from typing import Any

from tokenring.engine import GraphError, Probe, Stream
from tokenring.engine.graph import Source
from tokenring.operators.expressions import Part


class _Known:
    """What is known of the outputs of one dataflow."""

    def __init__(self) -> None:
        self.unique: dict[Source, frozenset[str]] = {}
        self.windows: dict[Source, tuple[str, str | None]] = {}
        """What results of windows, which are sent at their ends, call the starts and the ends."""
        self.ending: set[Source] = set()
        self.rows: dict[int, int] = {}
        """Of the sources that can be read at any time, by number among the operators."""
        self.tables: set[Source] = set()
        self.waits: dict[int, list[tuple[int, Probe]]] = {}
        """By a source's number: for which others it waits, and what it watches of each."""

    def waits_for(self, source: int, other: int) -> bool:
        """Whether a source is another, or waits for it, or for one that does."""
        return source == other or any([self.waits_for(first, other) for first, _ in self.waits.get(source, ())])


def has_unique(stream: Stream, columns: Collection[str]) -> None:
    """Say that in each of these columns of a source's stream no two rows, of all workers, have the same value."""
    stream.scope.kept(_Known).unique[stream.source] = frozenset(columns)


def unique_columns(stream: Stream) -> frozenset[str]:
    """The columns of which that is known: those of the source that stateless operators behind it hand on as they are,
    whatever rows they leave out and whatever they call them. Behind others nothing is."""
    return frozenset(_handed_on(stream, stream.scope.kept(_Known).unique.get(stream.source, ())))


def _handed_on(stream: Stream, columns: Collection[str]) -> dict[str, str]:
    """What stateless operators hand on as it is, of these columns of whom the stream is of: what it is called now, and
    what it was. Nothing, if one of them is a function of batches."""
    known = {each: each for each in columns}
    for function in _functions(stream) if known else ():
        if not isinstance(function, Part):
            return {}
        made = function.step().columns.items()
        known = {name: known[term.value] for name, term in made if term.operation == "column" and term.value in known}
    return known


def has_windows(stream: Stream, start: str | None, end: str | None) -> None:
    """Say that a stream's rows are results of windows, each sent at its end, and what the bounds are called."""
    if start is not None:
        stream.scope.kept(_Known).windows[stream.source] = start, end


def require_no_starts(operator: str, stream: Stream, time: str) -> None:
    """GraphError for a window by the column `time` if results of windows call their starts so: the last of each window
    would come when it has ended."""
    start, end = stream.scope.kept(_Known).windows.get(stream.source, ("", None))
    names = _handed_on(stream, [each for each in (start, end) if each])
    if names.get(time) != start:
        return
    ends = next((name for name, column in names.items() if column == end), None)
    cure = f"by {ends!r}" if ends else "by a column of these, which their window's end= names"
    one = "1ns" if stream.schema.kind(time).is_instant else 1
    raise GraphError(
        f"operator {operator!r}: by {time!r} windows of {stream.scope.graph.describe(stream.source)} start, and their "
        f"results are sent at their ends: the last of a window here would come when it has been sent. Go {cure}, with "
        f"offset={one!r}, so that a window is of those that end in it, its last instant included, and with start=None, "
        f"end=None or other names; or, but in joins, allow lateness=... of their width"
    )


def has_end(stream: Stream, rows: int | None = None, is_table: bool = False) -> None:
    """Say that this stream of a source ends by itself: files do. rows: about how many there are, which can be read at
    any time; None: not known, or not at any. is_table: all are of one time, so that nothing is finished before the end.
    """
    known = stream.scope.kept(_Known)
    known.ending.add(stream.source)
    if rows is not None:
        known.rows[stream.source.operator] = rows
        if is_table:
            known.tables.add(stream.source)


def has_known_end(stream: Stream) -> bool:
    """Whether a stream is of a source that ends by itself, whatever stateless operators lie between."""
    return stream.source in stream.scope.kept(_Known).ending


def rows_known(stream: Stream) -> float:
    """About how many rows the source has that a stream is of, whatever stateless operators lie between; infinity if
    nobody knows."""
    return stream.scope.kept(_Known).rows.get(stream.source.operator, inf)


def read_first(first: Stream, then: Stream, whole: Probe | None = None) -> None:
    """If `first` is a table, have all sources behind `then` wait until it has come, so that an operator that keeps it
    need not keep the others' rows, as databases build before they probe; but for sources that cannot wait, or for which
    that table waits itself. whole: what is done when it has come; its stream's frontier if nothing better is."""
    known, table = first.scope.kept(_Known), first.source.operator
    if first.source not in known.tables:
        return
    behind = sorted(then.scope.graph.behind(then.source, then.stage)[0])
    waiting = [source for source in behind if source in known.rows and not known.waits_for(table, source)]
    if waiting:
        whole = whole or first.scope.probe(first)
        for source in waiting:
            known.waits.setdefault(source, []).append((table, whole))


def waits_of(stream: Stream) -> list[Probe]:
    """What a source's stream waits for, until each is done. To be asked once all is declared."""
    return [whole for _, whole in stream.scope.kept(_Known).waits.get(stream.source.operator, ())]


def is_filtered(stream: Stream) -> bool:
    """Whether an expression, behind the operator that a stream is of, leaves out rows."""
    return any(isinstance(function, Part) and function.step().condition is not None for function in _functions(stream))


def _functions(stream: Stream) -> list[Any]:
    """Those of the stateless operators behind an operator, in order."""
    return [] if stream.stage is None else [stage.function for stage in stream.stage.back()][::-1]
