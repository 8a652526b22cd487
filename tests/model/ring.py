"""A model of the progress ring: the atomic steps of shm/queues/progress_ring.py, every interleaving, workers that die
at any.

Shared memory: the write position, each reader's read position, and slots of (sequence, batch size, content). As in the
code, a writer loads the write position, perhaps refreshes its gate by loading the read positions one by one, claims
with a compare-exchange, fills its slots one by one from the last to the first, and publishes by storing the first
slot's sequence. Worker i is writer i and reader i; the two move independently here, which interleaves more than the
code does, and die together. Stores may not overtake each other (release and acquire on both sides). What claims were
made, in which order, is remembered beside the protocol, to judge by.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

EMPTY = (0, 0, "")
DEAD = "dead"
LEFT = "left"
BEYOND = 1 << 20  # the read position of who has left
_UPWARDS = ("fills upwards", "record by record")


@dataclass(frozen=True)
class Bounds:
    """How much of the ring to model, and what is broken in it.

    batches: the batch sizes of each writer in turn; readers, capacity: how many of them, how many slots; deaths: how
    many workers may die. Mutations: "no gate" (claims without looking at readers), "publish first" (the first slot's
    sequence is stored before the slots are filled), "fills upwards" (each slot's sequence is stored with it, the first
    one first), "torn claim" (write position loaded and stored, without compare-exchange), "claim before gate" (a
    fetch-add, as if it could be given back), "release early" (a reader gives slots back before it has read them), "no
    lap" (the sequence does not tell one round from the next), "passes holes" (a reader goes on behind a claim that is
    not published), "leaves early" (a reader says that it has left while it reads a batch). leavers: how many workers,
    the last ones, may leave once they have written all they had to, and read no more: a worker that is ended.
    """

    batches: tuple[tuple[int, ...], ...]
    readers: int
    capacity: int
    deaths: int = 0
    mutation: str = ""
    leavers: int = 0


class Writer(NamedTuple):
    """pc: idle, gate, claim, fill, publish, dead; `gate` is a cached slowest read position, `scan` the least seen so
    far; `batch` counts what is published."""

    pc: str = "idle"
    batch: int = 0
    position: int = 0
    gate: int = 0
    scan: tuple[int, int] = (0, 0)
    at: int = 0


class Reader(NamedTuple):
    """pc: look, read, release, dead; `part` is what it has read of the batch at hand, `taken` how many it has taken."""

    pc: str = "look"
    position: int = 0
    size: int = 0
    part: tuple[str, ...] = ()
    taken: int = 0


class State(NamedTuple):
    """Everything there is, and beside it what was claimed (writer, batch) and what went wrong."""

    write_position: int
    read_positions: tuple[int, ...]
    slots: tuple[tuple[int, int, str], ...]
    writers: tuple[Writer, ...]
    readers: tuple[Reader, ...]
    claims: tuple[tuple[int, int], ...] = ()
    wrong: str = ""

    def having(self, writers: tuple[Writer, ...], readers: tuple[Reader, ...]) -> State:
        """The same with other workers: `_replace` takes thrice as long."""
        return State(*self[:3], writers, readers, *self[5:])


def start(bounds: Bounds) -> State:
    """All at zero."""
    return State(
        0,
        (0,) * bounds.readers,
        (EMPTY,) * bounds.capacity,
        (Writer(),) * len(bounds.batches),
        (Reader(),) * bounds.readers,
    )


def _expected(bounds: Bounds, writer: int, batch: int) -> tuple[str, ...]:
    return tuple(f"{writer}.{batch}.{i}" for i in range(bounds.batches[writer][batch]))


def _put(items: tuple, index: int, item: object) -> tuple:  # type: ignore[type-arg]
    return (*items[:index], item, *items[index + 1 :])


def successors(bounds: Bounds, state: State) -> Iterator[tuple[str, State]]:
    """Every step that somebody can take now."""
    for number, writer in enumerate(state.writers):
        for label, changed, following in _writer_step(bounds, state, number, writer):
            yield f"writer {number} {label}", changed.having(_put(changed.writers, number, following), changed.readers)
    for number, reader in enumerate(state.readers):
        yield from _reader_step(bounds, state, number, reader)
        if _may_leave(bounds, state, number):
            left = state.readers if reader.pc == "read" else _put(state.readers, number, Reader(LEFT, BEYOND))
            positions = _put(state.read_positions, number, BEYOND)
            yield f"worker {number} leaves", state._replace(readers=left, read_positions=positions)
    dead = sum(writer.pc == DEAD for writer in state.writers)
    for number, writer in enumerate(state.writers):
        if writer.pc != DEAD and dead < bounds.deaths:
            yield f"worker {number} dies at {writer.pc}", _death(state, number)


def _may_leave(bounds: Bounds, state: State, number: int) -> bool:
    """It has published all it had to, and reads nothing just now."""
    writer, reader = state.writers[number], state.readers[number]
    if number < bounds.readers - bounds.leavers or writer.batch < len(bounds.batches[number]) or writer.pc == DEAD:
        return False
    return reader.pc == "look" or (bounds.mutation == "leaves early" and reader.pc == "read")


def _death(state: State, number: int) -> State:
    """Its private state is of no account any more; its read position stands where it was."""
    writers = _put(state.writers, number, Writer(DEAD, state.writers[number].batch))
    readers = state.readers
    if number < len(readers) and readers[number].pc != LEFT:
        readers = _put(readers, number, readers[number]._replace(pc=DEAD, size=0, part=()))
    return state.having(writers, readers)


def _sequence(bounds: Bounds, position: int) -> int:
    return 1 + (position % bounds.capacity if bounds.mutation == "no lap" else position)


def _writer_step(bounds: Bounds, state: State, number: int, writer: Writer) -> Iterator[tuple[str, State, Writer]]:
    batches = bounds.batches[number]
    if writer.pc == "idle":
        if writer.batch < len(batches):
            if bounds.mutation == "claim before gate":
                yield "claims", *_claim(bounds, state, number, writer._replace(position=state.write_position))
            else:
                yield "loads the write position", state, _after_load(bounds, writer, state.write_position, batches)
    elif writer.pc == "gate":
        index, least = writer.scan
        least = state.read_positions[index] if index == 0 else min(least, state.read_positions[index])
        following = writer._replace(scan=(index + 1, least))
        if index + 1 == bounds.readers:
            following = writer._replace(pc="claim", gate=least, scan=(0, 0))
            if writer.position + batches[writer.batch] - least > bounds.capacity:
                following = following._replace(pc="idle")  # full is a value: it goes away and comes back later
        yield f"loads read position {index}", state, following
    elif writer.pc == "claim":
        if bounds.mutation == "torn claim" or state.write_position == writer.position:
            yield "claims", *_claim(bounds, state, number, writer)
        else:
            yield "fails to claim and loads again", state, _after_load(bounds, writer, state.write_position, batches)
    elif writer.pc == "fill":
        yield from _fill(bounds, state, number, writer)
    elif writer.pc == "publish":
        slot = writer.position % bounds.capacity
        record = (_sequence(bounds, writer.position), batches[writer.batch], state.slots[slot][2])
        changed = state._replace(slots=_put(state.slots, slot, record))
        if bounds.mutation == "publish first":
            yield "publishes", changed, writer._replace(pc="fill")
        else:
            yield "publishes", changed, _done(writer)


def _after_load(bounds: Bounds, writer: Writer, position: int, batches: tuple[int, ...]) -> Writer:
    full = position + batches[writer.batch] - writer.gate > bounds.capacity
    ready = bounds.mutation == "no gate" or not full
    return writer._replace(pc="claim" if ready else "gate", position=position, scan=(0, 0))


def _claim(bounds: Bounds, state: State, number: int, writer: Writer) -> tuple[State, Writer]:
    size = bounds.batches[number][writer.batch]
    claims = (*state.claims, (number, writer.batch))
    changed = state._replace(write_position=writer.position + size, claims=claims)
    if bounds.mutation in _UPWARDS:
        return changed, writer._replace(pc="fill", at=0)
    return changed, writer._replace(pc="publish" if bounds.mutation == "publish first" else "fill", at=size - 1)


def _done(writer: Writer) -> Writer:
    return Writer("idle", writer.batch + 1, gate=writer.gate)


def _fill(bounds: Bounds, state: State, number: int, writer: Writer) -> Iterator[tuple[str, State, Writer]]:
    position, size = writer.position + writer.at, bounds.batches[number][writer.batch]
    slot = position % bounds.capacity
    own = writer.at > 0 or bounds.mutation in _UPWARDS  # the first slot's sequence waits for the publication
    sequence = _sequence(bounds, position) if own else state.slots[slot][0]
    record = (sequence, size, f"{number}.{writer.batch}.{writer.at}")
    changed = state._replace(slots=_put(state.slots, slot, record))
    if bounds.mutation in _UPWARDS:
        following = _done(writer) if writer.at + 1 == size else writer._replace(at=writer.at + 1)
    elif writer.at > 0:
        following = writer._replace(at=writer.at - 1)
    else:
        following = _done(writer) if bounds.mutation == "publish first" else writer._replace(pc="publish")
    yield f"fills {position}", changed, following


def _reader_step(bounds: Bounds, state: State, number: int, reader: Reader) -> Iterator[tuple[str, State]]:
    def with_reader(following: Reader, changed: State = state) -> State:
        return changed.having(changed.writers, _put(changed.readers, number, following))

    if reader.pc == "look":
        sequence, size, _ = state.slots[reader.position % bounds.capacity]
        if sequence == _sequence(bounds, reader.position):
            early = state._replace(read_positions=_put(state.read_positions, number, reader.position + size))
            changed = early if bounds.mutation == "release early" else state
            yield f"reader {number} sees {size}", with_reader(reader._replace(pc="read", size=size), changed)
        elif bounds.mutation == "passes holes" and reader.position < state.write_position:
            yield f"reader {number} passes a hole", with_reader(reader._replace(position=reader.position + 1))
    elif reader.pc == "read":
        position = reader.position + len(reader.part)
        sequence, _, content = state.slots[position % bounds.capacity]
        if bounds.mutation == "record by record" and sequence != _sequence(bounds, position):
            return
        part = (*reader.part, content)
        label = f"reader {number} reads {content}"
        if len(part) < reader.size:
            yield label, with_reader(reader._replace(part=part))
        else:
            taken = Reader("release", reader.position + reader.size, 0, (), reader.taken + 1)
            yield label, with_reader(taken, state._replace(wrong=_judge(bounds, state, number, reader.taken, part)))
    elif reader.pc == "release":
        released = state._replace(read_positions=_put(state.read_positions, number, reader.position))
        yield f"reader {number} releases", with_reader(reader._replace(pc="look"), released)


def _judge(bounds: Bounds, state: State, number: int, taken: int, part: tuple[str, ...]) -> str:
    """What a reader takes must be the next claim, whole, and published: so all see one order, each writer's own is in
    it, nobody sees part of a batch, none twice, and none behind a hole."""
    if taken >= len(state.claims):
        return f"reader {number} took {part}, which nobody claimed"
    writer, batch = state.claims[taken]
    if part != _expected(bounds, writer, batch):
        return f"reader {number} took {part}, but claim {taken} is {_expected(bounds, writer, batch)}"
    if state.writers[writer].batch <= batch:
        return f"reader {number} took {part} before it was published"
    return ""


def forbidden(bounds: Bounds, state: State) -> str:
    """What must never be: something wrong that was taken, or a lapped reader (a dead one too)."""
    slowest = min(*state.read_positions, *(reader.position for reader in state.readers))
    if state.write_position > bounds.capacity + slowest:
        return f"a reader at {slowest} is lapped by a writer at {state.write_position}"
    return state.wrong


def _full(bounds: Bounds, state: State, number: int) -> bool:
    size = bounds.batches[number][state.writers[number].batch]
    return state.write_position + size - min(state.read_positions) > bounds.capacity


def resting(bounds: Bounds, state: State) -> bool:
    """Whether nothing is left but writers that find the ring full again and again."""
    return all(
        writer.pc == DEAD
        or (writer.pc == "idle" and (writer.batch == len(bounds.batches[number]) or _full(bounds, state, number)))
        for number, writer in enumerate(state.writers)
    ) and not any(any(_reader_step(bounds, state, number, reader)) for number, reader in enumerate(state.readers))


def unfinished(bounds: Bounds, state: State) -> str:
    """At rest: the living have taken all claims up to the first that its writer did not live to publish; and who cannot
    write is stopped by such a hole or by a dead reader, never by the living."""
    hole = next((i for i, (w, b) in enumerate(state.claims) if state.writers[w].batch <= b), len(state.claims))
    for number, reader in enumerate(state.readers):
        if reader.part:
            return f"nothing moves, and reader {number} is left with {reader.part}, which is not a batch"
        if reader.pc not in (DEAD, LEFT) and reader.taken != hole:
            return f"nothing moves, but reader {number} took {reader.taken} of {hole} batches before the first hole"
    if hole < len(state.claims) and state.writers[state.claims[hole][0]].pc != DEAD:
        return "nothing moves, but a living writer has not published its claim"
    excused = hole < len(state.claims) or any(reader.pc == DEAD for reader in state.readers)
    for number, writer in enumerate(state.writers):
        if writer.pc != DEAD and writer.batch < len(bounds.batches[number]) and not excused:
            return f"nothing moves, but writer {number} wrote only {writer.batch} of {len(bounds.batches[number])}"
    return ""
