"""Texts interned: one word stands for all that are equal, in all arrangements of a worker."""

from tokenring.engine.raw import TextSpace, text_space
from tokenring.operators.state import NumberedTexts, TextStore

_PART_BYTES = 1 << 35  # addresses; memory comes to what is written


class Interned(NumberedTexts):
    """The texts that a worker's arrangements have had; none leaves while the worker lives. Memory: that of
    NumberedTexts."""

    def __init__(self, space: TextSpace) -> None:
        self._store = TextStore()
        store = self._store
        store.base, store.common, self._start = space.address, space.common_words, space.allocate(_PART_BYTES)
        store.at, store.end = self._start, self._start + _PART_BYTES
        super().__init__(store, self._start, in_words=True)

    @property
    def kept_bytes(self) -> int:
        """What they take."""
        return self.table_bytes + int(self._store.at - self._start)

    def make_room(self) -> None:
        """Let there be room for more, where there was none. MemoryError if the system has no more."""
        if self._store.wanted > 0:
            raise MemoryError(f"{self.texts:,} texts of collections take all of {_PART_BYTES:,} bytes")
        self.make_places(1)


_interned: list[Interned] = []


def interned_texts() -> Interned | None:
    """This process's; None where the system has no text space (`ulimit -v`)."""
    space = text_space()
    if space is None:
        return None
    if not _interned:
        _interned.append(Interned(space))
    return _interned[0]
