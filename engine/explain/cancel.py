"""Dropping a dataflow while others run: first no operator of it runs anywhere, then its tokens and messages go.

In that order, since a token that is dropped, or a message that is thrown away, says that nothing more comes of it: an
operator that saw the frontier pass would take half of the rows for all of them, and a sink would publish it.

One that is cancelled and one of which an operator raised are dropped alike, but for who waits for the others between
the two parts. Each worker stops at an instant of its own, and where an operator raised, in the middle of a call: that
call took messages that it did not answer, and dropped tokens with which it did not send all. All of that is in the log
and was not published, since nothing is within a call. What `stop` does to the log makes good for it: at whatever time
and place of the dataflow the log has less than was published, it gets as much as that again, which is *owed* from then
on. So

- what is published gives up nothing of this dataflow, and no frontier in it moves for what this worker did since it
  published last: whoever runs it still waits;
- what the call sent is published, as counted, with all that supported it;
- nothing is published later that gives something up, but where a row that waited for room goes out, since no operator
  runs and no message is taken; the tokens that the call, or a logic, left somewhere are kept alive, and those of its
  manual inputs, which are closed to who feeds them. Outputs have no edges any more, so what was on its way through
  stages, or around a loop, comes nowhere: it was not counted yet, or a token stood for it, which is owed.

Once all workers have stopped nobody looks at frontiers any more, and `let_go` says what is owed, drops the tokens and
throws away the messages: all counts come to zero.

Where a run is stopped (engine/explain/left_open.py), operators that are to end with what they were given, sinks, go on
running in between: they are the only ones that see the frontiers of what was let go, and their tokens are their own.
"""

from collections import Counter
from collections.abc import Callable, Collection

from tokenring.engine.data import InputPort, Runtime
from tokenring.engine.explain.why import live_tokens, tokens_of
from tokenring.engine.native import discard, leave_waiting
from tokenring.engine.running import Phase, RunningDataflow, RunningOperator, Schedule


def cancel(
    dataflow: RunningDataflow, runtime: Runtime, schedule: Schedule, barrier: Callable[[], object],
    flush: Callable[[], None],
) -> None:
    """End a dataflow on this worker and, once they call it too, on all others: `barrier` waits for them, `flush`
    publishes what changed.
    """
    stop(dataflow, runtime, schedule)
    barrier()
    let_go(dataflow, runtime, schedule, flush)


def stop(
    dataflow: RunningDataflow, runtime: Runtime, schedule: Schedule, but: Collection[RunningOperator] = ()
) -> None:
    """Let no operator of a dataflow run any more on this worker, `but` some, no stage, and nobody who feeds an input of
    it, nor say that anything is done with. Once more does no harm.
    """
    runtime.lost.release()
    if dataflow.phase is not Phase.RUNS or dataflow.done:
        return
    given_up: Counter[tuple[int, tuple[int, ...]]] = Counter()
    _, _, first, count = dataflow.numbers
    for location, time, delta in runtime.log.in_hand():
        if first <= location < first + count:
            given_up[location, time] -= delta
    for (location, time), times in given_up.items():
        if times > 0:
            runtime.log.add(location, time, times)
            dataflow.owed.append((location, time, times))
    dataflow.owed += [(location, time, 1) for location, time in runtime.world.take_back(first, count)]
    dataflow.phase = Phase.STOPPED
    logics = [operator.logic for operator in dataflow.operators]
    fed = [handle.surrender() for handle in dataflow.inputs if not handle.closed]
    dataflow.kept = logics, fed, tokens_of(dataflow, live_tokens())
    stopped = [operator for operator in dataflow.operators if operator not in but]
    _run_instead(stopped, runtime, _leave_waiting, leave_waiting.address)
    for operator in stopped:
        for port in operator.outputs:
            port.channels.clear()
    _make_all_due(dataflow, schedule)  # a call that did not end is not to leave views into bytes that are reused


def halt(operator: RunningOperator, runtime: Runtime) -> Callable[..., None]:
    """Let one operator run no more, nor take anything; its logic, for the caller to keep while its tokens are to live.
    """
    logic = operator.logic
    _run_instead([operator], runtime, _leave_waiting, leave_waiting.address)
    return logic


def let_go(
    dataflow: RunningDataflow, runtime: Runtime, schedule: Schedule, flush: Callable[[], None],
    but: Collection[RunningOperator] = (),
) -> None:
    """Drop tokens and messages of a dataflow of which no operator runs on any worker, `but` those that did when it was
    stopped. Once more does no harm."""
    if dataflow.done:
        return
    stopped = [operator for operator in dataflow.operators if operator not in but]
    _run_instead(stopped, runtime, _discard, discard.address)
    locations = {port.location for operator in stopped for port in operator.outputs}
    for token, location, _ in tokens_of(dataflow, live_tokens()):
        if location in locations:
            token.drop()
    for operator in stopped:
        if operator.compiled >= 0:
            for slot, output, time in runtime.world.held_by(operator.compiled):
                runtime.log.add(int(runtime.world.outputs["location"][output]), time, -1)
                runtime.world.cancel_token(slot)
    while dataflow.owed:
        location, coordinates, times = dataflow.owed.pop()
        runtime.log.add(location, coordinates, -times)
    dataflow.phase, dataflow.kept = Phase.LET_GO, None
    _make_all_due(dataflow, schedule)  # for what waits at its inputs, and to let go of the right to be told
    flush()


def _run_instead(
    operators: Collection[RunningOperator], runtime: Runtime, logic: Callable[..., None], address: int
) -> None:
    """Let operators run this logic, of compiled ones that at this address."""
    for operator in operators:
        if not operator.is_relay:
            operator.logic, operator.ports = logic, operator.inputs
            operator.view = None
        if operator.compiled >= 0:
            runtime.world.cancel(operator.compiled, address)


def _make_all_due(dataflow: RunningDataflow, schedule: Schedule) -> None:
    for operator in dataflow.operators:
        if not operator.is_relay:
            schedule.make_due(operator)


def _leave_waiting(*_: InputPort) -> None:
    """The logic of every operator of a dataflow that has stopped, while others may still run."""


def _discard(*inputs: InputPort) -> None:
    """The logic of every operator of a dataflow that has stopped on all workers."""
    for port in inputs:
        for _ in port:
            pass
