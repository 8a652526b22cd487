"""Compiled operators in loops: times of several coordinates, in messages, tokens, frontiers and queues."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.engine.declare.loops import Witness, fork
from tests.engine.helpers import VALUE, Recorder, build, key_for, nothing_left, settle, simulated
from tests.engine.native.scripted import BY_VALUE, forward, operate
from tests.errors import Fact, raises
from tokenring.engine import (
    MAX_TIME,
    Batch,
    Exchange,
    GraphError,
    InputHandle,
    InputPort,
    Loop,
    Notify,
    OperatorContext,
    OperatorError,
    OutputPort,
    Pact,
    Pipeline,
    Schema,
    Scope,
    Stream,
    Token,
    Worker,
)
from tokenring.engine.compiled import (
    DONE,
    NEEDS_ROOM,
    Compiled,
    Record,
    Words,
    address_of,
    answer,
    clone,
    column_of,
    downgrade_to,
    drop,
    elements_at,
    entry,
    inner_of,
    new_message,
    peek,
    records_at,
    retain,
    room,
    rows_of,
    send_by,
    send_each,
    state_as,
    take,
    time_of,
)
from tokenring.engine.explain import let_go, stop
from tokenring.engine.explain.explanation import POSTPONED, WAITING
from tokenring.engine.worker.simulation import SimulatedGroup
from tokenring.operators import branch, col, filter, map_batches, union, with_columns
from tokenring.shm.kernels import kernel

# An operator that waits for times to be over


class Once(Record):
    """What the operator keeps. `depth`: how many coordinates times have; `helds`: the address of a Held for each row
    that waits, `used` of `capacity`."""

    first: int
    depth: int
    helds: int
    capacity: int
    used: int


class Held(Record):
    """A row that waits, the time at which it came, and its own token."""

    slot: int
    value: int
    time: Words = room(4)


@kernel
def is_over(elements: Words, time: Words) -> bool:
    """Whether nothing can arrive any more at a time, by the least times at which something can."""
    for element in range(len(elements)):
        is_before = True
        for at in range(elements.shape[1]):
            is_before = is_before and elements[element, at] <= time[at]
        if is_before:
            return False
    return True


@kernel
def are_alike(one: Held, other: Held) -> bool:
    """Whether two rows have one value and one time."""
    for at in range(4):
        if one.time[at] != other.time[at]:
            return False
    return one.value == other.value


@entry
def once(world: int, me: int) -> int:
    """Each value once for each time at which it comes, when that time is over, one round later."""
    state = state_as(world, me, Once)
    if state.first >= 0:
        drop(world, me, state.first)
        state.first = -1
    helds = records_at(state.helds, state.capacity, Held)
    while True:
        message = peek(world, me, 0)
        if message == 0:
            break
        if state.used + rows_of(message) > state.capacity:
            return NEEDS_ROOM
        take(world, me, 0)
        values = column_of(message, 0)
        slot = retain(world, me, 0, 0)
        later = np.zeros(4, np.int64)
        later[0] = time_of(message)
        later[1:] = inner_of(message)
        later[state.depth - 1] += 1
        for i in range(len(values)):
            held = helds[state.used]
            state.used += 1
            held.value, held.time[0] = values[i], time_of(message)
            held.time[1:] = inner_of(message)
            held.slot = slot if i == len(values) - 1 else clone(world, me, slot)
            downgrade_to(world, me, held.slot, later[: state.depth])
    elements = elements_at(world, me, 0)
    at = 0
    while at < state.used:
        held, last = helds[at], helds[state.used - 1]
        if not is_over(elements, held.time):
            at += 1
            continue
        is_alone = True
        for other in range(at + 1, state.used):
            is_alone = is_alone and not are_alike(held, helds[other])
        if is_alone:
            made = new_message(world, me, 0, 1)
            column_of(made, 0)[0] = held.value
            send_by(world, me, held.slot, made)
        drop(world, me, held.slot)
        held.slot, held.value = last.slot, last.value
        held.time[:] = last.time
        state.used -= 1
    return DONE


def only_once(stream: Stream, pact: Pact = BY_VALUE, name: str = "once") -> Stream:
    """The operator, behind a stream in any scope."""
    builder = stream.operator(name)
    builder.input(stream, pact)
    made: Stream = builder.output(VALUE)
    depth = stream.scope.depth

    def construct(_: OperatorContext) -> Compiled:
        state, tables = Once(), [Held.new_table(1)]
        state.depth = depth

        def link() -> None:
            state.helds, state.capacity = address_of(tables[0]), len(tables[0])

        def make_room() -> None:
            tables[0] = np.concatenate([tables[0], np.zeros_like(tables[0])])
            link()

        link()
        return Compiled(once, state.words, tables, make_room)

    builder.build_compiled(construct, loops=True)
    return made


def staged_fork(loop: Loop, stream: Stream) -> tuple[Stream, Stream]:
    """As `fork`, by stages of the inner loop."""
    again, done = branch(stream, col("value") % 3 > 0)
    return with_columns(again, value=col("value") - 1), with_columns(done, value=col("value") // 3)


Fork = Callable[[Loop, Stream], tuple[Stream, Stream]]


def loops_around(scope: Scope, stream: Stream, levels: int, forks: Fork, seen: Recorder) -> Stream:
    """So many loops around the operator, and who sees what comes to it: at the end of each, rows go round if their last
    ternary digit is not 0, less by 1; the others leave without it."""
    if levels == 0:
        stream.sink("seen", seen.sink, BY_VALUE)
        return only_once(stream)
    with scope.loop(f"loop {levels}") as loop:
        back = loop.feedback(VALUE, increment=levels)
        head = union(loop.enter(stream), back.stream)
        again, done = forks(loop, loops_around(loop, head, levels - 1, forks, seen))
        back.connect(again)
    return loop.leave(done)


def walked(fed: list[list[int]], levels: int) -> tuple[list[tuple[Any, int]], list[tuple[int, int]]]:
    """The (time, value) of all that comes to the operator, and of all that leaves the loops, for the values of each
    epoch. Times are done in order: nothing comes of one that is less."""
    inside = (0,) * levels
    waiting = {(epoch, *inside): values.copy() for epoch, values in enumerate(fed)}
    seen: list[tuple[Any, int]] = []
    left: list[tuple[int, int]] = []
    while waiting:
        came = min(waiting)
        values = waiting.pop(came)
        seen += [(came, value) for value in values]
        for value in set(values):
            time, rest, level = (*came[:-1], came[-1] + 1), value, 1
            while level <= levels and rest % 3 == 0:
                time, rest, level = time[:-1], rest // 3, level + 1
            if level > levels:
                left.append((time[0], rest))
            else:
                again = (*time[:-1], time[-1] + level, *inside[: level - 1])
                waiting.setdefault(again, []).append(rest - 1)
    return sorted(seen), sorted(left)


@pytest.mark.parametrize("checks", ["normal", "exhaustive"])
@pytest.mark.parametrize("forks", [fork, staged_fork])
@pytest.mark.parametrize("workers", [1, 2, 3])
@pytest.mark.parametrize("levels", [1, 2, 3])
def test_an_operator_waits_for_times_of_every_depth(levels: int, workers: int, forks: Fork, checks: str) -> None:
    """By tokens of later times, between workers, from loop to loop: what one process finds with sets, row by row."""
    rng = np.random.default_rng(levels)
    fed = [rng.integers(0, 3**levels, 12).tolist() for _ in range(3)]

    def declare(worker: Worker, scope: Scope) -> Any:
        handle, stream = scope.new_input(VALUE)
        seen, left = Recorder(), Recorder()
        end = loops_around(scope, stream, levels, forks, seen)
        return handle, seen, left, end.sink("left", left.sink)

    with simulated(workers, checks=checks, ring_records=128, queue_bytes=1 << 14) as group:
        made = build(group, declare)
        for epoch, values in enumerate(fed):
            for index, (handle, *_) in enumerate(made):
                handle.advance_to(epoch)
                handle.send({"value": values[index::workers]})
            group.workers[epoch % workers].step()
        for handle, *_ in made:
            handle.close()
        settle(group, 20_000)
        assert all(worker.complete for worker in group.workers)
    seen, left = walked(fed, levels)
    assert sorted(row for _, recorder, _, _ in made for row in recorder.rows) == seen
    assert sorted(row for _, _, recorder, _ in made for row in recorder.rows) == left


# Around, to itself


class Countdown(Record):
    """What the operator keeps. `most`: how many messages it took in one call."""

    first: int
    most: int


@entry
def count_down(world: int, me: int) -> int:
    """Answer rows above 0, less by 1."""
    state = state_as(world, me, Countdown)
    if state.first >= 0:
        drop(world, me, state.first)
        state.first = -1
    taken = 0
    for port in range(2):
        while True:
            message = take(world, me, port)
            if message == 0:
                break
            taken += 1
            values = column_of(message, 0)
            made = new_message(world, me, 0, np.sum(values > 0))
            target, at = column_of(made, 0), 0
            for value in values:
                if value > 0:
                    target[at] = value - 1
                    at += 1
            answer(world, me, port, 0, made)
    state.most = max(state.most, taken)
    return DONE


def by_nothing(stream: Stream) -> Stream:
    return stream


def by_a_stage(stream: Stream) -> Stream:
    return with_columns(stream, value=col("value") * 1)


def by_pythons_stage(stream: Stream) -> Stream:
    return map_batches(stream, VALUE, lambda batch: {"value": batch["value"].copy()})


def by_python(stream: Stream) -> Stream:
    return stream.unary("python", VALUE, Recorder().unary)


def by_another(stream: Stream) -> Stream:
    return operate(stream, forward(), "another", loops=True)[0]


@pytest.mark.parametrize("checks", ["normal", "exhaustive"])
@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("way", [by_nothing, by_a_stage, by_pythons_stage, by_python, by_another])
def test_an_operator_that_feeds_itself_ends_each_call(
    way: Callable[[Stream], Stream], workers: int, checks: str
) -> None:
    """What it sends around comes to a later call of it; when nothing does any more, all is over."""

    def declare(worker: Worker, scope: Scope) -> Any:
        handle, stream = scope.new_input(VALUE)
        seen, state = Recorder(), Countdown()
        with scope.loop("countdown") as loop:
            back = loop.feedback(VALUE)
            builder = loop.operator("countdown", Notify.NEVER)
            builder.input(loop.enter(stream))
            builder.input(back.stream, BY_VALUE)
            less = builder.output(VALUE)
            builder.build_compiled(lambda _: Compiled(count_down, state.words), loops=True)
            back.connect(way(less))
            less.sink("seen", seen.sink)
            left = loop.leave(less).probe()
        return handle, seen, state, left

    with simulated(workers, checks=checks) as group:
        made = build(group, declare)
        for epoch in range(2):
            for handle, *_ in made:
                handle.send({"value": range(6)})
                handle.advance_to(epoch + 1)
            settle(group)
            assert all(left.frontier == epoch + 1 for *_, left in made)
        for handle, *_ in made:
            handle.close()
        settle(group)
        assert all(worker.complete for worker in group.workers)
        assert workers > 1 or made[0][2].most == 1
    assert sorted(row for _, seen, _, _ in made for row in seen.rows) == sorted(
        ((epoch, at_round), value - at_round - 1)
        for epoch in range(2)
        for value in range(6)
        for at_round in range(value)
        for _ in range(workers)
    )


@pytest.mark.parametrize("pact", [Pipeline(), BY_VALUE], ids=str)
@pytest.mark.parametrize("depth", [1, 2, 3, 4])
def test_where_a_counter_would_overflow_that_is_told(depth: int, pact: Pact) -> None:
    """Rows that come round no more would be missing."""
    step = MAX_TIME // 2

    def declare(worker: Worker, scope: Scope) -> Any:
        handle, stream = scope.new_input(VALUE)
        inner: Any = scope
        for _ in range(depth - 1):
            with inner.loop() as loop:
                stream = loop.enter(stream)
            inner = loop
        back, seen = inner.feedback(VALUE, step), Recorder()
        (onward,) = operate(union(stream, back.stream), forward(), pact=pact, loops=True)
        back.connect(onward)
        return handle, seen, onward.sink("seen", seen.sink)

    with simulated(2) as group:
        made = build(group, declare)
        made[1][0].send({"value": [1, 2, 3]})
        for handle, *_ in made:
            handle.close()
        with raises(OperatorError, "operator 'compiled'", "around a loop", str(2 * step), str(MAX_TIME)):
            settle(group)
    before = (0,) * (depth - 1)
    times = {(*before, turn * step) if before else turn * step for turn in range(2)}
    assert times <= {time for _, seen, _ in made for time, _ in seen.rows}


# Bursts


def bursting(scope: Scope, timed: bool = True) -> Stream:
    """A source of one burst: two rows at each of ten times; not `timed`: ten messages at time 0."""

    def construct(context: OperatorContext, token: Token) -> Callable[[OutputPort], None]:
        def logic(output: OutputPort) -> None:
            if token.live:
                keys = np.repeat(np.arange(10), 2)
                output.give_each(token, Batch(VALUE, {"value": keys}), keys, timed)
                token.drop()

        return logic

    (stream,) = scope.source("bursting", (VALUE,), construct)
    return stream


@pytest.mark.parametrize("timed", [True, False])
@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("is_exchanged", [False, True])
def test_a_burst_that_enters_a_loop_becomes_messages_of_each_time(
    is_exchanged: bool, workers: int, timed: bool
) -> None:
    def declare(worker: Worker, scope: Scope) -> Any:
        (stream,) = operate(bursting(scope, timed), forward(), "root", pact=BY_VALUE if is_exchanged else None)
        seen = Recorder()
        with scope.loop("outer") as outer, outer.loop("inner") as inner:
            (inside,) = operate(inner.enter(outer.enter(stream)), forward(), "inside", loops=True)
            inside.sink("seen", seen.sink, notify=Notify.NEVER)
        return seen

    with simulated(workers, checks="exhaustive") as group:
        made = build(group, declare)
        settle(group)
        assert all(worker.complete for worker in group.workers)
    expected = [((key if timed else 0, 0, 0), [key, key]) for key in range(10) for _ in range(workers)]
    assert sorted((time, values) for seen in made for time, values, _ in seen.seen) == expected


def test_a_burst_that_goes_round_becomes_messages_of_each_time() -> None:
    def declare(worker: Worker, scope: Scope) -> Recorder:
        (stream,) = operate(bursting(scope), forward())
        back, seen = scope.feedback(VALUE, 100), Recorder()
        back.connect(stream)
        back.stream.sink("seen", seen.sink, notify=Notify.NEVER)
        return seen

    with simulated(checks="exhaustive") as group:
        (seen,) = build(group, declare)
        settle(group)
        assert group.workers[0].complete
    assert [(time, values) for time, values, _ in seen.seen] == [(100 + key, [key, key]) for key in range(10)]


# What waits, and what people see of it


def twice_within(scope: Scope, stream: Stream) -> tuple[Loop, Stream]:
    """A stream in a loop within a loop."""
    with scope.loop("outer") as outer, outer.loop("inner") as inner:
        return inner, inner.enter(outer.enter(stream))


def behind_an_operator(scope: Scope, stream: Stream) -> Stream:
    _, stream = twice_within(scope, stream)
    return operate(stream, forward(), "sender", loops=True)[0]


def behind_a_border(scope: Scope, stream: Stream) -> Stream:
    return twice_within(scope, operate(stream, forward(), "sender")[0])[1]


def behind_the_way_around(scope: Scope, stream: Stream) -> Stream:
    loop, stream = twice_within(scope, stream)
    back = loop.feedback(VALUE)
    back.connect(operate(stream, forward(), "sender", loops=True)[0])
    return back.stream


@pytest.mark.parametrize(
    ("place", "origin", "at_round"),
    [(behind_an_operator, "sender", 0), (behind_a_border, "enter inner", 0), (behind_the_way_around, "feedback", 1)],
)
def test_rows_that_wait_for_room_hold_their_time_and_are_told(
    place: Callable[[Scope, Stream], Stream], origin: str, at_round: int
) -> None:
    """And are sent later: nothing is lost, and no frontier passes them."""
    epochs, rows = 20, 100

    def declare(worker: Worker, scope: Scope) -> Any:
        handle, stream = scope.new_input(VALUE)
        (taken,) = operate(place(scope, stream), forward(), "taker", pact=BY_VALUE, loops=True)
        witness = Witness([(epoch, 0, at_round) for epoch in range(epochs)])
        return handle, scope, witness, taken.unary("witness", VALUE, witness.construct).probe()

    with simulated(2, ring_records=1 << 12) as group:
        made = build(group, declare)
        handle, scope, _, probe = made[0]
        for epoch in range(epochs):
            handle.send({"value": np.full(rows, key_for(1, 2))})
            handle.advance_to(epoch + 1)
        handle.close()
        for _ in range(5):
            group.workers[0].step()
        assert group.workers[0].world.state.pending_edges == 1
        found = scope.running.why(("taker", "input", 0), (epochs, 0, at_round))
        postponed = [
            (point.operator, point.time, holder.rows, holder.target)
            for point in found.pointstamps
            for holder in point.holders
            if holder.kind == POSTPONED
        ]
        first = min(epoch for _, (epoch, *_), _, _ in postponed)
        assert 0 < first < 10
        assert sorted(postponed) == [
            (origin, (epoch, 0, at_round), rows, "operator 'taker' input 0") for epoch in range(first, epochs)
        ]
        group.workers[1].step()
        assert probe.less_than((first, 0, at_round + 1))
        made[1][0].close()
        settle(group, 20_000)
        assert all(worker.complete and worker.world.state.backlog_bytes == 0 for worker in group.workers)
        assert all(probe.done() for *_, probe in made)
    for _, _, witness, _ in made:
        assert witness.finished == {(epoch, 0, at_round) for epoch in range(epochs)}
    assert [len(witness.rows) for _, _, witness, _ in made] == [0, epochs * rows]
    assert {time for time, _ in made[1][2].rows} == made[1][2].finished


def test_tokens_and_messages_of_an_operator_in_a_loop_are_told() -> None:
    """With all coordinates of their times."""

    def declare(worker: Worker, scope: Scope) -> Any:
        handle, stream = scope.new_input(VALUE)
        _, stream = twice_within(scope, stream)
        operate(stream, [], "idle", loops=True)
        return handle, scope, only_once(stream).probe()

    with simulated() as group:
        ((handle, scope, probe),) = build(group, declare)
        handle.advance_to(4)
        handle.send({"value": [1, 2, 3]})
        settle(group)
        told = scope.running.why(probe, (5, 0, 1)).pointstamps
        held = [(point.time, holder.count) for point in told for holder in point.holders if point.operator == "once"]
        assert held == [((4, 0, 1), 3)]
        told = scope.running.why(("idle", "input", 0)).pointstamps
        waiting = [(point.time, holder.rows) for point in told for holder in point.holders if holder.kind == WAITING]
        assert waiting == [((4, 0, 0), 3)]


# What comes from Python, and goes there

NAMED = Schema("value", name="string?")
LONG = "too long to be told from others by a word " * 3


@pytest.mark.parametrize("workers", [1, 2])
def test_texts_pass_at_the_same_times_on_both_sides(workers: int) -> None:
    """From Python's operator to the compiled one, by their hash to another worker, to Python's, and around."""
    seen: list[list[tuple[Any, int, str | None]]] = [[], []]

    def noting(found: list[tuple[Any, int, str | None]]) -> Callable[..., Any]:
        def construct(context: OperatorContext, token: Token) -> Callable[..., None]:
            token.drop()

            def logic(messages: InputPort, output: OutputPort) -> None:
                for reference, batch in messages:
                    rows = zip(batch["value"].tolist(), list(batch["name"]), strict=True)
                    found.extend((reference.time, value, name) for value, name in rows)
                    output.give(reference, batch)

            return logic

        return construct

    def declare(worker: Worker, scope: Scope) -> Any:
        handle, stream = scope.new_input(NAMED)
        loop, entered = twice_within(scope, stream)
        back = loop.feedback(NAMED)
        before = union(entered, back.stream).unary("before", NAMED, noting(seen[0]))
        (passed,) = operate(before, forward(), "compiled", pact=Exchange("name"), texts=True, loops=True)
        behind = passed.unary("behind", NAMED, noting(seen[1]))
        back.connect(with_columns(filter(behind, "value", ">", 0), value=col("value") - 1))
        return handle

    fed = [(3, "one"), (2, None), (1, LONG), (4, LONG + "or not"), (0, "")]
    with simulated(workers, queue_bytes=1 << 16) as group:
        handles = build(group, declare)
        for epoch in range(2):
            for handle in handles:
                handle.advance_to(epoch)
                handle.send({"value": [value for value, _ in fed], "name": [name for _, name in fed]})
        for handle in handles:
            handle.close()
        settle(group)
        assert all(worker.complete for worker in group.workers)
    expected = [
        ((epoch, 0, at_round), value - at_round, name)
        for epoch in range(2)
        for value, name in fed
        for at_round in range(value + 1)
        for _ in range(workers)
    ]
    for found in seen:
        assert sorted(found, key=repr) == sorted(expected, key=repr)


# What is also good outside of loops, and what is wrong in one


def test_the_same_operator_waits_for_times_in_the_root_scope() -> None:
    def declare(worker: Worker, scope: Scope) -> Any:
        handle, stream = scope.new_input(VALUE)
        seen = Recorder()
        only_once(stream).sink("seen", seen.sink)
        return handle, seen

    with simulated() as group:
        ((handle, seen),) = build(group, declare)
        for epoch in range(5):
            handle.send({"value": [7, 7, epoch]})
            settle(group)
            assert seen.rows == [(time + 1, value) for time in range(epoch) for value in (time, 7)]
            handle.advance_to(epoch + 1)


class Wrong(Record):
    """What the operator is to do with the first message, and the token that it begins with."""

    first: int
    what: int


BACK, BACK_IN_ROUND, BEYOND, SEND_DROPPED, CLONE_DROPPED, DOWNGRADE_DROPPED, SEND_EACH = range(7)


@entry
def do_wrong(world: int, me: int) -> int:
    """Take a message and do as the state says."""
    state = state_as(world, me, Wrong)
    message = take(world, me, 0)
    if message == 0:
        return DONE
    what = state.what
    slot = retain(world, me, 0, 0)
    time = np.zeros(3, np.int64)
    time[0], time[1], time[2] = time_of(message) + 5, 7, 9
    downgrade_to(world, me, slot, time)
    if what == SEND_DROPPED or what == CLONE_DROPPED or what == DOWNGRADE_DROPPED:  # noqa: SIM109 - a kernel
        drop(world, me, slot)
    if what == BACK:
        time[0] -= 1
        downgrade_to(world, me, slot, time)
    elif what == BACK_IN_ROUND:
        time[0], time[2] = time[0] + 1, time[2] - 1
        downgrade_to(world, me, slot, time)
    elif what == BEYOND:
        time[1] = MAX_TIME + 1
        downgrade_to(world, me, slot, time)
    elif what == SEND_DROPPED:
        send_by(world, me, slot, message)
    elif what == CLONE_DROPPED:
        clone(world, me, slot)
    elif what == DOWNGRADE_DROPPED:
        downgrade_to(world, me, slot, time)
    elif what == SEND_EACH:
        send_each(world, me, slot, message, 0)
        drop(world, me, slot)
        drop(world, me, state.first)
    return DONE


def send_three(group: SimulatedGroup, what: int) -> Recorder:
    """Let the operator, in a loop within a loop, get one message at time 3, of rows 8, 8 and 9; who sees its answers.
    """
    seen, state = Recorder(), Wrong()
    state.what = what

    def declare(worker: Worker, scope: Scope) -> InputHandle:
        handle, stream = scope.new_input(VALUE)
        loop, stream = twice_within(scope, stream)
        builder = loop.operator("wrong")
        builder.input(stream)
        made: Stream = builder.output(VALUE)
        builder.build_compiled(lambda _: Compiled(do_wrong, state.words), loops=True)
        made.sink("seen", seen.sink, notify=Notify.NEVER)
        return handle

    (handle,) = build(group, declare)
    handle.advance_to(3)
    handle.send({"value": [8, 8, 9]})
    handle.close()
    settle(group)
    return seen


@pytest.mark.parametrize(
    ("what", "error", "cure"),
    [
        (BACK, "TimeRegressionError", ("token at 8", "to 7")),
        (BACK_IN_ROUND, "TimeRegressionError", ("token at 9", "to 8")),
        (BEYOND, "TimeRegressionError", (f"{MAX_TIME + 1}", f"{MAX_TIME}")),
        (SEND_DROPPED, "DroppedTokenError", "slot 1"),
        (CLONE_DROPPED, "DroppedTokenError", "slot 1"),
        (DOWNGRADE_DROPPED, "DroppedTokenError", "slot 1"),
    ],
)
def test_misuse_says_who_did_what_and_what_to_do(what: int, error: str, cure: Fact) -> None:
    with simulated() as group, raises(OperatorError, f"operator 'wrong' on worker 0: {error}", cure):
        send_three(group, what)


def test_what_is_sent_for_each_time_in_a_column_is_in_the_tokens_round() -> None:
    with simulated(checks="exhaustive") as group:
        seen = send_three(group, SEND_EACH)
        assert group.workers[0].complete
    assert [(time, values) for time, values, _ in seen.seen] == [((8, 7, 9), [8, 8]), ((9, 7, 9), [9])]


def test_an_operator_that_does_not_know_of_loops_is_refused_in_one() -> None:
    _, stream = twice_within(scope := Scope("refusing"), scope_input(scope))
    with raises(GraphError, "operator 'compiled'", "several coordinates", "loops=True", "build()"):
        operate(stream, forward())
    operate(stream, forward(), loops=True)


def scope_input(scope: Scope) -> Stream:
    return scope.new_input(VALUE)[1]


# Dataflows that do not end by themselves


def endless(worker: Worker, scope: Scope, steps_to_failure: int = -1) -> Any:
    """Rows that go round for ever, between workers and to Python's operators, whole queues of them; tokens held in the
    same loop; and an operator that fails at a round, in the middle of a call."""
    handle, stream = scope.new_input(VALUE)
    loop, entered = twice_within(scope, stream)
    back = loop.feedback(VALUE)
    (around,) = operate(union(entered, back.stream), forward(), "around", pact=BY_VALUE, loops=True)
    python = around.unary("python", VALUE, Recorder().unary, BY_VALUE)
    back.connect(union(around, filter(python, "value", "<", 0)))
    held = only_once(around)
    builder, state = loop.operator("failing"), Failing()
    builder.input(held)
    failing: Stream = builder.output(VALUE)
    state.at_round = steps_to_failure
    builder.build_compiled(lambda _: Compiled(fail_at, state.words), loops=True)
    return handle, scope, loop.leave(failing).probe()


class Failing(Record):
    """The round at which the operator fails, -1: none; and the token that it begins with."""

    first: int
    at_round: int


@entry
def fail_at(world: int, me: int) -> int:
    """Answer each message, until the round comes; of that, hold a token, answer twice and use one that is no more."""
    state = state_as(world, me, Failing)
    while True:
        message = take(world, me, 0)
        if message == 0:
            return DONE
        answer(world, me, 0, 0, message)
        if inner_of(message)[1] == state.at_round:
            retain(world, me, 0, 0)
            answer(world, me, 0, 0, message)
            drop(world, me, state.first)
            drop(world, me, state.first)


def feed(made: list[Any]) -> None:
    for handle, *_ in made:
        for epoch in range(2):
            handle.send({"value": range(200)})
            handle.advance_to(epoch + 1)


CHECKS = {1: "exhaustive", 2: "normal"}
"""Rows that go round for ever between two make thousands of times, each of which all checks compare with all others."""


@pytest.mark.parametrize("steps", [1, 2, 3])
@pytest.mark.parametrize("workers", [1, 2])
def test_a_dataflow_that_is_cancelled_in_a_loop_leaves_nothing(workers: int, steps: int) -> None:
    with simulated(workers, checks=CHECKS[workers], ring_records=1 << 12) as group:
        made = build(group, endless)
        feed(made)
        for _ in range(steps):
            for worker in group.workers:
                worker.step()
        assert workers == 1 or any(worker.world.state.pending_edges for worker in group.workers)
        for worker, (_, scope, _) in zip(group.workers, made, strict=True):
            with group.building(worker):
                scope.running.cancel()
        settle(group, 20_000)
        nothing_left(group)


@pytest.mark.parametrize("at_round", [1, 2, 5])
@pytest.mark.parametrize("workers", [1, 2])
def test_a_dataflow_that_fails_alone_in_a_loop_leaves_nothing(workers: int, at_round: int) -> None:
    failures: list[str] = []

    def declare(worker: Worker, scope: Scope) -> Any:
        scope.when_failed = failures.append
        return endless(worker, scope, at_round if worker.index == workers - 1 else -1)

    with simulated(workers, checks=CHECKS[workers], ring_records=1 << 12) as group:
        made = build(group, declare)
        feed(made)
        while not failures:
            for worker in group.workers:
                worker.step()
        for number, end in enumerate((stop, let_go)):
            for worker, (_, scope, probe) in zip(group.workers, made, strict=True):
                end(scope.running.instance, worker.runtime, worker.schedule, *[worker.flush][:number])
                assert not probe.done()
            for _ in range(20):
                for worker in group.workers:
                    worker.step()
        settle(group, 20_000)
        nothing_left(group)
    (failure,) = failures
    assert failure.startswith(f"operator 'failing' on worker {workers - 1}: DroppedTokenError")
