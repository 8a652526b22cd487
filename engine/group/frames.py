"""Messages on a pipe: each says how long its parts are, so that reading costs what is read, however it is cut."""

import os
import struct
from collections.abc import Generator, Iterator
from typing import Any

from tokenring.engine.group.values import pack, unpack

_WORD = struct.Struct("<Q")
_JOINED_BYTES = 1 << 16  # shorter messages are written at once


def write_message(pipe: int, message: Any) -> None:
    """Write one value (engine/group/values.py), waiting for room as long as it takes. TypeError if it has no form."""
    parts = [memoryview(part) for part in pack(message)]
    lengths = [part.nbytes for part in parts]
    head = b"".join(map(_WORD.pack, [len(parts), *lengths]))
    if sum(lengths) < _JOINED_BYTES:
        _write(pipe, memoryview(b"".join([head, *parts])))
        return
    for part in (memoryview(head), *parts):
        _write(pipe, part.cast("B"))


def _write(pipe: int, data: memoryview) -> None:
    while data:
        data = data[os.write(pipe, data) :]


class MessageReader:
    """The reading end of a pipe that does not block: takes in what has come, in the buffers where it is to stay."""

    def __init__(self, pipe: int) -> None:
        os.set_blocking(pipe, False)
        self.pipe = pipe
        self.ended = False
        """Whether nobody has the writing end any more."""
        self._whole: list[Any] = []
        self._parser = self._parse()
        self._target, self._filled = bytearray(next(self._parser)), 0

    def _parse(self) -> Generator[int, bytearray, None]:
        """Says how many bytes it is to be sent next; what they make goes to `_whole`."""
        while True:
            (count,) = _WORD.unpack((yield _WORD.size))
            lengths = _WORD.iter_unpack((yield count * _WORD.size))
            parts = []
            for (length,) in lengths:
                parts.append((yield length) if length else bytearray())
            self._whole.append(unpack(parts))

    def read(self) -> Iterator[Any]:
        """The messages that are whole by now, as they come."""
        while not self.ended:
            try:
                taken = os.readv(self.pipe, [memoryview(self._target)[self._filled :]])
            except BlockingIOError:
                return
            self.ended = taken == 0
            self._filled += taken
            if self._filled == len(self._target):
                self._target, self._filled = bytearray(self._parser.send(self._target)), 0
                while self._whole:
                    yield self._whole.pop()

    def close(self) -> None:
        """Close the pipe."""
        os.close(self.pipe)
