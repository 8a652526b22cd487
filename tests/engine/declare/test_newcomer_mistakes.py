"""What a newcomer gets wrong, on two real workers: each error names operator, worker and cure; a run that hangs says
why.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import numpy as np
import pytest

from tests.errors import Fact, raises
from tokenring.engine import (
    Exchange,
    GraphError,
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
    arrange,
    branch,
    col,
    flat_map_rows,
    from_generator,
    interval_join,
    iterate,
    join,
    look_up,
    map_batches,
    map_rows,
    running_average,
    scan,
    temporal_join,
    to_json_lines,
)

BID = Schema("auction price", channel="string")
ROWS = {"auction": range(10), "price": range(10), "channel": ["web"] * 10}
HERE = f"at {__file__}:"
WORKER = {"worker 0", "worker 1"}


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


AT_HALVED = f"{HERE}{_halved.__code__.co_firstlineno + 1} in _halved"


def _takes_rows(rows: Any) -> None:
    """A logic for a sink."""


def _different(worker: Worker, scope: Scope, stream: Stream) -> None:
    key = ("auction", "price")[worker.index]
    stream.sink("count", lambda context: lambda rows: None, Exchange(key), Notify.NEVER)


def _too_early(worker: Worker, handle: Any) -> None:
    handle.advance_to(7)
    handle.advance_to(3)


MISTAKES: dict[str, tuple[Callable[..., Any], type[Exception], Fact]] = {
    "wrong column of a library operator": (
        lambda worker, scope, stream: running_average(stream, "aution", "price"),
        SchemaError,
        (WORKER, "operator 'running_average'", "column 'aution'", "auction, price, channel", "did you mean 'auction'"),
    ),
    "a method of a stream": (
        lambda worker, scope, stream: stream.where(col("price") > 3),
        NoSuchMethodError,
        (WORKER, "Stream has no 'where'", "where(stream, ...)", "stream.pipe(where, ...)"),
    ),
    "a number for a window": (
        lambda worker, scope, stream: aggregate(stream, window=10, n=Count()),  # type: ignore[call-overload]
        SchemaError,
        (WORKER, "operator 'aggregate'", "Tumbling('time', '1h')", "not 10"),
    ),
    "a stream for a scope": (
        lambda worker, scope, stream: from_generator(stream, BID, lambda worker, peers: []),  # type: ignore[arg-type]
        UsageError,
        (WORKER, "source 'from_generator'", "scope, which comes first", "as scope", "not in a Stream"),
    ),
    "a string for a Roll": (
        lambda worker, scope, stream: to_json_lines(stream, "none", roll="1h"),  # type: ignore[arg-type]
        UsageError,
        (WORKER, "operator 'to_json_lines'", "roll=Roll('1h')", "not '1h'"),
    ),
    "a column's name for a condition": (
        lambda worker, scope, stream: branch(stream, "price"),  # type: ignore[arg-type]
        UsageError,
        (WORKER, "operator 'branch'", "col('price')", "function of the batch", "not 'price'"),
    ),
    "a list for times": (
        _pass_on(lambda token, reference, batch, output: output.give_each(reference, batch, [1] * 10)),
        OperatorError,
        (WORKER, "TokenError", "operator 'pass on' output 0", "give_each", "each row", "int64", "ascending", "sort"),
    ),
    "text as the times of a sink": (
        lambda worker, scope, stream: to_json_lines(stream, "none", roll=Roll("1h", time="channel")),
        SchemaError,
        (WORKER, "operator 'to_json_lines'", "roll", "int64, uint64, timestamp", "'channel' is string"),
    ),
    "one pact for two inputs": (
        lambda worker, scope, stream: stream.binary(stream, "both", BID, _takes_rows, Exchange("price")),
        GraphError,
        (WORKER, "operator 'both'", "one for each input", "not Exchange("),
    ),
    "one pact of two inputs": (
        lambda worker, scope, stream: stream.binary(stream, "both", BID, _takes_rows, (Exchange("price"),)),
        GraphError,
        (WORKER, "operator 'both'", "one for each input", "not (Exchange("),
    ),
    "a function as a key": (
        lambda worker, scope, stream: stream.unary("by", BID, _takes_rows, Exchange(_takes_rows)),  # type: ignore[arg-type]
        GraphError,
        (WORKER, "operator 'by'", "Exchange(key)", "Route(to)", "function of the batch"),
    ),
    "text as a schema": (
        lambda worker, scope, stream: stream.unary("half", "price", _takes_rows),
        SchemaError,
        (WORKER, "operator 'half' output 0", "Schema('id'", "not 'price'"),
    ),
    "a word for notify": (
        lambda worker, scope, stream: stream.unary("half", BID, _takes_rows, None, "sometimes"),
        GraphError,
        (WORKER, "operator 'half'", "never, if_token, always", "not 'sometimes'"),
    ),
    "a number for a name": (
        lambda worker, scope, stream: stream.unary(5, BID, _takes_rows),
        GraphError,
        (WORKER, "name of an operator", "text", "not 5"),
    ),
    "a number for a dataflow's name": (
        lambda worker, scope, stream: worker.new_scope(5),
        GraphError,
        (WORKER, "name of a dataflow", "text", "not 5"),
    ),
    "a loop's body that returns one stream": (
        lambda worker, scope, stream: iterate(stream, lambda rows: rows),
        GraphError,
        (WORKER, "operator 'iterate'", "returns two streams", "not Stream("),
    ),
    "a loop's body that returns nothing": (
        lambda worker, scope, stream: iterate(stream, lambda rows: None),
        GraphError,
        (WORKER, "operator 'iterate'", "returns two streams", "not None"),
    ),
    "a number for a stream": (
        lambda worker, scope, stream: stream.binary(5, "both", BID, _takes_rows),
        GraphError,
        (WORKER, "operator 'both'", "5 is no stream"),
    ),
    "a number for a stream to join": (
        lambda worker, scope, stream: join(stream, 5, on="price"),
        GraphError,
        (WORKER, "operator 'join'", "5 is no stream"),
    ),
    "a number for a stream to join within times": (
        lambda worker, scope, stream: interval_join(
            stream, 5, on="price", left_time="price", right_time="price", lower=0, upper=1
        ),
        GraphError,
        (WORKER, "operator 'interval_join'", "5 is no stream"),
    ),
    "a number for versions": (
        lambda worker, scope, stream: temporal_join(stream, 5, on="price", time="price", version_time="price"),
        GraphError,
        (WORKER, "operator 'temporal_join'", "5 is no stream"),
    ),
    "a number for a stream to look at": (
        lambda worker, scope, stream: scope.probe(5),
        GraphError,
        (WORKER, "a probe", "5 is no stream"),
    ),
    "what arrange gives for a table": (
        lambda worker, scope, stream: look_up(stream, "price", arrange(stream, "price", "auction"), "found"),
        GraphError,
        (WORKER, "operator 'look_up'", "is no stream", "unpack it"),
    ),
    "a schema before the function": (
        lambda worker, scope, stream: scan(stream, "price", BID, _takes_rows),
        UsageError,
        (WORKER, "operator 'scan'", "function, and then the schema", "Schema('total')"),
    ),
    "a number for a throttle": (
        lambda worker, scope, stream: from_generator(scope, BID, list, throttle=5),
        UsageError,
        (WORKER, "source 'from_generator'", "Throttle(...)", "not 5"),
    ),
    "rows that are returned, not yielded": (
        lambda worker, scope, stream: from_generator(scope, BID, lambda: ROWS),
        OperatorError,
        (WORKER, "source 'from_generator'", "returned dict", "yield"),
    ),
    "a row where rows are returned": (
        lambda worker, scope, stream: flat_map_rows(stream, BID, lambda row: row),
        OperatorError,
        (WORKER, "operator 'flat_map_rows'", "SchemaError", "returned {'auction': 0", "list", "[] for none"),
    ),
    "no rows where rows are returned": (
        lambda worker, scope, stream: flat_map_rows(stream, BID, lambda row: None),
        OperatorError,
        (WORKER, "operator 'flat_map_rows'", "SchemaError", "returned None", "[] for none"),
    ),
    "texts where rows are returned": (
        lambda worker, scope, stream: flat_map_rows(stream, BID, lambda row: ["web"]),
        OperatorError,
        (WORKER, "operator 'flat_map_rows'", "SchemaError", "returned 'web' for a row", "mapping of columns"),
    ),
    "no row where one is returned": (
        lambda worker, scope, stream: map_rows(stream, BID, lambda row: None),
        OperatorError,
        (WORKER, "operator 'map_rows'", "SchemaError", "returned None for a row", "mapping of columns"),
    ),
    **{
        f"ns for a time, {said}": (
            lambda worker, scope, stream, wrong=wrong: map_rows(stream, BID, lambda row: wrong(row["price"])),
            OperatorError,
            (WORKER, "operator 'map_rows'", said, "ints of ns since 1970", "timedelta(microseconds=ns // 1000)"),
        )
        for said, wrong in {
            "no attribute 'hour'": lambda ns: ns.hour,
            "'int' and 'datetime.datetime'": lambda ns: ns > datetime(2026, 1, 1),
            "'datetime.datetime' and 'int'": lambda ns: datetime(2026, 1, 1) - ns,
            "'int' and 'datetime.timedelta'": lambda ns: ns + timedelta(1),
            "DateTime64DType": lambda ns: ns > np.datetime64("2026-01-01"),
        }.items()
    },
    "a session without a token": (
        _pass_on(lambda token, reference, batch, output: output.session(None).__enter__()),
        OperatorError,
        (WORKER, "operator 'pass on' output 0", "cannot send without a token", "not None"),
    ),
    "a time that is text, of what is sent": (
        _pass_on(lambda token, reference, batch, output: output.give(reference, batch, "5s")),
        OperatorError,
        (WORKER, "TokenError: operator 'pass on' output 0", "a time is an integer", "ns since 1970", "'5s'"),
    ),
    "a fraction, to downgrade to": (
        _pass_on(lambda token, reference, batch, output: token.downgrade(1.0)),
        OperatorError,
        (WORKER, "cannot downgrade a token of operator 'pass on' output 0", "a time is an integer", "1.0"),
    ),
    "wrong key": (
        lambda worker, scope, stream: stream.sink("count", lambda context: lambda rows: None, Exchange("acution")),
        SchemaError,
        (WORKER, "operator 'count'", "key 'acution'", "auction, price, channel", "did you mean 'auction'"),
    ),
    "wrong column of a batch": (
        lambda worker, scope, stream: map_batches(stream, BID, lambda batch: batch["prize"]),
        OperatorError,
        (WORKER, "operator 'map_batches'", "column 'prize'", "did you mean 'price'", HERE, "in <lambda>"),
    ),
    "wrong dtype": (
        _pass_on(_halved),
        OperatorError,
        (WORKER, "operator 'pass on'", "SchemaError", "column 'price'", "float64", "int64", ".astype", AT_HALVED),
    ),
    "send without a token": (
        _pass_on(lambda token, reference, batch, output: output.give(None, batch)),
        OperatorError,
        (WORKER, "operator 'pass on' output 0", "Token", "TokenRef", "not None", HERE, "in <lambda>"),
    ),
    "send with a token that was dropped": (
        _pass_on(_dropped),
        OperatorError,
        (WORKER, "DroppedTokenError", "operator 'pass on' output 0", "time 10", "after the last use", "retain()"),
    ),
    "send before the token's time": (
        _pass_on(lambda token, reference, batch, output: output.give(token, batch, time=3)),
        OperatorError,
        (WORKER, "TimeRegressionError", "operator 'pass on' output 0", "token at 10", "at 3", "early enough"),
    ),
    "two graphs": (
        _different,
        GraphMismatchError,
        ("worker 0", "worker 1", "number 2", "operator 'count'", "Exchange(key='auction'", "Exchange(key='price'"),
    ),
    "an operator that raises": (
        _pass_on(lambda token, reference, batch, output: 1 // int(batch["price"][0] * 0)),
        OperatorError,
        (WORKER, "operator 'pass on'", "ZeroDivisionError", HERE, "in <lambda>"),
    ),
    "a logic without its output": (
        lambda worker, scope, stream: stream.unary("half", BID, lambda _, token: token.drop() or _takes_rows),
        OperatorError,
        (WORKER, "operator 'half'", "TypeError", "logic", "1 input(s)", "1 output(s)"),
    ),
    "a constructor without its token": (
        lambda worker, scope, stream: stream.unary("half", BID, lambda context: lambda rows, output: 0),
        OperatorError,
        (WORKER, "constructor of operator 'half'", "TypeError", "context", "token", "1 output(s)"),
    ),
}
FED: dict[str, tuple[Callable[..., Any], type[Exception], Fact]] = {
    "wrong column": (
        lambda worker, handle: handle.send({"auction": [1], "prize": [2], "channel": ["web"]}),
        SchemaError,
        (WORKER, "operator 'bids' output 0", "'price' is missing", "'prize' is too much"),
    ),
    "text as a number": (
        lambda worker, handle: handle.send(ROWS | {"auction": ["1"] * 10}),
        SchemaError,
        (WORKER, "operator 'bids' output 0", "column 'auction'", "<U1", "int64", "'string'"),
    ),
    "nothing where no nulls are declared": (
        lambda worker, handle: handle.send(ROWS | {"price": [None] * 10}),
        SchemaError,
        (WORKER, "operator 'bids' output 0", "column 'price'", "nulls", "int64?", "fill"),
    ),
    "a time that is text": (
        lambda worker, handle: handle.advance_to("5s"),
        TokenError,
        (WORKER, "operator 'bids' output 0", "'5s'", "integer", "ns"),
    ),
    "a time that is no integer": (
        lambda worker, handle: handle.advance_to(1.5),
        TokenError,
        (WORKER, "cannot advance operator 'bids' output 0 on", "1.5", "a time is an integer"),
    ),
    "times for a time": (
        lambda worker, handle: handle.advance_to(np.array([1, 2])),
        TokenError,
        (WORKER, "cannot advance operator 'bids' output 0 on", "[1, 2]", "a time is an integer"),
    ),
    "no function to step by": (
        lambda worker, handle: worker.step_while(not handle.closed),
        UsageError,
        (WORKER, "step_while", "lambda: probe.less_than(3)", "not True"),
    ),
    "later than it was promised": (
        _too_early,
        TimeRegressionError,
        (WORKER, "operator 'bids' output 0", "from 7", "to 3"),
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


@pytest.mark.filterwarnings("ignore::tokenring.operators.RowwiseWarning")
@pytest.mark.parametrize("mistake", MISTAKES)
def test_in_a_dataflow(mistake: str, capfd: pytest.CaptureFixture[str]) -> None:
    body, kind, said = MISTAKES[mistake]
    with raises(kind, said) as caught:
        _run(body, lambda worker, handle: None)
    assert "\n" not in str(caught.value)
    assert capfd.readouterr().err == "", "nothing else is said, of lost tokens above all"


@pytest.mark.parametrize("mistake", FED)
def test_at_an_input(mistake: str) -> None:
    feed, kind, said = FED[mistake]
    with raises(kind, said):
        _run(lambda worker, scope, stream: None, feed)
