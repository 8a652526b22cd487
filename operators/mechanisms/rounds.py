"""Rounds: what an operator that remembers keeps in a loop: its state by epoch, fed a finished round at a time."""

from collections.abc import Callable
from typing import Any

from sortedcontainers import SortedDict

from tokenring.engine import MAX_TIME, Batch, InputPort, OperatorContext, OutputPort, Token
from tokenring.operators.mechanisms.logic import Answer


class _Part:
    """One worker's state for one time of the surrounding scope, and the rounds of it that wait."""

    __slots__ = ("answer", "waiting")

    def __init__(self, answer: Answer) -> None:
        self.answer = answer
        self.waiting: SortedDict = SortedDict()  # round -> (token, batches)


def by_rounds(make: Callable[[], Answer]) -> Callable[..., Callable[..., None]]:
    """The constructor of an operator in a loop: of each epoch (all coordinates but the round), `make()` gives the
    function that is called once for each round with rows, in the rounds' order, with all of them.

    Messages of several epochs come in any order, and a later round's before an earlier one's, where they come from
    several workers. So rows wait, with a token, until their round is finished: answers then depend on no schedule. An
    epoch's state goes once no round of it can come any more.
    """

    def construct(context: OperatorContext, token: Token) -> Callable[[InputPort, OutputPort], None]:
        token.drop()
        parts: dict[Any, _Part] = {}
        context.inspectable(lambda: {"epochs": len(parts)})

        def logic(rows: InputPort, output: OutputPort) -> None:
            for reference, batch in rows:
                *outer, at_round = reference.time
                epoch = tuple(outer)
                part = parts.get(epoch)
                if part is None:
                    part = parts[epoch] = _Part(make())
                if at_round not in part.waiting:
                    part.waiting[at_round] = (reference.retain(), [])
                part.waiting[at_round][1].append(batch.copy())
            for epoch, part in list(parts.items()):
                waiting = part.waiting
                while waiting and rows.finished((*epoch, waiting.peekitem(0)[0])):
                    held, batches = waiting.popitem(0)[1]
                    output.give(held, part.answer(Batch.concatenate(batches)))
                    held.drop()
                if not waiting and rows.finished((*epoch, MAX_TIME)):
                    del parts[epoch]

        return logic

    return construct
