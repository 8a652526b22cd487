"""Text across workers: by every kind of key, in queues that are far too small, kept and sent later, in loops."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.engine.helpers import build, nothing_left, settle, simulated
from tests.errors import raises
from tests.long_form import examples
from tokenring.engine import (
    Batch,
    Broadcast,
    ConfigError,
    Exchange,
    InputHandle,
    InputPort,
    Notify,
    OperatorContext,
    Pact,
    Schema,
    SchemaError,
    Scope,
    Stream,
    Worker,
)
from tokenring.engine.data import TextRows

TEXTS = Schema("id", name="string?", score="float64?", raw="bytes")
Row = tuple[Any, ...]


def keeper(kept: list[Batch]) -> Callable[[OperatorContext], Callable[..., None]]:
    def construct(context: OperatorContext) -> Callable[..., None]:
        def logic(messages: InputPort) -> None:
            kept.extend(batch.copy() for _, batch in messages)

        return logic

    return construct


def rows_of(batches: list[Batch]) -> list[Row]:
    found = []
    for batch in batches:
        found += list(zip(*batch.to_arrow().to_pydict().values(), strict=True))
    return sorted(found, key=repr)


def exchanged(sent: list[Batch], pact: Pact, workers: int, **config: Any) -> list[list[Row]]:
    """What each worker gets of batches that the workers send in turn."""
    kept: list[list[Batch]] = []

    def declare(worker: Worker, scope: Scope) -> InputHandle:
        kept.append([])
        handle, stream = scope.new_input(sent[0].schema)
        stream.sink("keep", keeper(kept[-1]), pact, Notify.NEVER)
        return handle

    with simulated(workers, **config) as group:
        handles = build(group, declare)
        for number, batch in enumerate(sent):
            handles[number % workers].send(batch)
        for handle in handles:
            handle.close()
        settle(group, 20_000)
        nothing_left(group)
    return [rows_of(batches) for batches in kept]


def some(rows: int, seed: int = 1, longest: int = 40) -> Batch:
    draw = np.random.default_rng(seed)
    names = [None if length % 7 == 0 else "é" * (length // 2) for length in draw.integers(0, longest, rows).tolist()]
    return Batch(
        TEXTS,
        {
            "id": draw.integers(0, 9, rows),
            "name": names,
            "score": draw.choice([0.0, -0.0, 1.5, np.nan], rows),
            "raw": [bytes([length]) * length for length in draw.integers(0, longest, rows).tolist()],
        },
    )


@pytest.mark.parametrize("key", ["id", "name", "raw", "score", ("id", "name"), ("score", "raw", "id")])
def test_equal_keys_meet_and_no_row_is_lost(key: str | tuple[str, ...]) -> None:
    sent = [some(300, seed) for seed in range(4)]
    got = exchanged(sent, Exchange(key), 3)
    everything = sorted([row for rows in got for row in rows], key=repr)
    assert repr(everything) == repr(rows_of(sent))  # NaN is not equal to itself
    names = (key,) if isinstance(key, str) else key
    positions = [TEXTS.position(name) for name in names]

    def keys(rows: list[Row]) -> set[Row]:
        return {tuple(value + 0.0 if isinstance(value, float) else value for value in at) for at in values(rows)}

    def values(rows: list[Row]) -> list[Row]:
        return [tuple(str(row[p]) if row[p] != row[p] else row[p] for p in positions) for row in rows]

    for index, rows in enumerate(got):
        assert all(keys(rows).isdisjoint(keys(others)) for others in got[index + 1 :])
    assert sum(bool(rows) for rows in got) > 1


@settings(max_examples=examples(20))
@given(st.lists(st.tuples(st.integers(0, 5), st.none() | st.text(max_size=300)), max_size=60), st.integers(1, 3))
def test_any_text_survives(rows: list[tuple[int, str | None]], workers: int) -> None:
    schema = Schema("id", name="string?")
    rows = [(key, text.encode(errors="replace").decode() if text is not None else None) for key, text in rows]
    batch = Batch(schema, {"id": np.array([key for key, _ in rows], np.int64), "name": [text for _, text in rows]})
    got = exchanged([batch], Exchange("name"), workers)
    assert sorted([row for rows in got for row in rows], key=repr) == sorted(rows, key=repr)


def test_broadcast_reaches_everybody_in_pieces() -> None:
    sent = [some(200, longest=120)]
    for got in exchanged(sent, Broadcast(("raw", "id")), 3):
        assert got == rows_of([sent[0].select(TEXTS.select(("raw", "id")))])


@pytest.mark.parametrize("pact", [Exchange("id"), Broadcast()])
def test_while_a_queue_is_full_rows_that_wait_are_not_looked_at(pact: Pact, monkeypatch: pytest.MonkeyPatch) -> None:
    tried = 0
    real = TextRows.piece

    def piece(self: TextRows, *arguments: Any) -> int:
        nonlocal tried
        tried += 1
        return real(self, *arguments)

    monkeypatch.setattr(TextRows, "piece", piece)
    kept: list[list[Batch]] = []

    def declare(worker: Worker, scope: Scope) -> InputHandle:
        kept.append([])
        handle, stream = scope.new_input(TEXTS)
        stream.sink("keep", keeper(kept[-1]), pact, Notify.NEVER)
        return handle

    sent = some(300)
    with simulated(2) as group:
        handles = build(group, declare)
        handles[0].send(sent)
        for _ in range(3):
            group.workers[0].step()
        before = tried
        for _ in range(50):  # nobody reads
            group.workers[0].step()
        assert tried <= before + 2
        for handle in handles:
            handle.close()
        settle(group, 20_000)
        nothing_left(group)
    times = 2 if isinstance(pact, Broadcast) else 1
    got = [repr(row) for batches in kept for row in rows_of(batches)]  # NaN is not equal to itself
    assert sorted(got) == sorted([repr(row) for row in rows_of([sent])] * times)


def test_only_the_text_of_chosen_rows_crosses() -> None:
    batch = Batch(Schema("id", name="string"), {"id": [1, 2], "name": ["x" * 100_000, "y"]})
    got = exchanged([batch.filter(np.array([False, True]))], Exchange("id"), 2)  # the heap would not fit the queue
    assert sorted(got) == [[], [(2, "y")]]


def test_a_row_that_fits_no_queue_names_the_cure() -> None:
    batch = Batch(Schema("id", name="string"), {"id": [1, 2], "name": ["y", "x" * 1000]})
    with raises(ConfigError, "operator 'keep' input 0", "worker 0", "text", "4096 bytes", "Config.queue_bytes"):
        exchanged([batch], Exchange("id"), 2)
    got = exchanged([batch], Exchange("id"), 2, queue_bytes=8192)
    assert sorted([*got[0], *got[1]]) == [(1, "y"), (2, "x" * 1000)]


def test_text_goes_round_a_loop() -> None:
    schema = Schema("left", name="string")
    kept: list[list[Batch]] = []

    def shorten(context: OperatorContext, again: Any, done: Any) -> Callable[..., None]:
        again.drop()
        done.drop()

        def logic(rows: InputPort, again: Any, done: Any) -> None:
            for reference, batch in rows.by_time():
                more = batch["left"] > 0
                going = batch.filter(more)
                again.give(reference, {"left": going["left"] - 1, "name": going["name"]})
                done.give(reference, batch.filter(~more))

        return logic

    def declare(worker: Worker, scope: Scope) -> InputHandle:
        handle, stream = scope.new_input(schema)
        with scope.loop() as loop:
            back = loop.feedback(schema)
            head = _both(loop, loop.enter(stream), back.stream)
            builder = loop.operator("shorten", Notify.NEVER)
            builder.input(head, Exchange("name"))
            again, done = builder.output(schema), builder.output(schema)
            builder.build(shorten)
            back.connect(again)
        kept.append([])
        loop.leave(done).sink("keep", keeper(kept[-1]))
        return handle

    with simulated(2) as group:
        handles = build(group, declare)
        handles[0].send({"left": list(range(20)), "name": [f"name {n}" for n in range(20)]})
        for handle in handles:
            handle.close()
        settle(group, 20_000)
    everything = [row for batches in kept for row in rows_of(batches)]
    assert sorted(everything) == sorted((0, f"name {n}") for n in range(20))


def _both(loop: Any, one: Stream, other: Stream) -> Stream:
    builder = loop.operator("both", Notify.NEVER)
    builder.input(one)
    builder.input(other)
    output = builder.output(one.schema)

    def construct(context: OperatorContext, token: Any) -> Callable[..., None]:
        token.drop()

        def logic(*ports: Any) -> None:
            for port in ports[:-1]:
                for reference, batch in port:
                    ports[-1].give(reference, batch)

        return logic

    builder.build(construct)
    return output


def test_keys_that_are_not_there_are_named() -> None:
    with raises(SchemaError, "operator 'keep'", "key 'nam'", "id, name, score, raw", "did you mean 'name'"):
        exchanged([some(1)], Exchange(("id", "nam")), 2)
    with raises(SchemaError, "operator 'keep'", "one column"):
        exchanged([some(1)], Exchange(()), 2)
    with raises(SchemaError, "operator 'keep'", "column 'z'", "id, name, score, raw"):
        exchanged([some(1)], Exchange("id", ("id", "z")), 2)
