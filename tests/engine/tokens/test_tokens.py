"""A token's whole life, and every misuse with an error that names operator, port, worker and time."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import pytest

from tests.engine.helpers import VALUE, with_message
from tests.errors import raises
from tokenring.engine import (
    MAX_TIME,
    Batch,
    DroppedTokenError,
    InputPort,
    OperatorError,
    OutputPort,
    PinnedTokenError,
    Schema,
    TimeRegressionError,
    Token,
    TokenError,
    TokenRef,
)

WHERE = r"operator 'actor' output 0 on worker 0"


def _rows(*values: int) -> Batch:
    return Batch(VALUE, {"value": list(values)})


def test_a_life() -> None:
    def act(token: Token, reference: TokenRef, messages: InputPort, output: OutputPort) -> None:
        assert (token.time, token.live, reference.time) == (0, True, 3)
        assert output.held == 1
        second = token.clone()
        retained = reference.retain()
        assert output.held == 3
        assert (second.time, retained.time) == (0, 3)
        second.downgrade(2)
        second.downgrade(2)
        assert (token.time, second.time) == (0, 2)
        with output.session(second) as session:
            session.give(_rows(1))
            session.give({"value": [2]}, time=9)
        for held in (second, retained):
            held.drop()
            assert not held.live
        assert output.held == 1
        assert token.origin.split("/")[-1].startswith("helpers.py"), "an initial token comes from its constructor"
        assert "test_tokens.py" in retained.origin
        assert "(act)" in retained.origin
        assert "dropped" in repr(retained)
        assert "time=0" in repr(token)

    with_message(act)


Act = Callable[[Token, TokenRef, InputPort, OutputPort], Any]


def _after_drop(use: Callable[[Token, OutputPort], Any]) -> Act:
    def act(token: Token, reference: TokenRef, messages: InputPort, output: OutputPort) -> None:
        other = token.clone()
        other.downgrade(7)
        other.drop()
        use(other, output)

    return act


@pytest.mark.parametrize(
    "use",
    [
        lambda token, output: token.drop(),
        lambda token, output: token.clone(),
        lambda token, output: token.downgrade(8),
        lambda token, output: output.give(token, _rows(1)),
        lambda token, output: output.session(token).__enter__(),
    ],
    ids=["drop", "clone", "downgrade", "give", "session"],
)
def test_use_after_a_drop(use: Callable[[Token, OutputPort], Any]) -> None:
    with raises(OperatorError, WHERE, "at time 7") as caught:
        with_message(_after_drop(use))
    assert isinstance(caught.value.__cause__, DroppedTokenError)


def _refusal(act: Act, kind: type[Exception], *texts: str) -> None:
    with pytest.raises(OperatorError) as caught:
        with_message(act)
    assert isinstance(caught.value.__cause__, kind), caught.value
    for text in texts:
        assert text in str(caught.value)


def test_a_token_does_not_go_back() -> None:
    def act(token: Token, reference: TokenRef, messages: InputPort, output: OutputPort) -> None:
        token.downgrade(5)
        token.downgrade(4)

    _refusal(act, TimeRegressionError, "operator 'actor' output 0 on worker 0", "from 5 back to 4")


@pytest.mark.parametrize("time", [MAX_TIME + 1, 2**63, -1])
def test_times_that_do_not_exist(time: int) -> None:
    _refusal(lambda token, *_: token.downgrade(time), TimeRegressionError, str(time), "worker 0")


def test_a_time_that_is_no_integer() -> None:
    _refusal(lambda token, *_: token.downgrade(1.5), TokenError, "a time is an integer, such as ns since 1970, not 1.5")


def test_the_last_time_can_be_used() -> None:
    def act(token: Token, reference: TokenRef, messages: InputPort, output: OutputPort) -> None:
        token.downgrade(MAX_TIME)
        output.give(token, _rows(1))
        output.give(reference, _rows(1), MAX_TIME)

    with_message(act)


@pytest.mark.parametrize(
    "send",
    [
        lambda output, right, time: output.give(right, _rows(1), time),
        lambda output, right, time: output.session(right, time).__enter__(),
    ],
    ids=["give", "session"],
)
@pytest.mark.parametrize(("time", "said"), [(2, "2"), (-1, "-1"), (MAX_TIME + 1, str(MAX_TIME))])
def test_sending_outside_of_the_right(send: Callable[..., Any], time: int, said: str) -> None:
    def by_reference(token: Token, reference: TokenRef, messages: InputPort, output: OutputPort) -> None:
        send(output, reference, time)

    def by_token(token: Token, reference: TokenRef, messages: InputPort, output: OutputPort) -> None:
        token.downgrade(3)
        send(output, token, time)

    for act in (by_reference, by_token):
        _refusal(act, TimeRegressionError, "operator 'actor' output 0 on worker 0", "3", said)


@pytest.mark.parametrize("verb", ["drop", "downgrade"])
def test_a_session_pins_its_token(verb: str) -> None:
    def act(token: Token, reference: TokenRef, messages: InputPort, output: OutputPort) -> None:
        with output.session(token):
            getattr(token, verb)(*([5] if verb == "downgrade" else []))

    _refusal(act, PinnedTokenError, verb, "operator 'actor' output 0 on worker 0", "time 0", "session")


def test_a_token_is_free_after_its_session_even_if_that_failed() -> None:
    def act(token: Token, reference: TokenRef, messages: InputPort, output: OutputPort) -> None:
        with pytest.raises(ZeroDivisionError), output.session(token):
            raise ZeroDivisionError
        with output.session(token), output.session(token):
            token.clone().drop()
        token.downgrade(4)
        token.drop()

    with_message(act)


def test_a_session_sends_only_inside_its_block() -> None:
    def before(token: Token, reference: TokenRef, messages: InputPort, output: OutputPort) -> None:
        output.session(token).give(_rows(1))

    def after(token: Token, reference: TokenRef, messages: InputPort, output: OutputPort) -> None:
        with output.session(token) as session:
            pass
        session.give(_rows(1))

    def twice(token: Token, reference: TokenRef, messages: InputPort, output: OutputPort) -> None:
        with output.session(token) as session, session:
            pass

    for act in (before, after, twice):
        _refusal(act, TokenError, "operator 'actor' output 0 on worker 0", "session")


def test_a_session_looks_at_its_token_when_it_is_entered() -> None:
    """Made at time 0, entered after the token moved to 10: it must not send at 0."""

    def act(token: Token, reference: TokenRef, messages: InputPort, output: OutputPort) -> int:
        session = output.session(token)
        token.downgrade(10)
        with session:
            with pytest.raises(TimeRegressionError):
                session.give(_rows(1), time=9)
            session.give(_rows(1))
            return session._time

    assert with_message(act) == 10


def test_a_session_goes_no_earlier_than_itself() -> None:
    def act(token: Token, reference: TokenRef, messages: InputPort, output: OutputPort) -> None:
        with output.session(token, 6) as session:
            session.give(_rows(1), time=5)

    _refusal(act, TimeRegressionError, "session at 6", "5")


@pytest.mark.parametrize("right", [None, 3, "token", object()])
def test_nothing_is_sent_without_a_right(right: object) -> None:
    _refusal(
        lambda token, reference, messages, output: output.give(right, _rows(1)),
        TokenError,
        "without a token",
        "operator 'actor' output 0 on worker 0",
    )


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, pickle.dumps])
def test_tokens_are_not_copied_behind_the_engine(duplicate: Callable[[Token], Any]) -> None:
    _refusal(lambda token, *_: duplicate(token), TokenError, "operator 'actor' output 0 on worker 0")


def test_a_batch_of_another_schema() -> None:
    _refusal(
        lambda token, reference, messages, output: output.give(token, Batch(Schema("other"), {"other": [1]})),
        Exception,
        "SchemaError",
        "operator 'actor' output 0 on worker 0",
        "other",
    )
