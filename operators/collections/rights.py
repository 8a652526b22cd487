"""The rights of an operator that answers later: tokens at as few times as will do."""

from collections.abc import Iterable

from tokenring.engine import Token, TokenRef
from tokenring.engine.times import NestedTime, coordinates, from_coordinates, less_equal


class Rights:
    """Tokens at incomparable times. Times are tuples here, in the root scope of one coordinate."""

    def __init__(self) -> None:
        self.tokens: list[Token] = []

    def keep(self, reference: TokenRef) -> None:
        """Be able to answer a message at its time and later."""
        if any([less_equal(token.time, reference.time) for token in self.tokens]):
            return
        for token in [token for token in self.tokens if less_equal(reference.time, token.time)]:
            self.tokens.remove(token)
            token.drop()
        self.tokens.append(reference.retain())

    def keep_only(self, times: Iterable[NestedTime]) -> None:
        """Give up whatever is not needed to answer at these times, which are incomparable."""
        wanted = [from_coordinates(time) for time in times]
        there = {token.time: token for token in self.tokens}
        if wanted == list(there):
            return
        kept: list[Token] = []
        for time in wanted:
            token = there.get(time)
            if token is None:
                token = next(token for token in self.tokens if less_equal(token.time, time)).clone()
                token.downgrade(time)
            kept.append(token)
        for token in self.tokens:
            if token not in kept:
                token.drop()
        self.tokens = kept

    @property
    def times(self) -> list[NestedTime]:
        """Where the tokens stand."""
        return [coordinates(token.time) for token in self.tokens]
