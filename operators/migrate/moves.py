"""What an operator says of its keyed state where bins move: which tables it is, taken out and put in as columns."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from tokenring.engine import Batch, Exchange, OperatorBuilder, Pact, Schema, Time
from tokenring.operators.migrate.bins import Leaving

DUE = Schema("due")
"""Of the messages that bring the right to send what became pending when state was put in."""


@dataclass(frozen=True)
class Staying(Exchange):
    """An exchange whose rows go where they would in a dataflow without bins, and the state that is kept by its key
    stays there: for an operator that cannot say how its state moves. All of an operator's exchanges stay, or none."""


def staying(pact: Pact | None) -> Pact | None:
    """The same pact, but one that stays if it is an exchange."""
    return Staying(pact.key, pact.columns, pact.key_crosses) if isinstance(pact, Exchange) else pact


class Table(NamedTuple):
    """One of the tables that state is while it moves."""

    schema: Schema
    key: tuple[str, ...]
    """Its columns of the operator's key, of the kinds and in the order that the exchange has."""


class Moves(Protocol):
    """One worker's state of an operator, as bins leave it and come to it. Both are called between two runs of the
    operator, when all rows of earlier times have been taken, and what was due before is sent."""

    def take_out(self, leaving: Leaving) -> Sequence[Batch]:
        """Forget what is kept of the keys that leave, and return it: a batch for each table, be it without rows."""

    def put_in(self, tables: Sequence[Batch]) -> Time:
        """Keep what others took out, a batch for each table; nothing is kept of its keys so far. The batches' memory
        is the caller's: copy. Returns the least time at which output becomes pending by it, COMPLETE if at none: the
        operator is then given the right to send at it, by a message of DUE."""


class Offered(list[Moves]):
    """What the constructors of one operator offered, on this worker."""


_offering: list[Offered] = []


@contextmanager
def offers_to(offered: Offered) -> Iterator[None]:
    """Let what constructors offer within the block be noted there."""
    _offering.append(offered)
    try:
        yield
    finally:
        _offering.pop()


def hears_of_ends(builder: OperatorBuilder[Any]) -> None:
    """Say of an operator, before its inputs, that it goes by frontiers for one thing alone: whether its rows have all
    come (COMPLETE). Until then it holds back what is behind it. Where state moves it is told so of each input by
    itself, while rows of others still come, and state of bins may yet arrive, of which its `put_in` is called."""
    if hasattr(builder, "hears_of_ends"):
        builder.hears_of_ends()


def offer(moves: Moves) -> None:
    """Say, in an operator's constructor, how its state moves. Where no state moves it means nothing."""
    if _offering:
        _offering[-1].append(moves)


def state_moves(builder: OperatorBuilder[Any], tables: Sequence[Table] = (), pends: bool = False) -> bool:
    """Say of an operator that is being declared, behind its inputs and before `build`, of which tables its state is as
    it moves: none, if it keeps nothing by key. Its constructor is to `offer` it.

    pends: whether what is put in may have output pending. Where state moves, the operator then has one more input,
    behind all others, whose messages (DUE) bring the right to send what became pending: a row with the least time.
    Returns whether it has. Where no state moves all this means nothing.
    """
    declared = getattr(builder, "state_moves", None)
    return declared is not None and bool(declared(tuple(tables), pends))
