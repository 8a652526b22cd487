"""docs/writing-operators.md: its programs print what it says, and each mistake gives the error it names."""

from __future__ import annotations

import copy
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import engine.errors
from engine import Batch, Exchange, Schema, TokenRingError, Worker, execute
from operators import Max, Sum, Tumbling, aggregate, concatenate, no_op
from operators.mechanisms import mechanism
from tests.engine.helpers import VALUE, Recorder, with_message
from tests.examples.documents import Block, blocks, output
from tests.imports import ROOT

PAGE = "docs/writing-operators.md"
PROGRAMS = blocks(PAGE, "python")


@pytest.mark.parametrize("block", PROGRAMS, ids=str)
def test_programs_print_what_the_page_says(block: Block, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert output(block, tmp_path, capfd) == (block.prints, "")


def one_row(value: int = 1) -> Batch:
    return Batch(VALUE, {"value": [value]})


def dropped(token: Any) -> Any:
    token.drop()
    return token


def inside_a_session(token: Any, outgoing: Any) -> None:
    with outgoing.session(token):
        token.downgrade(9)


def after_the_message(reference: Any, messages: Any) -> None:
    for _ in messages:
        raise AssertionError("there was one message only")
    reference.retain()


# Mistakes inside an operator's call that holds a token at time 0 and a message's reference at time 3.
IN_A_CALL: dict[str, Callable[..., Any]] = {
    "use a dropped token": lambda token, *_: dropped(token).downgrade(5),
    "drop a token twice": lambda token, *_: dropped(token).drop(),
    "downgrade to an earlier time": lambda _, reference, *__: reference.retain().downgrade(2),
    "send before the token's time": lambda _, reference, __, out: out.give(reference, one_row(), time=2),
    "move a token inside its session": lambda token, _, __, out: inside_a_session(token, out),
    "send with a session outside its block": lambda token, _, __, out: out.session(token).give(one_row()),
    "send without a right": lambda _, __, ___, out: out.give(None, one_row()),
    "keep a reference for later": lambda _, reference, messages, __: after_the_message(reference, messages),
    "retain for an output that does not exist": lambda _, reference, *__: reference.retain(1),
    "copy a token": lambda token, *_: copy.copy(token),
    "copy a token reference or a session": lambda _, reference, *__: copy.copy(reference),
    "step the worker, or wait for a probe, within a logic": lambda _, __, ___, out: out.operator.worker.step(),
    "send another schema": lambda token, _, __, out: out.give(token, Batch(Schema("other"), {"other": [1]})),
    "name a column that is not there": lambda *_: one_row()["price"],
    "send rows that are no mapping": lambda token, _, __, out: out.give(token, [1, 2]),
    "send columns of unequal length": lambda *_: Batch(Schema("a b"), {"a": [1], "b": [1, 2]}),
    "send floats as integers": lambda *_: Batch(VALUE, {"value": [0.5]}),
}


def exchange_without_key(worker: Worker) -> None:
    with worker.dataflow() as scope:
        _, stream = scope.new_input(Schema("key value"))
        stream.sink("sum", Recorder().sink, Exchange("key", ("value",)))


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
        back.connect(concatenate(back.stream))


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
    way = mechanism("watermarks-P")
    with worker.dataflow() as scope:
        _, stream = way.new_input(scope, VALUE, time="value")
        no_op(stream, "value", way=way)


def mix_mechanisms(worker: Worker) -> None:
    with worker.dataflow() as scope:
        _, stream = scope.new_input(VALUE)
        no_op(stream, "value", way=mechanism("watermarks-X"))


def ask_of_an_input(ask: Callable[[Any, Any, Worker], Any]) -> Callable[[Worker], None]:
    def program(worker: Worker) -> None:
        with worker.dataflow() as scope:
            handle, _ = scope.new_input(VALUE)
        ask(scope, handle, worker)

    return program


def hold_what_has_passed(scope: Any, handle: Any, worker: Worker) -> None:
    handle.advance_to(5)
    scope.hold("input", 4)


def hold_without_a_right(scope: Any, handle: Any, worker: Worker) -> None:
    if worker.index == 1:  # it has the right
        worker.step_while(lambda: True)
    handle.close()
    scope.hold("input", 7)


def disagree(worker: Worker) -> None:
    with worker.dataflow() as scope:
        scope.new_input(VALUE, f"input {worker.index}")


# Mistakes in a program: (workers, program).
IN_A_PROGRAM: dict[str, tuple[int, Callable[[Worker], None]]] = {
    "exchange by a column that does not cross": (1, exchange_without_key),
    "forget to build an operator": (1, forget_to_build),
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
    "move an input back": (1, move_back),
    "need a total order in a loop": (1, maxima_in_a_loop),
    "sum what is no number": (1, sum_text),
    "give a window rows that come too late": (1, come_too_late),
    "exchange where watermarks stay local": (1, exchange_marks),
    "mix mechanisms": (1, mix_mechanisms),
    "hold a time that has passed": (1, ask_of_an_input(hold_what_has_passed)),
    "hold without a right": (2, ask_of_an_input(hold_without_a_right)),
    "ask about a place that is not there": (1, ask_of_an_input(lambda scope, *_: scope.why("inptu"))),
    "look at state that is not shown": (1, ask_of_an_input(lambda scope, *_: scope.inspect("input"))),
    "declare other dataflows on other workers": (2, disagree),
}
ROWS = re.findall(r"^\| ([^|]+) \| `(\w+Error)` \| (.+) \|$", (ROOT / PAGE).read_text(), flags=re.M)
TABLE = {mistake: (kind, said) for mistake, kind, said in ROWS}


def make(mistake: str) -> None:
    if mistake in IN_A_CALL:
        with_message(IN_A_CALL[mistake])
    else:
        workers, program = IN_A_PROGRAM[mistake]
        execute(program, workers=workers)


def test_the_table_and_these_tests_name_the_same_mistakes() -> None:
    assert TABLE.keys() == {**IN_A_CALL, **IN_A_PROGRAM}.keys()


@pytest.mark.parametrize("mistake", [*IN_A_CALL, *IN_A_PROGRAM])
def test_a_mistake_gives_its_error(mistake: str) -> None:
    kind, said = TABLE[mistake]
    with pytest.raises(TokenRingError) as caught:
        make(mistake)
    text = ".+?".join(re.escape(part) for part in re.split(r" ?… ?", said))
    if mistake in IN_A_CALL:
        assert type(caught.value) is engine.errors.OperatorError
        text = rf"operator 'actor' on worker 0: {kind}: {text}( \(at {re.escape(__file__)}:\d+ in [^)]+\))?"
        assert re.fullmatch(text, str(caught.value)), str(caught.value)
    else:
        assert type(caught.value) is getattr(engine.errors, kind)
        assert re.fullmatch(f"(worker 0: )?{text}", str(caught.value)), str(caught.value)
