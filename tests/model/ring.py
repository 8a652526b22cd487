"""A model of the progress ring: the atomic steps of shm/progress_ring.py, every interleaving, writers that die at any
step.

Shared memory: the write position, each participant's read position, and slots of (sequence, batch size, content). As
in the
code, a writer loads the write position, perhaps refreshes its gate by loading the read positions one by one, claims
with a
compare-exchange, fills its slots one by one from the last to the first, and publishes by storing the first slot's
sequence.
A participant may be a writer, a reader, or (like a worker) both in turn; here each is one of them, which interleaves
more.
The record's fields and its sequence are separate stores. Stores may not overtake each other (release/acquire on both
sides).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

EMPTY = (0, 0, "")
DEAD = "dead"


@dataclass(frozen=True)
class Bounds:
    """How much of the ring to model: the batch sizes of each writer in turn, the readers, the slots, and what is
    mutated.

    Mutations: "no gate" (claims without looking at readers), "publish first" (the first slot's sequence is stored
    before the
    rest is filled), "torn claim" (write position loaded and stored, without compare-exchange), "release early" (a
    reader gives slots
    back before it has read them).
    """

    batches: tuple[tuple[int, ...], ...]
    readers: int
    capacity: int
    deaths: bool = False
    mutation: str = ""


class Writer(NamedTuple):
    """pc: idle, load, gate, claim, fill, publish; `gate` is a cached slowest read position, `scan` the least seen so
    far."""

    pc: str = "idle"
    batch: int = 0
    position: int = 0
    gate: int = 0
    scan: tuple[int, int] = (0, 0)
    at: int = 0


class Reader(NamedTuple):
    """pc: look, read, release; `seen` are the batches it has applied, `part` what it has read of the one at hand."""

    pc: str = "look"
    position: int = 0
    size: int = 0
    part: tuple[str, ...] = ()
    seen: tuple[tuple[str, ...], ...] = ()


class State(NamedTuple):
    """Everything there is."""

    write_position: int
    read_positions: tuple[int, ...]
    slots: tuple[tuple[int, int, str], ...]
    writers: tuple[Writer, ...]
    readers: tuple[Reader, ...]


def start(bounds: Bounds) -> State:
    """All at zero."""
    return State(
        0,
        (0,) * bounds.readers,
        (EMPTY,) * bounds.capacity,
        (Writer(),) * len(bounds.batches),
        (Reader(),) * bounds.readers,
    )


def _name(writer: int, batch: int, index: int) -> str:
    return f"{writer}.{batch}.{index}"


def _expected(bounds: Bounds, writer: int, batch: int) -> tuple[str, ...]:
    return tuple(_name(writer, batch, i) for i in range(bounds.batches[writer][batch]))


def _put(items: tuple, index: int, item: object) -> tuple:  # type: ignore[type-arg]
    return (*items[:index], item, *items[index + 1 :])


def successors(bounds: Bounds, state: State) -> Iterator[tuple[str, State]]:
    """Every step that somebody can take now."""
    for number, writer in enumerate(state.writers):
        if writer.pc == DEAD:
            continue
        if bounds.deaths and writer.pc in ("gate", "claim", "fill", "publish"):
            yield (
                f"writer {number} dies at {writer.pc}",
                state._replace(writers=_put(state.writers, number, writer._replace(pc=DEAD))),
            )
        for label, changed, following in _writer_step(bounds, state, number, writer):
            yield f"writer {number} {label}", changed._replace(writers=_put(changed.writers, number, following))
    for number, reader in enumerate(state.readers):
        yield from _reader_step(bounds, state, number, reader)


def _writer_step(bounds: Bounds, state: State, number: int, writer: Writer) -> Iterator[tuple[str, State, Writer]]:
    batches = bounds.batches[number]
    if writer.pc == "idle":
        if writer.batch < len(batches):
            yield "loads the write position", state, _after_load(bounds, writer, state.write_position, batches)
    elif writer.pc == "gate":
        index, least = writer.scan
        least = state.read_positions[index] if index == 0 else min(least, state.read_positions[index])
        if index + 1 < bounds.readers:
            yield f"loads read position {index}", state, writer._replace(scan=(index + 1, least))
        else:
            full = writer.position + batches[writer.batch] - least > bounds.capacity
            # Full is a value: the writer goes away and comes back later.
            yield (
                f"loads read position {index}",
                state,
                writer._replace(pc="idle" if full else "claim", gate=least, scan=(0, 0)),
            )
    elif writer.pc == "claim":
        size = batches[writer.batch]
        if bounds.mutation == "torn claim" or state.write_position == writer.position:
            first = "publish" if bounds.mutation == "publish first" else "fill"
            yield (
                "claims",
                state._replace(write_position=writer.position + size),
                writer._replace(pc=first, at=size - 1),
            )
        else:
            yield "fails to claim and loads again", state, _after_load(bounds, writer, state.write_position, batches)
    elif writer.pc == "fill":
        index = writer.position + writer.at
        slot = index % bounds.capacity
        old_sequence = state.slots[slot][0]
        sequence = index + 1 if writer.at > 0 else old_sequence
        if bounds.mutation == "publish first" and writer.at == 0:
            sequence = old_sequence
        record = (sequence, batches[writer.batch], _name(number, writer.batch, writer.at))
        changed = state._replace(slots=_put(state.slots, slot, record))
        if writer.at > 0:
            yield f"fills {index}", changed, writer._replace(at=writer.at - 1)
        elif bounds.mutation == "publish first":
            yield f"fills {index}", changed, writer._replace(pc="idle", batch=writer.batch + 1)
        else:
            yield f"fills {index}", changed, writer._replace(pc="publish")
    elif writer.pc == "publish":
        slot = writer.position % bounds.capacity
        _, size, content = state.slots[slot]
        changed = state._replace(slots=_put(state.slots, slot, (writer.position + 1, size, content)))
        if bounds.mutation == "publish first":
            changed = state._replace(
                slots=_put(state.slots, slot, (writer.position + 1, batches[writer.batch], content))
            )
            yield "publishes", changed, writer._replace(pc="fill")
        else:
            yield "publishes", changed, writer._replace(pc="idle", batch=writer.batch + 1)


def _after_load(bounds: Bounds, writer: Writer, position: int, batches: tuple[int, ...]) -> Writer:
    full = position + batches[writer.batch] - writer.gate > bounds.capacity
    ready = bounds.mutation == "no gate" or not full
    return writer._replace(pc="claim" if ready else "gate", position=position, scan=(0, 0))


def _reader_step(bounds: Bounds, state: State, number: int, reader: Reader) -> Iterator[tuple[str, State]]:
    def with_reader(following: Reader, changed: State = state) -> State:
        return changed._replace(readers=_put(changed.readers, number, following))

    if reader.pc == "look":
        sequence, size, _ = state.slots[reader.position % bounds.capacity]
        if sequence == reader.position + 1:
            early = state._replace(read_positions=_put(state.read_positions, number, reader.position + size))
            changed = early if bounds.mutation == "release early" else state
            yield (
                f"reader {number} sees a batch of {size}",
                with_reader(reader._replace(pc="read", size=size, part=()), changed),
            )
    elif reader.pc == "read":
        content = state.slots[(reader.position + len(reader.part)) % bounds.capacity][2]
        part = (*reader.part, content)
        if len(part) < reader.size:
            yield f"reader {number} reads {content}", with_reader(reader._replace(part=part))
        else:
            done = reader._replace(
                pc="release", position=reader.position + reader.size, size=0, part=(), seen=(*reader.seen, part)
            )
            yield f"reader {number} reads {content}", with_reader(done)
    else:
        released = state._replace(read_positions=_put(state.read_positions, number, reader.position))
        yield f"reader {number} releases", with_reader(reader._replace(pc="look"), released)


def forbidden(bounds: Bounds, state: State) -> str:
    """What must never be seen: part of a batch, two orders, a lapped reader."""
    whole = {_expected(bounds, w, b) for w in range(len(bounds.batches)) for b in range(len(bounds.batches[w]))}
    for number, reader in enumerate(state.readers):
        for batch in reader.seen:
            if batch not in whole:
                return f"reader {number} saw {batch}, which is not a batch"
        if len(set(reader.seen)) < len(reader.seen):
            return f"reader {number} saw a batch twice: {reader.seen}"
        if state.write_position > bounds.capacity + min(r.position for r in state.readers):
            return (
                f"a reader at {min(r.position for r in state.readers)} is lapped by a writer at {state.write_position}"
            )
        for other in state.readers[:number]:
            short, long = sorted((reader.seen, other.seen), key=len)
            if long[: len(short)] != short:
                return f"two readers see different orders: {short} and {long}"
    return ""


def unfinished(bounds: Bounds, state: State) -> str:
    """At the end: everything published is read; and without a death everything is published."""
    if any(writer.pc == DEAD for writer in state.writers):
        return ""  # the launcher stops the group; what was read before was whole
    total = sum(len(batches) for batches in bounds.batches)
    for number, reader in enumerate(state.readers):
        if len(reader.seen) != total:
            return f"nothing can move, but reader {number} saw only {len(reader.seen)} of {total} batches"
        for writer in range(len(bounds.batches)):
            mine = [batch for batch in reader.seen if batch[0].startswith(f"{writer}.")]
            if mine != [_expected(bounds, writer, b) for b in range(len(bounds.batches[writer]))]:
                return f"reader {number} saw the batches of writer {writer} out of order: {mine}"
    return ""
