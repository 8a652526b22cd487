"""What all workers do together, or none, when it is asked for from outside: made ready, promised, then done by all."""

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import orjson

from tokenring.engine.ask import tell_asker, write_whole
from tokenring.engine.worker import Worker

_SOON_NS, _LATER_NS = 1_000_000, 20_000_000
PROPOSAL = "proposal.json"


class Together:
    """Something that all workers are to do, or none."""

    name = ""
    """What it is about."""

    def __init__(self, worker: Worker, folder: Path, question: Mapping[str, Any]) -> None:
        self.worker = worker
        self.folder = folder
        self._number = 0  # of the last proposal that was seen, or made
        self._is_over = False
        self.prepare(question)

    def prepare(self, question: Mapping[str, Any]) -> None:
        """Make ready, and change nothing yet; raises TokenRingErrors."""
        raise NotImplementedError

    def act(self) -> None:
        """Do it, and tell; all workers do."""
        raise NotImplementedError

    @property
    def digest(self) -> int:
        """What has to be the same on all workers."""
        return 0

    def look(self) -> int:
        """Propose it, or promise what was proposed."""
        if self._is_over:
            return 0
        assent = self.worker.assent
        if assent.promised:
            return _SOON_NS
        return self._propose() if self.worker.index == 0 else self._promise()

    def is_ready(self) -> bool:
        """Whether it can be done now, as far as this worker is concerned."""
        return True

    def _propose(self) -> int:
        if self.worker.agreement.is_waiting or not self.is_ready():
            return _SOON_NS
        number = self._number = self.worker.assent.propose(self._do, self.is_ready)
        try:
            write_whole(self.folder / PROPOSAL, {"number": number, "digest": self.digest})
        except OSError:
            self.worker.assent.abandon(number)
        return _LATER_NS  # if somebody refuses, it is proposed again

    def _promise(self) -> int:
        try:
            proposal = orjson.loads((self.folder / PROPOSAL).read_bytes())
        except OSError:
            return _SOON_NS
        number, assent = proposal["number"], self.worker.assent
        if number == self._number:
            return _SOON_NS
        self._number = number
        if assent.decided(number) is not None:
            return _SOON_NS
        if self.worker.agreement.is_waiting or not self.is_ready():
            assent.refuse(number)
        elif proposal["digest"] != self.digest:
            assent.refuse(number)
            self.fail(
                f"worker {self.worker.index} declares {self.name!r} otherwise than worker 0: declare the same, of the "
                f"same files"
            )
        else:
            assent.promise(number, self._do)
        return _SOON_NS

    def _do(self) -> None:
        self._is_over = True
        self.act()

    def tell(self, **told: Any) -> None:
        """Say that it is done, to who asked, if he is there still."""
        with suppress(OSError):
            tell_asker(self.worker, self.folder, **told)

    def fail(self, error: str) -> None:
        """It cannot be done."""
        self._is_over = True
        self.tell(error=error)

    def leave(self) -> None:
        """Who asked is gone: it is not done, if nobody has decided yet."""
        if self.worker.index == 0:
            self.worker.assent.abandon(self._number)
