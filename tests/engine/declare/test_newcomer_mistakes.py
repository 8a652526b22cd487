"""What a newcomer gets wrong, on two real workers: each error names operator, worker and cure; a run that hangs says
why.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from tokenring.engine import (
    Exchange,
    GraphMismatchError,
    Notify,
    OperatorError,
    Schema,
    SchemaError,
    Scope,
    Stream,
    TimeRegressionError,
    TokenError,
    UsageError,
    Worker,
    execute,
)
from tokenring.engine.errors import NoSuchMethodError
from tokenring.operators import (
    Count,
    Roll,
    aggregate,
    branch,
    col,
    from_generator,
    map_batches,
    running_average,
    to_json_lines,
)

BID = Schema("auction price", channel="string")
ROWS = {"auction": range(10), "price": range(10), "channel": ["web"] * 10}
HERE = re.escape(__file__)


def _pass_on(send: Callable[..., None]) -> Callable[..., Any]:
    """An operator that calls `send(token, reference, batch, output)`; its own token is at time 10."""

    def construct(context: Any, token: Any) -> Any:
        token.downgrade(10)

        def logic(rows: Any, output: Any) -> None:
            for reference, batch in rows:
                send(token, reference, batch, output)

        return logic

    return lambda worker, scope, stream: stream.unary("pass on", BID, construct)


def _dropped(token: Any, reference: Any, batch: Any, output: Any) -> None:
    token.drop()
    output.give(token, batch)


def _halved(token: Any, reference: Any, batch: Any, output: Any) -> None:
    output.give(reference, {"auction": batch["auction"], "price": batch["price"] / 2, "channel": batch["channel"]})


def _takes_rows(rows: Any) -> None:
    """A logic for a sink."""


def _different(worker: Worker, scope: Scope, stream: Stream) -> None:
    key = ("auction", "price")[worker.index]
    stream.sink("count", lambda context: lambda rows: None, Exchange(key), Notify.NEVER)


def _too_early(worker: Worker, handle: Any) -> None:
    handle.advance_to(7)
    handle.advance_to(3)


SINK = "operator 'count' on worker [01]: "
MISTAKES: dict[str, tuple[Callable[..., Any], type[Exception], str]] = {
    "wrong column of a library operator": (
        lambda worker, scope, stream: running_average(stream, "aution", "price"),
        SchemaError,
        r"worker [01]: operator 'running_average': no column 'aution'; the columns are .*; did you mean 'auction'\?",
    ),
    "a method of a stream": (
        lambda worker, scope, stream: stream.where(col("price") > 3),
        NoSuchMethodError,
        r"a Stream has no 'where': operators are functions .*; say where\(stream, \.\.\.\) or stream\.pipe\(where, ",
    ),
    "a number for a window": (
        lambda worker, scope, stream: aggregate(stream, window=10, n=Count()),  # type: ignore[call-overload]
        SchemaError,
        r"operator 'aggregate': a window is Tumbling\('time', '1h'\), .* of a column of times, not 10",
    ),
    "a stream for a scope": (
        lambda worker, scope, stream: from_generator(stream, BID, lambda worker, peers: []),  # type: ignore[arg-type]
        UsageError,
        r"source 'from_generator' is declared in a scope, which comes first \(with .* as scope: ...\), not in a Stream",
    ),
    "a string for a Roll": (
        lambda worker, scope, stream: to_json_lines(stream, "none", roll="1h"),  # type: ignore[arg-type]
        UsageError,
        r"operator 'to_json_lines': roll is a Roll, such as roll=Roll\('1h'\), not '1h'",
    ),
    "a column's name for a condition": (
        lambda worker, scope, stream: branch(stream, "price"),  # type: ignore[arg-type]
        UsageError,
        r"operator 'branch': give an expression, such as col\('price'\), or a function of the batch, not 'price'",
    ),
    "a list for times": (
        _pass_on(lambda token, reference, batch, output: output.give_each(reference, batch, [1] * 10)),
        OperatorError,
        r"TokenError: operator 'pass on' output 0 .*: give_each needs a key for each row, int64 and ascending",
    ),
    "text as the times of a sink": (
        lambda worker, scope, stream: to_json_lines(stream, "none", roll=Roll("1h", time="channel")),
        SchemaError,
        r"operator 'to_json_lines': roll: times are taken from a column of int64, uint64, timestamp; 'channel' is",
    ),
    "wrong key": (
        lambda worker, scope, stream: stream.sink("count", lambda context: lambda rows: None, Exchange("acution")),
        SchemaError,
        r"worker [01]: operator 'count': exchange key 'acution' is not among the .*; did you mean 'auction'\?",
    ),
    "wrong column of a batch": (
        lambda worker, scope, stream: map_batches(stream, BID, lambda batch: batch["prize"]),
        OperatorError,
        r"operator 'map_batches' on worker [01]: .*no column 'prize'; .* did you mean 'price'\? "
        rf"\(at {HERE}:\d+ in <lambda>\)",
    ),
    "wrong dtype": (
        _pass_on(_halved),
        OperatorError,
        r"operator 'pass on' on worker [01]: SchemaError: column 'price' has dtype float64, expected int64; convert "
        rf"it with \.astype, or declare it so in the schema \(at {HERE}:\d+ in _halved\)",
    ),
    "send without a token": (
        _pass_on(lambda token, reference, batch, output: output.give(None, batch)),
        OperatorError,
        r"operator 'pass on' on worker [01]: .*cannot send without a token: pass a Token, or the TokenRef of the .*"
        rf"\(at {HERE}:\d+ in <lambda>\)",
    ),
    "send with a token that was dropped": (
        _pass_on(_dropped),
        OperatorError,
        r"operator 'pass on' on worker [01]: .*dropped \(it was at time 10\); drop it after the last use, or retain",
    ),
    "send before the token's time": (
        _pass_on(lambda token, reference, batch, output: output.give(token, batch, time=3)),
        OperatorError,
        r"operator 'pass on' on worker [01]: .*a token at 10 cannot send at 3; keep a token that is early enough",
    ),
    "two graphs": (
        _different,
        GraphMismatchError,
        r"worker 0 and worker 1 built different .*every worker must declare the same .*number 2 is operator 'count' "
        r"\(.*Exchange\(key='auction'.* on worker 0, but operator 'count' \(.*Exchange\(key='price'.* on worker 1",
    ),
    "an operator that raises": (
        _pass_on(lambda token, reference, batch, output: 1 // int(batch["price"][0] * 0)),
        OperatorError,
        rf"operator 'pass on' raised on worker [01] .*: ZeroDivisionError: .* \(at {HERE}:\d+ in <lambda>\)",
    ),
    "a logic without its output": (
        lambda worker, scope, stream: stream.unary("half", BID, lambda _, token: token.drop() or _takes_rows),
        OperatorError,
        r"operator 'half' raised on worker [01] .*TypeError: .*; its logic is called with its 1 input\(s\), then its 1",
    ),
    "a constructor without its token": (
        lambda worker, scope, stream: stream.unary("half", BID, lambda context: lambda rows, output: 0),
        OperatorError,
        r"the constructor of operator 'half' on worker [01] raised TypeError: .*; it is called with the context and a",
    ),
}
FED: dict[str, tuple[Callable[..., Any], type[Exception], str]] = {
    "wrong column": (
        lambda worker, handle: handle.send({"auction": [1], "prize": [2], "channel": ["web"]}),
        SchemaError,
        r"cannot send on operator 'bids' output 0 on worker [01]: .*'price' is missing and 'prize' is too much",
    ),
    "text as a number": (
        lambda worker, handle: handle.send(ROWS | {"auction": ["1"] * 10}),
        SchemaError,
        r"operator 'bids' .* on worker [01]: column 'auction' has dtype <U1, expected int64; declare it as 'string'",
    ),
    "nothing where no nulls are declared": (
        lambda worker, handle: handle.send(ROWS | {"price": [None] * 10}),
        SchemaError,
        r"operator 'bids' .* on worker [01]: column 'price' .*; make it int64\? or fill them",
    ),
    "a time that is text": (
        lambda worker, handle: handle.advance_to("5s"),
        TokenError,
        r"cannot advance operator 'bids' output 0 on worker [01] to '5s': a time is an integer, such as ns",
    ),
    "later than it was promised": (
        _too_early,
        TimeRegressionError,
        r"cannot advance operator 'bids' output 0 on worker [01] from 7 back to 3: an input only moves to later times",
    ),
}


def _run(body: Callable[..., Any], feed: Callable[..., Any]) -> None:
    def program(worker: Worker) -> None:
        with worker.dataflow("newcomer's") as scope:
            handle, stream = scope.new_input(BID, "bids")
            body(worker, scope, stream)
        feed(worker, handle)
        handle.send(ROWS)

    execute(program, workers=2)


@pytest.mark.parametrize("mistake", MISTAKES)
def test_in_a_dataflow(mistake: str, capfd: pytest.CaptureFixture[str]) -> None:
    body, kind, said = MISTAKES[mistake]
    with pytest.raises(kind, match=said) as caught:
        _run(body, lambda worker, handle: None)
    assert "\n" not in str(caught.value)
    assert capfd.readouterr().err == "", "nothing else is said, of lost tokens above all"


@pytest.mark.parametrize("mistake", FED)
def test_at_an_input(mistake: str) -> None:
    feed, kind, said = FED[mistake]
    with pytest.raises(kind, match=said):
        _run(lambda worker, scope, stream: None, feed)
