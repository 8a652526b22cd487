"""A trial: the checkout's files in a folder of their own, with one mutant or none, and the tests run over them."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil

from scripts.mutation.mutant import Mutant

_LEFT_OUT = shutil.ignore_patterns(".git", ".venv*", ".data", ".hypothesis", ".mypy_cache", ".ruff_cache")
KILLED, SURVIVED, HUNG, SWOLLEN, UNJUDGED = "killed", "survived", "hung", "out of memory", "not judged"
_LOOK_S = 0.2  # in which a process fills half a GiB, at worst
_TEST_OF = re.compile(r"^(?:FAILED |ERROR )?(\S+?\.py)(?=::| - |$)", re.MULTILINE)  # that begins, or has failed


class Trials:
    """Runs tests over mutants. Compiled kernels are taken over from `pristine`, the copy without a change; those that a
    mutant changes are compiled where a test needs them, as others, which it does not touch, need not be."""

    def __init__(self, root: Path, folder: Path, limit_s: float, limit_bytes: int) -> None:
        """limit_s: for one test; limit_bytes: for all processes that the tests have at one time."""
        self.pristine = folder / "pristine"
        self._folder = folder
        self._limit_s, self._limit_bytes = limit_s, limit_bytes
        self._said = folder / "said.txt"
        self.failure = ""
        """What the tests said that failed last with a mutant."""
        self._passing: dict[tuple[str, ...], bool] = {}
        shutil.copytree(root, self.pristine, symlinks=True, ignore=_LEFT_OUT)

    def passes(self, tests: tuple[str, ...]) -> bool:
        """Whether the tests pass without any change; asked once for each selection."""
        if tests not in self._passing:
            self._passing[tests] = self._run(self.pristine, tests) == SURVIVED
        return self._passing[tests]

    def outcome(self, mutant: Mutant, tests: tuple[str, ...]) -> str:
        """KILLED if a test fails, HUNG or SWOLLEN if one had to be ended, SURVIVED if all pass. UNJUDGED if that test's
        file, run by itself, passes with the change, or fails without."""
        with self._copy() as copy:
            file = copy / mutant.file
            changed, changed_s = mutant.applied(file.read_bytes()), int(file.stat().st_mtime)
            file.unlink()  # it is a link to the pristine one
            file.write_bytes(changed)
            os.utime(file, (changed_s + 1, changed_s + 1))  # by which, in seconds, Python knows what it has compiled
            for _ in range(2):
                outcome = self._run(copy, tests)
                if outcome == SURVIVED:
                    return outcome
                self.failure = self._said.read_text(errors="replace")
                alone = self._where_it_ended(tests)
                is_sure = self._run(copy, alone) != SURVIVED
                if is_sure or outcome != HUNG:
                    break
                # It compiled for long what the change is in: that is kept, so the tests are asked once more.
        return outcome if is_sure and self.passes(alone) else UNJUDGED

    def _where_it_ended(self, tests: tuple[str, ...]) -> tuple[str, ...]:
        """The file of the last test that began, of these; if none did, whether they can be collected."""
        files = _TEST_OF.findall(self.failure)
        options = tests[tests.index("-k") :] if "-k" in tests else ()
        return (files[-1], *options) if files else ("--collect-only", *tests)

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
        command = [sys.executable, "-m", "pytest", "-v", "-x", "-p", "no:cacheprovider", *tests]
        with self._said.open("wb") as said:
            process = subprocess.Popen(
                command, cwd=tree, env=environment, stdout=said, stderr=subprocess.STDOUT, start_new_session=True
            )
        try:
            told_bytes, told_at = -1, time.monotonic()
            while True:
                with suppress(subprocess.TimeoutExpired):
                    return SURVIVED if process.wait(_LOOK_S) == 0 else KILLED
                if _bytes_of_all(temporary) > self._limit_bytes:
                    return SWOLLEN
                before, told_bytes = told_bytes, self._said.stat().st_size
                if told_bytes != before:
                    told_at = time.monotonic()
                elif time.monotonic() - told_at > self._limit_s:  # not one test has ended
                    return HUNG
        finally:
            _kill_all_of(temporary)
            process.wait()
            shutil.rmtree(temporary, ignore_errors=True)


def _all_of(temporary: Path) -> list[psutil.Process]:
    """Whoever has files there, as all do whom the tests have started, in sessions of their own, too."""
    return [
        process
        for process in psutil.process_iter(["environ"])
        if (process.info["environ"] or {}).get("TMPDIR") == str(temporary)
    ]


def _bytes_of_all(temporary: Path) -> int:
    """What memory they take. What several share counts once, which limits of the system for each cannot do; and what
    is only reserved, as text's addresses are, does not count."""
    taken = 0
    for process in _all_of(temporary):
        with suppress(psutil.Error):
            taken += process.memory_full_info().pss
    return taken


def _kill_all_of(temporary: Path) -> None:
    for process in _all_of(temporary):
        with suppress(psutil.NoSuchProcess):
            process.kill()
