"""Faults told to the other workers of a group, by a file of each: rare, so that nothing is spent where there are none.

A row that fails where it comes in may be taken away on another worker, so what one worker knows is not enough. A worker
writes before it tells its progress; so who knows that a time is finished finds all that was written of it.
"""

import os
from collections.abc import Iterable, Sequence
from contextlib import suppress
from io import BufferedWriter
from pathlib import Path

import orjson

from tokenring.engine import OperatorContext
from tokenring.engine.group import group_folder, new_group_file
from tokenring.operators.collections.sharing.faults import Change, Fault, Ledger


class _Peer:
    """The file of another worker, as far as it was read."""

    def __init__(self, path: Path) -> None:
        self._path, self._edition, self._offset = path, b"", 0
        self.ledger = Ledger()

    def read(self) -> Ledger:
        """What it has told of until now."""
        with suppress(FileNotFoundError), self._path.open("rb") as file:
            edition = file.readline()
            if edition != self._edition:  # begun anew
                self._edition, self._offset, self.ledger = edition, len(edition), Ledger()
            file.seek(self._offset)
            lines = file.read()
            whole = lines[: lines.rfind(b"\n") + 1]
            self._offset += len(whole)
            told = [orjson.loads(line) for line in whole.splitlines()]
            self.ledger.add([Change(kind, number, Fault(*fault), *rest) for kind, number, fault, *rest in told])
        return self.ledger


class Told:
    """What the workers of a group tell each other of a dataflow."""

    def __init__(self) -> None:
        self._path: Path | None = None
        self._peers: list[_Peer] = []
        self._file: BufferedWriter | None = None
        self._lock = -1

    def begin(self, dataflow: str, context: OperatorContext) -> None:
        """The dataflow runs on this worker."""
        if context.peers == 1 or self._path is not None:
            return
        folder = group_folder("faults", context.leader)
        paths = [folder / f"{dataflow.encode().hex()[:200]}-{worker}" for worker in range(context.peers)]
        self._path = paths.pop(context.worker_index)
        self._path.unlink(missing_ok=True)  # of a dataflow of this name that failed
        self._peers = [_Peer(path) for path in paths]

    def write(self, changes: Iterable[Change]) -> None:
        """Tell of these, too."""
        if self._path is not None:
            if self._lock < 0:
                self._file, self._lock = new_group_file(self._path)
            if self._file is None:
                self._file = self._path.open("wb")
            if self._file.tell() == 0:
                self._file.write(os.urandom(8).hex().encode() + b"\n")  # which edition it is
            lines = [(kind, number, list(fault), *rest) for kind, number, fault, *rest in changes]
            self._file.write(b"".join([orjson.dumps(line) + b"\n" for line in lines]))
            self._file.flush()

    def write_anew(self, changes: Iterable[Change]) -> None:
        """Tell of these, and of nothing that was told before."""
        if self._path is not None:
            draft = self._path.with_suffix(".part")
            path, self._path = self._path, draft
            if self._file is not None:
                self._file.close()
                self._file = None
            self.write(changes)
            self._path = draft.rename(path)

    def of_others(self) -> Sequence[Ledger]:
        """What the others have told of."""
        return [peer.read() for peer in self._peers]

    def end(self) -> None:
        """Nobody asks any more."""
        if self._file is not None and self._path is not None:
            self._file.close()
            self._file = None
            os.close(self._lock)
            self._lock = -1
            with suppress(OSError):
                self._path.unlink()
                self._path.parent.rmdir()
