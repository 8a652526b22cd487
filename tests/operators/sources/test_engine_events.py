"""engine_events: what operators did is what the log says; nothing is touched while nobody reads it."""

from __future__ import annotations

from time import monotonic_ns
from typing import Any

from tokenring.engine import Exchange, Notify, Schema, Worker, execute
from tokenring.engine import Worker as Engine
from tokenring.operators import col, collect, engine_events, with_columns

VALUE = Schema("value")


def test_runs_exchanges_and_sleeps_are_rows() -> None:
    def program(worker: Worker) -> Any:
        spent_ns = 0

        def take(rows: Any) -> None:
            nonlocal spent_ns
            began_ns = monotonic_ns()
            for _ in rows:
                pass
            spent_ns += monotonic_ns() - began_ns

        with worker.dataflow("log") as scope:
            events = collect(engine_events(scope, every_ns=1_000_000))
        with worker.dataflow("work") as scope:
            handle, stream = scope.new_input(VALUE)
            probe = stream.sink("taken", lambda context: take, Exchange("value"), Notify.NEVER)
        began_ns = monotonic_ns()
        for time in range(5):
            handle.send({"value": list(range(20))})
            handle.advance_to(time + 1)
            worker.step_while(lambda time=time: probe.less_than(time + 1))
        worker.run()
        return events.batch().to_arrow().to_pydict(), spent_ns, monotonic_ns() - began_ns

    for index, (told, spent_ns, lasted_ns) in enumerate(execute(program, workers=2)):
        rows = [dict(zip(told, row, strict=True)) for row in zip(*told.values(), strict=True)]
        assert {row["event"] for row in rows} >= {"run", "exchange"}
        assert {row["worker"] for row in rows} == {index}
        runs = [row for row in rows if row["event"] == "run"]
        assert {(row["dataflow"], row["operator"]) for row in runs} == {("work", "taken")}  # not the log's own
        assert sum(row["messages"] for row in runs) == 10  # of both workers, at five times
        assert told["at"] == sorted(told["at"])
        took_ns = sum(row["took_ns"] for row in runs)
        assert spent_ns <= took_ns <= lasted_ns, "a run lasts as long as its logic, and the log's own are none"
        assert 0 < sum(row["took_ns"] for row in rows) <= lasted_ns, "one thing is done after the other"
        assert all(row["operator"] is None for row in rows if row["event"] != "run")
    taken = [sum(row for row, event in zip(told["rows"], told["event"], strict=True) if event == "run")
             for told, _, _ in execute(program, workers=2)]  # fmt: skip
    assert sum(taken) == 5 * 20 * 2


def test_nothing_is_wrapped_while_nobody_reads() -> None:
    def program(worker: Worker) -> Any:
        with worker.dataflow("work") as scope:
            handle, stream = scope.new_input(VALUE)
            collect(with_columns(stream, value=col("value") + 1))
        before = ["_exchange" in vars(worker), worker._park.__func__ is Engine._park, worker.events is None]
        handle.close()
        return before

    assert execute(program, workers=1) == [[False, True, True]]
