"""Dropping a dataflow while others run: first no operator of it runs anywhere, then its tokens and messages go.

In that order, since a token that is dropped says that nothing more comes: an operator that saw the frontier pass would
take half of the rows for all of them, and a sink would publish it.
"""

from collections.abc import Callable

from tokenring.engine.data import InputPort, Runtime
from tokenring.engine.explain.why import live_tokens, tokens_of
from tokenring.engine.native import discard
from tokenring.engine.running import RunningDataflow, Schedule


def cancel(
    dataflow: RunningDataflow, runtime: Runtime, schedule: Schedule, barrier: Callable[[], object],
    flush: Callable[[], None],
) -> None:
    """End a dataflow on this worker and, once they call it too, on all others: `barrier` waits for them, `flush`
    publishes what changed.
    """
    logics = [operator.logic for operator in dataflow.operators]  # which hold tokens that would else be lost
    for operator in dataflow.operators:
        if not operator.is_relay:
            operator.logic, operator.ports = _discard, operator.inputs
            operator.view = None
        if operator.compiled >= 0:
            runtime.world.cancel(operator.compiled, discard.address)
    barrier()
    if dataflow.done:
        return
    for handle in dataflow.inputs:
        handle.close()
    for token, _, _ in tokens_of(dataflow, live_tokens()):
        token.drop()
    for operator in dataflow.operators:
        if operator.compiled >= 0:
            for slot, output, time in runtime.world.held_by(operator.compiled):
                runtime.log.add(int(runtime.world.outputs["location"][output]), time, -1)
                runtime.world.cancel_token(slot)
    del logics
    for operator in dataflow.operators:
        if not operator.is_relay:
            schedule.make_due(operator)  # for what waits at its inputs, and to let go of the right to be told
    flush()


def _discard(*inputs: InputPort) -> None:
    """The logic of every operator of a dataflow that was cancelled."""
    for port in inputs:
        for _ in port:
            pass
