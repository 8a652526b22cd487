"""Rights that the engine did not give, or that another thread uses: TokenErrors that name the operator, and all goes
on."""

import copy
import pickle
import threading
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from tests.engine.helpers import VALUE, build, settle, simulated, with_message
from tests.errors import Fact, raises
from tokenring.engine import (
    Batch,
    DroppedTokenError,
    ExpiredReferenceError,
    OutputPort,
    PinnedTokenError,
    Scope,
    SendSession,
    Token,
    TokenError,
    TokenRef,
    UsageError,
    Worker,
    WrongOutputError,
)

OUTPUT, INPUT = "operator 'actor' output 0 on worker 0", "operator 'actor' input 0 on worker 0"
ROWS = {"value": [1]}


def refused(act: Callable[[], Any], said: Fact, kind: type[Exception] = TokenError) -> None:
    with raises(kind, said) as caught:
        act()
    assert type(caught.value) is kind


def in_a_thread(act: Callable[[], Any]) -> Exception | None:
    """What `act` raises in another thread, which has ended."""
    raised: list[Exception] = []

    def run() -> None:
        try:
            act()
        except Exception as error:
            raised.append(error)

    thread = threading.Thread(target=run, name="another")
    thread.start()
    thread.join()
    return raised[0] if raised else None


# Made by hand (with_message asserts that the run ends)


@pytest.mark.parametrize("arguments", [(60,), (60, 1), (60, 1, object()), ()])
def test_a_token_is_not_made_by_hand(arguments: tuple[Any, ...]) -> None:
    with_message(lambda token, reference, rows, output: refused(
        lambda: Token(output, *(arguments or (0,))), (f"a token of {OUTPUT}", "by hand", "retain()")
    ))  # fmt: skip


def test_a_reference_is_not_made_by_hand() -> None:
    def act(token: Any, reference: Any, rows: Any, output: Any) -> None:
        for arguments in ((rows, 0), ((rows, 0),), (rows,), ()):
            refused(lambda arguments=arguments: TokenRef(*arguments), ("a token reference of", "by hand", "message"))
        twin = tuple.__new__(TokenRef, (rows, 0))  # even so it is not the one at hand
        refused(twin.retain, (f"reference of {INPUT}", "time 0", "retain()"), ExpiredReferenceError)
        refused(lambda: output.give(twin, ROWS), (INPUT, "time 0", "retain()"), ExpiredReferenceError)

    with_message(act)


def test_a_session_by_hand_asks_for_the_right_like_any_other() -> None:
    def act(token: Any, reference: Any, rows: Any, output: Any) -> None:
        refused(SendSession(output, 3, 0).__enter__, (OUTPUT, "Token", "TokenRef", "not 3"))  # type: ignore[arg-type]
        with SendSession(output, reference, 4) as session:
            session.give(ROWS)
        refused(lambda: session.give(ROWS), (OUTPUT, "session", "`with`"))
        refused(session.__enter__, (OUTPUT, "session", "once"))

    with_message(act)


def test_what_is_no_token_gives_no_right() -> None:
    def act(token: Any, reference: Any, rows: Any, output: Any) -> None:
        class Likeness(Token):
            def __init__(self) -> None:
                self._port, self._time, self._granted, self._pins = output, 0, 0, 0

        likeness = Likeness()
        refused(lambda: output.give(likeness, ROWS), (OUTPUT, "Token", "TokenRef", "not Token("))
        likeness._granted = None
        for nothing in (None, 3, (rows, 3), Token.__new__(Token)):
            with pytest.raises((TokenError, AttributeError)):
                output.give(nothing, ROWS)

    with_message(act)


# Set from outside


def test_a_time_is_not_set() -> None:
    def act(token: Any, reference: Any, rows: Any, output: Any) -> None:
        retained = reference.retain()
        refused(lambda: setattr(retained, "time", 1), (f"time of a token of {OUTPUT}", "downgrade(1)"))
        for name in ("time", "_time", "anything"):
            refused(
                lambda name=name: setattr(reference, name, 1), (f"a token reference of {INPUT}", "changed", "retain()")
            )
        output.give(retained, ROWS)
        retained.drop()

    with_message(act)


def test_a_token_rewound_past_the_engine_is_good_for_nothing() -> None:
    def act(token: Any, reference: Any, rows: Any, output: Any) -> None:
        retained = reference.retain()
        retained._time = 1
        said = (OUTPUT, "set to 1", "at 3", "downgrade(time)")
        for use in (
            retained.drop,
            retained.clone,
            lambda: retained.downgrade(5),
            lambda: output.give(retained, ROWS),
            lambda: output.give(retained, ROWS, 7),
            lambda: output.session(retained).__enter__(),
        ):
            refused(use, said)
        retained._time = retained._granted
        retained.drop()
        reference.retain()._time = 1  # and lost: it is released at the time that the engine knows

    with_message(act)


