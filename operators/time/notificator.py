"""Notificator and Stash: tokens, or rows with tokens, kept by time until nothing can arrive at it any more.

What most operators that wait do by hand. Both work at integer times and in loops, where times that are finished come in
an order that never puts a later one before an earlier one.
"""

from collections.abc import Iterator
from typing import Any

from sortedcontainers import SortedDict

from tokenring.engine import Batch, InputPort, Token, TokenRef, UsageError


class Notificator:
    """Gives tokens back when their times are finished: `notify_at(token)` asks, `for token in finished(input, …)` is
    told. For one worker's operator, whose policy is IF_TOKEN or ALWAYS. Memory: a token a time.
    """

    def __init__(self) -> None:
        self._tokens: SortedDict = SortedDict()  # time -> token

    def notify_at(self, token: Token) -> None:
        """Ask to be told once the token's time is finished. It is the notificator's from here on; of several at one
        time the first is kept. UsageError for what is no token.
        """
        if not isinstance(token, Token):
            raise UsageError(f"notify_at takes a token, such as reference.retain(), not {type(token).__name__}")
        if self._tokens.setdefault(token.time, token) is not token:
            token.drop()

    def finished(self, *inputs: InputPort) -> Iterator[Token]:
        """The tokens of times that are finished at all these inputs, in order of time, those included that are asked
        for meanwhile. Each is dropped behind its turn of the loop; `clone` it to keep the right.
        """
        while (time := _first_finished(self._tokens, inputs)) is not None:
            token = self._tokens.pop(time)
            try:
                yield token
            finally:
                if token.live:
                    token.drop()

    def __len__(self) -> int:
        return len(self._tokens)


class Stash:
    """Rows kept by the time of their message until it is finished, then given out, all of a time as one batch, in order
    of time. For one worker's operator, whose policy is IF_TOKEN or ALWAYS. Memory: the rows, and a token a time.
    """

    def __init__(self) -> None:
        self._kept: SortedDict = SortedDict()  # message's time -> (token, batches)

    def add(self, reference: TokenRef, batch: Batch, output: int = 0) -> None:
        """Keep a copy of a message's rows, and the right to answer it at `output`. UsageError for no reference."""
        if not isinstance(reference, TokenRef):
            raise UsageError(
                f"a stash takes a message's reference and its batch, as inputs give, not {type(reference).__name__}"
            )
        kept = self._kept.get(reference.time)
        if kept is None:
            kept = self._kept[reference.time] = (reference.retain(output), [])
        kept[1].append(batch.copy())

    def finished(self, *inputs: InputPort) -> Iterator[tuple[Token, Batch]]:
        """The rows of times that are finished at all these inputs, with the token of each time, which is dropped behind
        its turn of the loop; `clone` it to keep the right.
        """
        while (time := _first_finished(self._kept, inputs)) is not None:
            token, batches = self._kept.pop(time)
            try:
                yield token, Batch.concatenate(batches)
            finally:
                if token.live:
                    token.drop()

    def __len__(self) -> int:
        return len(self._kept)


def _first_finished(by_time: SortedDict, inputs: tuple[InputPort, ...]) -> Any:
    """The least time that is finished at all inputs, None if there is none. Where times are integers, it is the first
    or none.
    """
    if not inputs:
        raise UsageError("finished takes the inputs at which times are to be finished: finished(input, ...)")
    for time in by_time:
        if all([port.finished(time) for port in inputs]):
            return time
        if time.__class__ is int:
            break
    return None
