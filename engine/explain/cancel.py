"""Dropping a dataflow while others run: first no operator of it runs anywhere, then its tokens and messages go.

In that order, since a token that is dropped says that nothing more comes: an operator that saw the frontier pass would
take half of the rows for all of them, and a sink would publish it.
"""

from typing import TYPE_CHECKING

from tokenring.engine.data import InputPort
from tokenring.engine.explain.why import live_tokens, tokens_of

if TYPE_CHECKING:
    from tokenring.engine.running import RunningDataflow
    from tokenring.engine.worker.worker import Worker


def cancel(worker: "Worker", dataflow: "RunningDataflow") -> None:
    """End a dataflow on this worker and, once they call it too, on all others."""
    logics = [operator.logic for operator in dataflow.operators]  # which hold tokens that would else be lost
    for operator in dataflow.operators:
        if not operator.is_relay:
            operator.logic, operator.ports = _discard, operator.inputs
            operator.view = None
    worker.barrier()
    if dataflow.done:
        return
    for handle in dataflow.inputs:
        handle.close()
    for token, _, _ in tokens_of(dataflow, live_tokens()):
        token.drop()
    del logics
    for operator in dataflow.operators:
        if not operator.is_relay:
            worker.schedule(operator)  # for what waits at its inputs, and to let go of the right to be told
    worker.flush()


def _discard(*inputs: InputPort) -> None:
    """The logic of every operator of a dataflow that was cancelled."""
    for port in inputs:
        for _ in port:
            pass
