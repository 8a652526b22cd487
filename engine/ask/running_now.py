"""What a worker's inner loop does at this moment, seen from another process: its shared line says it.

It is read in the worker's memory, as debuggers read: the worker is not asked, and does not notice.
"""

import os
import re
from contextlib import suppress
from typing import NamedTuple

from tokenring.engine.bridge import LABEL_BYTES
from tokenring.engine.native import IN_EXCHANGE, IN_LOOP, IN_WAIT
from tokenring.shm.memory import NAME_PREFIX, SHM_FOLDER, WORKER_RUNNING, line_in

_SEGMENT = re.compile(rf"^([0-9a-f]+)-\S+ rw-s 0+ .*{re.escape(SHM_FOLDER + NAME_PREFIX)}\S+( \(deleted\))?$", re.M)


class Doing(NamedTuple):
    """What the loop does: it runs a compiled operator (its name and dataflow, the file and line of its logic), or
    something else."""

    what: str
    file: str = ""
    line: int = 0


LOOP, EXCHANGE, WAIT = Doing("the loop itself"), Doing("an exchange of progress"), Doing("waiting for work")
_OTHERWISE = {IN_LOOP: LOOP, IN_EXCHANGE: EXCHANGE, IN_WAIT: WAIT}


def segments_of(process: int) -> list[int]:
    """Where a process maps groups' segments. Raises ProcessLookupError once it has ended."""
    try:
        with open(f"/proc/{process}/maps", encoding="utf-8", errors="replace") as file:
            return [int(mapped[1], 16) for mapped in _SEGMENT.finditer(file.read())]
    except FileNotFoundError:
        raise ProcessLookupError(f"process {process} has ended") from None


class RunningNow:
    """One worker process, to be looked at again and again."""

    def __init__(self, process: int) -> None:
        self._process = process
        self._memory = -1
        self._address = 0
        self._labels = dict[int, Doing | None]()

    def look(self) -> Doing | None:
        """What its inner loop does; None while it is not in there. Raises PermissionError if we may not look,
        ProcessLookupError once it has ended."""
        if self._memory < 0:
            try:
                self._memory = os.open(f"/proc/{self._process}/mem", os.O_RDONLY | os.O_CLOEXEC)
            except FileNotFoundError:
                raise ProcessLookupError(f"process {self._process} has ended") from None
        if self._address == 0:
            self._address = self._find()
            if self._address == 0:
                return None
        word = int.from_bytes(self._read(self._address, 8), "little")
        if word in _OTHERWISE or word == 0:
            return _OTHERWISE.get(word)
        if word not in self._labels:
            self._labels[word] = self._label(word)
        return self._labels[word]

    def close(self) -> None:
        """Look no more."""
        if self._memory >= 0:
            os.close(self._memory)
        self._memory = -1

    def _find(self) -> int:
        """Where the word is; 0 while the worker has not said that it is one."""
        for base in segments_of(self._process):
            with suppress(ValueError):  # it is being made
                line = line_in(self._read, base, self._process)
                if line:
                    return line + 8 * WORKER_RUNNING
        return 0

    def _label(self, address: int) -> Doing | None:
        with suppress(ValueError):
            told = self._read(address, LABEL_BYTES).split(b"\0", 1)[0].decode(errors="replace")
            what, file, line = told.rsplit("\n", 2)
            return Doing(what, file, int(line))
        return None

    def _read(self, address: int, count: int) -> bytes:
        try:
            found = os.pread(self._memory, count, address)
        except OSError as error:
            raise ValueError(f"no memory at {address:#x}: {error.strerror}") from error
        if not found:
            raise ProcessLookupError(f"process {self._process} has ended")
        return found