@pytest.mark.parametrize("double", [copy.copy, copy.deepcopy, pickle.dumps, lambda it: pickle.dumps(it, 5)])
def test_rights_are_not_copied(double: Callable[[Any], Any]) -> None:
    def act(token: Any, reference: Any, rows: Any, output: Any) -> None:
        refused(lambda: double(token), (f"a token of {OUTPUT}", {"clone()", "leave its worker"}))
        refused(lambda: double(reference), (f"a token reference of {INPUT}", "copied", "retain()"))
        refused(
            lambda: double([token]), (f"a token of {OUTPUT}", {"clone()", "leave its worker"})
        ) if double is not copy.copy else None
        with output.session(token) as session:
            refused(lambda: double(session), (f"a session of {OUTPUT}", "copied", "another"))

    with_message(act)
    with simulated() as group:
        (handle,) = build(group, lambda worker, scope: scope.new_input(VALUE)[0])
        refused(lambda: double(handle), ("the handle of operator 'input' output 0 on worker 0", "copied", "token"))


# Elsewhere


def _two_dataflows(group: Any) -> list[Any]:
    """(token, output) of an operator in each of two dataflows, on each worker."""

    def declare(worker: Worker, scope: Scope) -> Any:
        kept: list[Any] = []

        def construct(context: Any, token: Any) -> Any:
            def logic(rows: Any, output: Any) -> None:
                for reference, _ in rows:
                    kept[:] = [token, output, reference]

            return logic

        handle, stream = scope.new_input(VALUE)
        stream.unary("actor", VALUE, construct).probe()
        return handle, kept

    made = build(group, declare, "one") + build(group, declare, "other")
    for handle, _ in made:
        handle.send(ROWS)
        settle(group)
        handle.close()
    settle(group)
    return [kept for _, kept in made]


def test_a_right_is_for_its_own_worker_and_dataflow() -> None:
    with simulated(2) as group:
        made = _two_dataflows(group)
        for one, (token, _, reference) in enumerate(made):
            for other, (_, output, _) in enumerate(made):
                if one != other:
                    give = partial(output.give, token, ROWS)
                    refused(give, "with a token of operator 'actor' output 0", WrongOutputError)
                    refused(
                        output.session(token).__enter__, "with a token of operator 'actor' output 0", WrongOutputError
                    )
                refused(partial(output.give, reference, ROWS), "operator 'actor' input 0", ExpiredReferenceError)
        for token, _, _ in made:
            token.drop()
        settle(group)
        assert all(worker.complete for worker in group.workers)


def test_a_session_kept_open_pins_its_token() -> None:
    def act(token: Any, reference: Any, rows: Any, output: Any) -> None:
        session = output.session(token).__enter__()
        refused(token.drop, (OUTPUT, "time 0", "session"), PinnedTokenError)
        session.__exit__()

    with_message(act)


# In another thread


def test_rights_are_not_used_in_another_thread() -> None:
    def act(token: Any, reference: Any, rows: Any, output: Any) -> None:
        retained = reference.retain()
        batch = Batch(VALUE, ROWS)
        for use in (
            retained.drop,
            retained.clone,
            lambda: retained.downgrade(5),
            reference.retain,
            lambda: output.give(retained, batch),
            lambda: output.give(reference, batch),
            lambda: next(rows),
        ):
            error = in_a_thread(use)
            assert type(error) is TokenError
            assert str(error).startswith("cannot ")
            assert "operator 'actor' " in str(error)
            assert "in thread 'another'" in str(error)
        retained.drop()

    with_message(act)


def test_inputs_and_workers_are_not_used_in_another_thread() -> None:
    with simulated() as group:
        (handle,) = build(group, lambda worker, scope: scope.new_input(VALUE)[0])
        (worker,) = group.workers
        for use in (lambda: handle.send(ROWS), lambda: handle.advance_to(3), handle.close):
            error = in_a_thread(use)
            assert type(error) is TokenError
            assert "operator 'input' output 0 on worker 0 in thread 'another'" in str(error)
        for step in (worker.step, worker.run, worker.barrier, lambda: worker.step_while(lambda: True)):
            error = in_a_thread(step)
            assert type(error) is UsageError
            assert "worker 0 cannot step, wait or build in thread 'another'" in str(error)
        handle.close()
        settle(group)
        assert worker.complete


def test_a_token_lost_in_another_thread_is_released() -> None:
    """The collector runs wherever it is due."""
    with simulated() as group:

        def declare(worker: Worker, scope: Scope) -> Any:
            kept: list[Any] = []

            def construct(context: Any, token: Any) -> Any:
                kept.append(token)
                return lambda output: None

            (stream,) = scope.source("source", (VALUE,), construct)
            return stream.probe(), kept

        ((probe, kept),) = build(group, declare)
        group.workers[0].lost.report = lambda *_: None  # type: ignore[method-assign]
        settle(group)
        assert in_a_thread(kept.clear) is None
        settle(group)
        assert probe.done()


def test_a_kept_output_is_no_right() -> None:
    outputs: list[OutputPort] = []
    with_message(lambda token, reference, rows, output: outputs.append(output))
    refused(lambda: outputs[0].give(None, ROWS), (OUTPUT, "Token", "not None"))  # type: ignore[arg-type]


def test_a_token_dropped_is_known_as_such() -> None:
    def act(token: Any, reference: Any, rows: Any, output: Any) -> None:
        token.drop()
        refused(lambda: output.give(token, ROWS), (OUTPUT, "dropped", "time 0"), DroppedTokenError)

    with_message(act)
