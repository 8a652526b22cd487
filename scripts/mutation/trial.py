"""A trial: the checkout's files in a folder of their own, with one mutant or none, and the tests run over them."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from scripts.mutation.mutant import Mutant

_LEFT_OUT = shutil.ignore_patterns(".git", ".venv*", ".data", ".hypothesis", ".mypy_cache", ".ruff_cache")
KILLED, SURVIVED, HUNG = "killed", "survived", "hung"


class Trials:
    """Runs tests over mutants. Compiled kernels are taken over from `pristine`, where tests ran unchanged; those that a
    mutant changes are compiled where a test needs them, as others, which it does not touch, need not be."""

    def __init__(self, root: Path, folder: Path, limit_s: float) -> None:
        self.pristine = folder / "pristine"
        self._folder = folder
        self._limit_s = limit_s
        self.said = folder / "said.txt"
        """What the last run of the tests printed."""
        self._passing: dict[tuple[str, ...], bool] = {}
        shutil.copytree(root, self.pristine, symlinks=True, ignore=_LEFT_OUT)

    def passes(self, tests: tuple[str, ...]) -> bool:
        """Whether the tests pass without any change; asked once for each selection."""
        if tests not in self._passing:
            self._passing[tests] = self._run(self.pristine, tests) == SURVIVED
        return self._passing[tests]

    def outcome(self, mutant: Mutant, tests: tuple[str, ...]) -> str:
        """KILLED if a test fails, HUNG if they had to be ended, SURVIVED if all pass."""
        with self._copy() as copy:
            file = copy / mutant.file
            changed = mutant.applied(file.read_bytes())
            file.unlink()  # it is a link to the pristine one
            file.write_bytes(changed)
            return self._run(copy, tests)

    @contextmanager
    def _copy(self) -> Iterator[Path]:
        """A copy by links: who writes a file anew, as numba and Python do with what they keep, leaves ours alone."""
        copy = Path(tempfile.mkdtemp(prefix="mutant-", dir=self._folder)) / "tree"
        shutil.copytree(self.pristine, copy, symlinks=True, copy_function=os.link)
        try:
            yield copy
        finally:
            shutil.rmtree(copy.parent, ignore_errors=True)

    def _run(self, tree: Path, tests: tuple[str, ...]) -> str:
        temporary = self._folder / "tmp"
        temporary.mkdir()
        environment = os.environ | {"PYTHONPATH": str(tree), "TMPDIR": str(temporary), "TOKENRING_TESTS_LAZY": "1"}
        command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *tests]
        with self.said.open("wb") as said:
            process = subprocess.Popen(command, cwd=tree, env=environment, stdout=said, stderr=subprocess.STDOUT,
                                       start_new_session=True)  # fmt: skip
        try:
            return SURVIVED if process.wait(self._limit_s) == 0 else KILLED
        except subprocess.TimeoutExpired:
            return HUNG
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            shutil.rmtree(temporary, ignore_errors=True)
