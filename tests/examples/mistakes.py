"""The mistakes in a program that docs/writing-operators.md names, each as a program that makes it."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

from tests.engine.helpers import VALUE, Recorder
from tests.operators.migrate.own_sums import VALUES, sums
from tokenring.engine import (
    Exchange,
    InputHandle,
    InputPort,
    OperatorContext,
    OperatorError,
    Schema,
    TokenRingError,
    Worker,
)
from tokenring.operators import Max, Notificator, Sum, Tumbling, aggregate, count, from_generator, no_op, union
from tokenring.operators.mechanisms import use
from tokenring.operators.migrate import Staying, Table, state_moves, use_bins


def exchange_without_key(worker: Worker) -> None:
    with worker.dataflow() as scope:
        _, stream = scope.new_input(Schema("key value"))
        stream.sink("sum", Recorder().sink, Exchange("key", ("value",)))


def keep_by_key(worker: Worker, *pacts: Exchange, tables: tuple[Table, ...] | None = None) -> None:
    with worker.dataflow() as scope:
        use_bins(scope, worker.index, worker.peers, 8)
        _, stream = scope.new_input(Schema("key value"))
        builder = scope.operator("kept")
        for pact in pacts:
            builder.input(stream, pact)
        if tables is not None:
            state_moves(builder, tables)
        builder.build(Recorder().sink)


def forget_how_state_moves(worker: Worker) -> None:
    keep_by_key(worker, Exchange("key"))


def let_one_stay(worker: Worker) -> None:
    keep_by_key(worker, Exchange("key"), Staying("key"))


def offer_nothing(worker: Worker) -> None:
    keep_by_key(worker, Exchange("key"), tables=(Table(Schema("key value"), ("key",)),))


def offer_what_has_no_table(worker: Worker) -> None:
    with worker.dataflow() as scope:
        use_bins(scope, worker.index, worker.peers, 8)
        sums(scope.new_input(VALUES)[1], tables=[])


def give_another_key(worker: Worker) -> None:
    keep_by_key(worker, Exchange(("key", "value")), tables=(Table(Schema("key value"), ("key",)),))


def fail_to_take_out(worker: Worker) -> None:
    def taken() -> None:
        raise ValueError("a socket cannot be taken out")

    with worker.dataflow() as scope:
        use_bins(scope, worker.index, worker.peers, 8)
        sums(scope.new_input(VALUES)[1], on_out=taken)


def forget_to_build(worker: Worker) -> None:
    with worker.dataflow() as scope:
        scope.operator("empty")


def forget_to_return(worker: Worker) -> None:
    with worker.dataflow() as scope:
        _, stream = scope.new_input(VALUE)
        stream.sink("empty", lambda context: None)  # type: ignore[arg-type,return-value]


def declare_late(worker: Worker) -> None:
    with worker.dataflow() as scope:
        _, stream = scope.new_input(VALUE)
    stream.sink("late", Recorder().sink)


def feed_early(worker: Worker) -> None:
    with worker.dataflow() as scope:
        handle, _ = scope.new_input(VALUE)
        handle.send({"value": [1]})


def connect_two(worker: Worker) -> None:
    with worker.dataflow() as scope:
        _, stream = scope.new_input(VALUE)
    with worker.dataflow() as scope:
        scope.new_input(VALUE)
        scope.operator("joined").input(stream)


def nest_too_deep(worker: Worker) -> None:
    with worker.dataflow() as scope, scope.loop() as a, a.loop() as b, b.loop() as c, c.loop():
        pass


def leave_unconnected(worker: Worker) -> None:
    with worker.dataflow() as scope, scope.loop() as loop:
        loop.feedback(VALUE)


def connect_twice(worker: Worker) -> None:
    with worker.dataflow() as scope:
        _, stream = scope.new_input(VALUE)
        back = scope.feedback(VALUE)
        back.connect(stream)
        back.connect(stream)


def stand_still(worker: Worker) -> None:
    with worker.dataflow() as scope, scope.loop() as loop:
        back = loop.feedback(VALUE, increment=0)
        back.connect(union(back.stream))


def forget_to_enter(worker: Worker) -> None:
    with worker.dataflow() as scope:
        _, stream = scope.new_input(VALUE)
        with scope.loop() as loop:
            loop.operator("inside").input(stream)


def feed_a_loop(worker: Worker) -> None:
    with worker.dataflow() as scope, scope.loop() as loop:
        loop.new_input(VALUE)


def move_back(worker: Worker) -> None:
    with worker.dataflow() as scope:
        handle, _ = scope.new_input(VALUE)
    handle.advance_to(5)
    handle.advance_to(4)


def maxima_in_a_loop(worker: Worker) -> None:
    with worker.dataflow() as scope:
        _, stream = scope.new_input(VALUE)
        with scope.loop("around") as loop:
            aggregate(loop.enter(stream), window=Tumbling("value", 10), value=Max("value"))


def count_counts(worker: Worker) -> None:
    with worker.dataflow() as scope:
        _, stream = scope.new_input(VALUE)
        count(count(stream, "value"), "count", name="times")


def sum_text(worker: Worker) -> None:
    with worker.dataflow() as scope:
        _, stream = scope.new_input(Schema(name="string"))
        aggregate(stream, total=Sum("name"))


def come_too_late(worker: Worker) -> None:
    with worker.dataflow() as scope:
        handle, stream = scope.new_input(VALUE)
        probe = aggregate(stream, window=Tumbling("value", 10), rows=Max("value")).probe()
    handle.send({"value": [4]})
    handle.advance_to(12)
    worker.step_while(lambda: probe.less_than(12))
    handle.send({"value": [7]})


def exchange_marks(worker: Worker) -> None:
    with worker.dataflow() as scope:
        way = use(scope, "watermarks-P")
        _, stream = way.new_input(scope, VALUE, time="value")
        no_op(stream, "value")


def mix_mechanisms(worker: Worker) -> None:
    with worker.dataflow() as scope:
        use(scope, "watermarks-X")
        _, stream = scope.new_input(VALUE)
        no_op(stream, "value")


def ask_of_an_input(ask: Callable[[Any, Any, Worker], Any]) -> Callable[[Worker], None]:
    def program(worker: Worker) -> None:
        with worker.dataflow() as scope:
            handle, _ = scope.new_input(VALUE)
        ask(scope, handle, worker)

    return program


def hold_what_has_passed(scope: Any, handle: Any, worker: Worker) -> None:
    handle.advance_to(5)
    scope.running.hold("input", 4)


def hold_without_a_right(scope: Any, handle: Any, worker: Worker) -> None:
    if worker.index == 1:  # it has the right
        worker.step_while(lambda: True)
    handle.close()
    scope.running.hold("input", 7)


def listen(listener: Callable[[Worker], Any]) -> Callable[[Worker], None]:
    def program(worker: Worker) -> None:
        with worker.dataflow() as scope:
            handle, stream = scope.new_input(VALUE)
            stream.probe().on_advance(lambda: listener(worker))
        handle.advance_to(1)

    return program


def go_on(worker: Worker) -> None:
    with contextlib.suppress(OperatorError):
        listen(lambda _: 1 // 0)(worker)
    worker.step()


def feed_two(worker: Worker) -> None:
    with worker.dataflow() as scope:
        handle = InputHandle(VALUE)
        scope.new_input(VALUE, "one", handle)
        scope.new_input(VALUE, "two", handle)


def disagree(worker: Worker) -> None:
    with worker.dataflow() as scope:
        scope.new_input(VALUE, f"input {worker.index}")


def read_in_a_stream(worker: Worker) -> None:
    with worker.dataflow() as scope:
        _, stream = scope.new_input(VALUE)
        from_generator(stream, VALUE, lambda index, peers: iter([]))  # type: ignore[arg-type]


def advance_to_text(worker: Worker) -> None:
    with worker.dataflow() as scope:
        handle, _ = scope.new_input(VALUE)
    handle.advance_to("5s")  # type: ignore[arg-type]


def step_within_a_logic(worker: Worker) -> None:
    refused: list[TokenRingError] = []

    def constructor(context: OperatorContext) -> Callable[..., None]:
        def logic(messages: InputPort) -> None:
            try:
                worker.step()
            except TokenRingError as error:
                refused.append(error)

        return logic

    with worker.dataflow() as scope:
        _, stream = scope.new_input(VALUE)
        stream.sink("actor", constructor)
    worker.run()
    raise refused[0]


# Mistakes in a program: (workers, program).
IN_A_PROGRAM: dict[str, tuple[int, Callable[[Worker], None]]] = {
    "exchange by a column that does not cross": (1, exchange_without_key),
    "forget to build an operator": (1, forget_to_build),
    "keep state by key without `state_moves`, in a dataflow with `bins=`": (2, forget_how_state_moves),
    "let one input's keys move, and another's stay": (2, let_one_stay),
    "say `state_moves`, and `offer` nothing": (2, offer_nothing),
    "offer a state, and tell `state_moves` of no table": (2, offer_what_has_no_table),
    "let a `Table` have another key than the exchange": (2, give_another_key),
    "a `take_out` that raises, or returns other tables than were declared": (2, fail_to_take_out),
    "forget to return the logic": (1, forget_to_return),
    "declare after the block": (1, declare_late),
    "feed an input inside the block": (1, feed_early),
    "connect two dataflows": (1, connect_two),
    "nest loops too deep": (1, nest_too_deep),
    "forget to connect a feedback": (1, leave_unconnected),
    "connect a feedback twice": (1, connect_twice),
    "go round without advancing": (1, stand_still),
    "use a stream of another scope": (1, forget_to_enter),
    "feed a loop by hand": (1, feed_a_loop),
    "declare a source in a stream": (1, read_in_a_stream),
    "advance an input to what is no integer": (1, advance_to_text),
    "stash or notify without a right": (1, lambda worker: Notificator().notify_at(5)),  # type: ignore[arg-type]
    "move an input back": (1, move_back),
    "need a total order in a loop": (1, maxima_in_a_loop),
    "aggregate or join what changes": (1, count_counts),
    "sum what is no number": (1, sum_text),
    "give a window rows that come too late": (1, come_too_late),
    "exchange where watermarks stay local": (1, exchange_marks),
    "mix mechanisms": (1, mix_mechanisms),
    "step the worker, or wait for a probe, within a logic": (1, step_within_a_logic),
    "step, wait or build in a probe's listener": (1, listen(lambda worker: worker.step())),
    "raise in a probe's listener": (1, listen(lambda _: 1 // 0)),
    "go on after an error that ended a step": (1, go_on),
    "give a handle to two inputs": (1, feed_two),
    "hold a time that has passed": (1, ask_of_an_input(hold_what_has_passed)),
    "hold without a right": (2, ask_of_an_input(hold_without_a_right)),
    "ask about a place that is not there": (1, ask_of_an_input(lambda scope, *_: scope.running.why("inptu"))),
    "look at state that is not shown": (1, ask_of_an_input(lambda scope, *_: scope.running.inspect("input"))),
    "declare other dataflows on other workers": (2, disagree),
}
