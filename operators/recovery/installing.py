"""Installed dataflows in a run that keeps snapshots: who installs one is told once a snapshot has it, so that no death
loses it; one that is removed goes once the results that it had are where they are to go."""

import os
from collections.abc import Mapping
from typing import Any

from tokenring.engine.install import SAVED, Installing, Removing
from tokenring.operators.recovery.of_worker import WorkerSaving
from tokenring.operators.recovery.saving import Saving
from tokenring.operators.recovery.wanted import OneMore

INSTALLED = "tokenring: a dataflow was installed"
"""Begins what a worker reports of that, with the file in which is to be said what came of the snapshot that has it."""


class InstallingSaved(Installing):
    """A dataflow that a function declares in a run that keeps snapshots.

    The launcher takes a snapshot soon. It has the dataflow, since no worker is at rest that has still to build it.
    """

    def tell_there(self) -> None:
        """Say that it is there, and not saved yet; worker 0 asks for the snapshot."""
        saving: WorkerSaving = self.worker.saving  # type: ignore[attr-defined] # who answers so is a worker of fluent's
        if self.worker.index == 0:
            saving.report([INSTALLED, os.fspath(self.folder / SAVED)])
        self.tell(is_saved=False)


class RemovingSaved(Removing):
    """A dataflow that was installed in a run that keeps snapshots.

    Parts appear with a snapshot, and a dataflow that is gone brings none of them into a table. So one snapshot more is
    taken, and no later one has been when it goes: while that is promised no worker is at rest.
    """

    def prepare(self, question: Mapping[str, Any]) -> None:
        """Find it, and what has its results."""
        super().prepare(question)
        self._last: _LastResults | None = None
        saving: WorkerSaving = self.worker.saving  # type: ignore[attr-defined] # who answers so is a worker of fluent's
        self._saving = saving.installed(self.name)
        if self.worker.index == 0 and self._saving is not None and self._saving.sinks:
            self._last = _LastResults(saving, self._saving)

    def is_ready(self) -> bool:
        """Whether nothing is on its way, or nobody brings it there: what has failed does nothing more. Who asks is told
        where a snapshot could not be taken."""
        if self._last is None or self.name in self.worker.dataflows.failed:
            return True
        is_ready = self._last.are_out()
        if self._last.error:
            self.fail(
                f"{self.name!r} is not removed: the snapshot that is to have its last results could not be taken: "
                f"{self._last.error}"
            )
        return is_ready

    def act(self) -> None:
        """See it go, and what its sinks have of which there will be no snapshot."""
        super().act()
        for sink in () if self._saving is None else self._saving.sinks.values():
            sink.abandon()

    def leave(self) -> None:
        """Who asked is gone, or knows that it is removed."""
        super().leave()
        if self._last is not None:
            self._last.forget()


class _LastResults:
    """What the sinks of a dataflow have: worker 0 sees it to where it is to go."""

    def __init__(self, of_worker: WorkerSaving, saving: Saving) -> None:
        self._of_worker, self._saving = of_worker, saving
        self._one_more = OneMore(of_worker.folder.path)

    def are_out(self) -> bool:
        """Whether a snapshot has been taken since this was asked first, and what all have let appear is out."""
        number = self._one_more.number()
        if number and number < self._of_worker.cut_for:  # another has been cut meanwhile, with results of its own
            self._one_more = OneMore(self._of_worker.folder.path)
            return False
        return bool(number) and not any([part for sink in self._saving.sinks.values() for part in sink.waiting()])

    @property
    def error(self) -> str:
        """Why the snapshot could not be taken; "" where it was, or nobody knows yet."""
        return self._one_more.error

    def forget(self) -> None:
        """No snapshot is wanted any more."""
        self._one_more.forget()
