"""After an error in the middle of a step a worker does not go on: rows that were taken would be lost without a word."""

import contextlib
import re
from collections.abc import Callable
from typing import Any

import pytest

from tests.engine.helpers import VALUE, build, settle, simulated
from tests.errors import raises
from tokenring.engine import Exchange, OperatorError, Scope, UsageError, Worker, execute
from tokenring.engine.errors import GroupStopped
from tokenring.engine.group.traces import trace_of
from tokenring.operators import map_batches

HERE = f"(at {__file__}:"


class Unusual(BaseException):
    """What no operator is expected to raise."""


class Wordless(Exception):
    """What raises when it is to say what it is."""

    def __str__(self) -> str:
        raise ZeroDivisionError


def test_an_operator_that_raises_at_the_end_says_so() -> None:
    """And not by the number that stands for it."""

    def raiser(context: Any, token: Any) -> Callable[[Any, Any], None]:
        def logic(rows: Any, output: Any) -> None:
            assert rows.frontier == 0

        token.drop()
        return logic

    def declare(worker: Worker, scope: Scope) -> Any:
        handle, stream = scope.new_input(VALUE)
        stream.unary("raiser", VALUE, raiser)
        return handle

    with simulated() as group:
        (handle,) = build(group, declare)
        settle(group)
        handle.close()
        with raises(OperatorError, "operator 'raiser'", "worker 0", "(input 0 at its end): AssertionError"):
            settle(group)


@pytest.mark.parametrize("kind", [ValueError, SystemExit, Unusual, MemoryError, Wordless])
@pytest.mark.parametrize("is_stage", [False, True])
def test_rows_taken_by_an_operator_that_raises_are_not_passed(kind: type[BaseException], is_stage: bool) -> None:
    def fail() -> None:
        raise kind("broken here")

    def declare(worker: Worker, scope: Scope) -> Any:
        handle, stream = scope.new_input(VALUE)
        if is_stage:
            stream = map_batches(stream.unary("pass on", VALUE, _pass_on), VALUE, lambda batch: fail(), name="raiser")
        else:
            stream = stream.unary("raiser", VALUE, _pass_on_after(fail))
        return handle, stream.probe()

    with simulated() as group:
        ((handle, probe),) = build(group, declare)
        (worker,) = group.workers
        settle(group)
        handle.send({"value": [1]})
        handle.advance_to(5)
        said = "(its text cannot be had: ZeroDivisionError)" if kind is Wordless else "broken here"
        with raises(OperatorError, "operator 'raiser'", "worker 0", f"{kind.__name__}: {said}", HERE) as caught:
            worker.step()
        assert "fail" in trace_of(caught.value)
        told = ("worker 0 cannot go on", "operator 'raiser'", f"{kind.__name__}: {said}", "catch it")
        for go_on in (worker.step, worker.run, worker.barrier, lambda: handle.send({"value": [2]})):
            with raises(UsageError, *told):
                go_on()
        with raises(UsageError, *told), worker.dataflow("another"):
            pass
        handle.close()  # says nothing: it is what a `with` block does while the error passes through it
        assert probe.frontier == 0, "what was taken was not passed on, so its time is not over"


def _pass_on(context: Any, token: Any) -> Any:
    return _pass_on_after(lambda: None)(context, token)


def _pass_on_after(act: Callable[[], None]) -> Any:
    def construct(context: Any, token: Any) -> Any:
        token.drop()

        def logic(rows: Any, output: Any) -> None:
            for reference, batch in rows:
                act()
                output.give(reference, batch)

        return logic

    return construct


def test_an_error_swallowed_by_the_program_ends_the_run() -> None:
    def fail() -> None:
        raise ValueError("broken here")

    def program(worker: Worker) -> str:
        with worker.dataflow() as scope:
            handle, stream = scope.new_input(VALUE)
            probe = stream.unary("raiser", VALUE, _pass_on_after(fail), Exchange("value")).probe()
        handle.send({"value": [1]})
        handle.advance_to(1)
        with contextlib.suppress(OperatorError):
            worker.step_while(lambda: probe.less_than(1))
        return "all well"

    with raises((OperatorError, UsageError), "operator 'raiser'", {"worker 0", "worker 1"}, "broken here"):
        execute(program, workers=2)


def test_a_group_that_is_stopped_stays_stopped() -> None:
    with simulated() as group:
        (worker,) = group.workers
        build(group, lambda worker, scope: scope.new_input(VALUE)[1].probe())
        worker._check_stop = lambda: (_ for _ in ()).throw(GroupStopped("worker 0 was asked to stop"))  # type: ignore[method-assign]
        worker.steps = -1
        for _ in range(2):
            with pytest.raises(GroupStopped):
                worker.step()


