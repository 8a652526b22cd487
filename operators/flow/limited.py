"""limited: a region of a dataflow whose content under way is bounded."""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from tokenring.engine import GraphError, Notify, OperatorContext, Schema, Scope, Stream, Token, UnderWay, UsageError
from tokenring.engine.arguments import whole_number
from tokenring.engine.columns import is_one_of
from tokenring.engine.compiled import Compiled
from tokenring.operators.flow.entry import compiled_entry
from tokenring.operators.flow.gate import BYTES, ROWS, TIMES, Gate, new_gate
from tokenring.operators.flow.keeper import keeper
from tokenring.operators.flow.meter import Meter, Nothing
from tokenring.operators.flow.python_entry import PythonEntry
from tokenring.operators.migrate import METER, Placement, has_bins, saving_of, state_moves
from tokenring.operators.rows import hand_on

Made = TypeVar("Made")
"""Streams, alone or several, or what else a region returns."""

_WORD = Schema("word")
_UNITS = {"rows": (ROWS, 1 << 20), "bytes": (BYTES, 32 << 20), "times": (TIMES, 64)}


def limited(
    streams: Stream | Sequence[Stream],
    region: Callable[..., Made],
    *,
    most: int | None = None,
    per: str = "rows",
    name: str = "limited",
) -> Made:
    """What `region(*streams)` returns: the same answers, of a part of the dataflow that never has much under way.

    Rows are let into the region as fast as it works them off. `most` bounds, on each worker, what passes between its
    operators before all of it was empty once: rows (2^20 unless said otherwise), bytes of columns (32 MiB; 8 a value,
    and the texts), or distinct times that are let in (64). So a region that makes thousands of rows of one gets a
    few at a time: first 2^-14 of `most`, then as many as what came of those before allows. What may not go in yet waits
    in front with its time, so that frontiers and answers are as without; messages may come in pieces.

    Where one worker's rows become many on another, that one asks all to let in less; but not within a loop: there each
    worker holds back by what it has itself sent within the region, and what becomes of its rows elsewhere is unbounded.

    Bounded are messages, not what operators keep: a window's rows are state, and hold nothing back. All that the region
    reads must be among `streams`, which are of one scope; sources lie outside. Streams that it returns, alone, in a
    tuple or a list, leave it; anything else is returned as it is.

    UsageError for another unit or a bound below 1, GraphError for a region that reads what it was not given, and, under
    recovery, makes a collection. Memory: one message for each stream, at most.
    """
    given = [streams] if isinstance(streams, Stream) else list(streams)
    unit, most = _bound(name, given, most, per)
    scope = given[0].scope
    gate = new_gate(unit, most, len(given))
    saving = saving_of(scope)
    entries = set()
    if saving is not None:
        saving.rests_when(lambda: gate.is_open)
        entries = set(saving.entries)
    with scope.region(name):
        handles: list[UnderWay | None] = [None, None]
        entered = [_entry(stream, number, gate, handles) for number, stream in enumerate(given)]
        with scope.part() as part:
            made = _each_stream(region(*entered), _leave)
        if saving is not None and saving.entries != entries:
            raise GraphError(
                f"limited region {name!r}: a collection is made of a stream within it, whose rows come again, under "
                f"recovery, without being let in: make it of a stream that the region returns, or run without recovery="
            )
        part.require_fed_by([stream.source for stream in (*entered, *_control(scope))], f"limited region {name!r}")
        if unit != TIMES:
            part.put_before_inputs(METER, lambda schema: Meter(gate, schema))
        if scope.depth == 1 and unit != TIMES:
            handles[1] = _keeper(entered, gate)
        handles[0] = part.under_way()
    return made


def _bound(name: str, streams: Sequence[Any], most: int | None, per: str) -> tuple[int, int]:
    if not is_one_of(per, _UNITS):
        raise UsageError(f"limited region {name!r}: content is counted per 'rows', 'bytes' or 'times', not {per!r}")
    unit, usual = _UNITS[per]
    most = whole_number(f"limited region {name!r}", "most", usual if most is None else most)
    if not streams or not all([isinstance(stream, Stream) for stream in streams]):
        raise UsageError(f"limited region {name!r}: give a stream or several, and the function that makes the region")
    for stream in streams:
        streams[0].scope.require_own(stream, f"limited region {name!r}")
    return unit, most


def _control(scope: Scope) -> list[Stream]:
    """What operators of the region read without being given it: where bins go, a few rows for each move; and a row each
    that what they keep has been put in."""
    saving = saving_of(scope)
    rights: list[Stream] = [] if saving is None else saving.rights
    return [*rights, scope.kept(Placement).changes] if has_bins(scope) else rights


def _entry(stream: Stream, number: int, gate: Gate, handles: list[UnderWay | None]) -> Stream:
    """The stream as it is let in."""
    width = len(stream.schema)

    def region() -> UnderWay:
        found, pressure = handles
        assert found is not None, "it is declared before the dataflow is built"
        gate.attach(found, pressure)
        return found

    def compiled(context: OperatorContext) -> Compiled:
        region()
        return compiled_entry(gate, number, width)

    def python(context: OperatorContext, token: Token) -> Callable[..., None]:
        return PythonEntry(context, token, gate, number, region(), stream)

    builder = stream.operator("entry", Notify.NEVER)
    builder.input(stream)
    state_moves(builder)
    made = builder.output(stream.schema)
    if builder.can_be_compiled:
        builder.build_compiled(compiled)
    else:
        builder.build(python)
    made.updates = stream.updates
    return made


def _keeper(entered: Sequence[Stream], gate: Gate) -> UnderWay:
    """Declare the keeper; where its tokens are."""
    scope = entered[0].scope
    builder = scope.operator("keeper", Notify.IF_TOKEN)
    for stream in entered:
        builder.input(stream.apply("times", _WORD, Nothing()))
    state_moves(builder)
    said = builder.output(_WORD)
    builder.build_compiled(lambda context: keeper(context, gate, len(entered)), texts=True, reads_texts=False)
    return scope.watch_messages(lambda graph: [said.source])


def _leave(stream: Stream) -> Stream:
    """A stream of the region as others read it: here it ends."""
    return hand_on(stream, None, "exit")


def _each_stream(made: Any, change: Callable[[Stream], Stream]) -> Any:
    if isinstance(made, Stream):
        return change(made)
    if type(made) in (tuple, list):
        return type(made)([_each_stream(each, change) for each in made])
    return made