# Listeners of probes


def _listening(act: Callable[[Worker, Any], None]) -> tuple[Any, list[str]]:
    """Run a dataflow whose probe has a listener that acts; what it raised."""
    seen: list[str] = []

    def declare(worker: Worker, scope: Scope) -> Any:
        handle, stream = scope.new_input(VALUE)
        probe = stream.unary("pass on", VALUE, _pass_on).probe()

        def listener() -> None:
            try:
                act(worker, handle)
            except UsageError as error:
                seen.append(str(error))

        probe.on_advance(listener)
        return handle, probe

    with simulated() as group:
        ((handle, probe),) = build(group, declare)
        settle(group)
        for time in range(1, 5):
            handle.send({"value": [time]})
            handle.advance_to(time)
            settle(group)
            assert probe.frontier == time
        handle.close()
        settle(group)
        assert probe.done()
    return probe, seen


@pytest.mark.parametrize("verb", ["step", "run", "step_or_park"])
def test_a_listener_cannot_step_its_worker(verb: str) -> None:
    _, seen = _listening(lambda worker, handle: getattr(worker, verb)())
    assert len(seen) >= 4
    assert all(re.search(r"worker 0 cannot step within a step.* context\.activate\(\)", said) for said in seen)


def test_a_listener_cannot_wait_at_a_barrier_nor_build() -> None:
    def build_another(worker: Worker, handle: Any) -> None:
        with worker.dataflow("another"):
            pass

    for act in (lambda worker, handle: worker.barrier(), build_another):
        _, seen = _listening(act)
        assert "cannot step within a step" in seen[0]


@pytest.mark.parametrize("verb", ["step", "barrier", "dataflow", "cancel"])
def test_a_logic_cannot_do_what_the_program_does(verb: str) -> None:
    acts: dict[str, Callable[[Worker, Scope], Any]] = {
        "step": lambda worker, scope: worker.step(),
        "barrier": lambda worker, scope: worker.barrier(),
        "dataflow": lambda worker, scope: worker.dataflow("another").__enter__(),
        "cancel": lambda worker, scope: scope.running.cancel(),
    }

    def declare(worker: Worker, scope: Scope) -> Any:
        handle, stream = scope.new_input(VALUE)
        stream.unary("raiser", VALUE, _pass_on_after(lambda: acts[verb](worker, scope)))
        return handle

    with simulated() as group:
        (handle,) = build(group, declare)
        handle.send({"value": [1]})
        what = ("a logic cannot", "step its worker", "declare a dataflow", "cancel one", "context.activate()")
        with raises(OperatorError, "operator 'raiser' on worker 0", *what):
            settle(group)


def test_what_a_listener_raises_names_the_probe() -> None:
    def fail() -> None:
        raise ValueError("broken here")

    def declare(worker: Worker, scope: Scope) -> Any:
        handle, stream = scope.new_input(VALUE)
        stream.probe().on_advance(fail)
        return handle

    with simulated() as group:
        (handle,) = build(group, declare)
        with raises(OperatorError, "probe's listener", "ValueError: broken here", __file__, "in fail"):
            handle.advance_to(1)
        with raises(UsageError, "worker 0 cannot go on", "probe's listener", "ValueError"):
            group.workers[0].step()


def test_rows_sent_by_a_listener_arrive_on_other_workers() -> None:
    """Between operators' calls: nobody else is there to show them to the receivers."""

    def declare(worker: Worker, scope: Scope) -> Any:
        first, stream = scope.new_input(VALUE, "first")
        second, others = scope.new_input(VALUE, "second")
        seen: list[int] = []
        others.sink("sink", _keep(seen), Exchange("value"))
        if worker.index == 0:
            stream.probe().on_advance(lambda: second.closed or second.send({"value": list(range(20))}))
        else:
            stream.probe()
        return first, second, seen

    with simulated(2) as group:
        made = build(group, declare)
        settle(group)
        for first, _, _ in made:
            first.advance_to(1)
        settle(group)
        assert sorted(made[0][2] + made[1][2]) == list(range(20))


def _keep(seen: list[int]) -> Any:
    def construct(context: Any) -> Any:
        def logic(rows: Any) -> None:
            for _, batch in rows:
                seen.extend(batch["value"].tolist())

        return logic

    return construct
