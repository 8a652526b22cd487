"""A program as a child of ours: its groups are found as they come, and sampled; nothing of it is left in the end."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import psutil

from tokenring.tools.errors import OptionError
from tokenring.tools.profile.py_spy import Recorder, Recorders
from tokenring.tools.system import Ended

_LOOK_S = 0.02
_LOOK_MEANWHILE_S = 0.2  # while there is a group, the next is not as urgent as leaving the cores to it
_HEARD_S = 1.0
_CLEAN_UP_S = 5.0


def watch(command: list[str], environment: dict[str, str], recorders: Recorders) -> tuple[int, list[list[Recorder]]]:
    """Run the command to its end: its exit status (128 + n for a signal), and for every group that it ran the recorders
    of its workers in their order.

    Raises OptionError if it cannot be started, InputError if py-spy may not attach; then the program is ended.
    """
    groups: list[list[Recorder]] = []
    with _running(command, environment) as program:
        while program.poll() is None:
            _look(program.pid, groups, recorders)
            alive = any(not recorder.is_over for recorder in (groups[-1] if groups else ()))
            with suppress(subprocess.TimeoutExpired):
                program.wait(_LOOK_MEANWHILE_S if alive else _LOOK_S)
        status = program.returncode
    for group in groups:
        group.sort(key=lambda recorder: recorder.watched.pid)  # they are forked in the order of their numbers
    return status if status >= 0 else 128 - status, groups


def _look(program: int, groups: list[list[Recorder]], recorders: Recorders) -> None:
    """Start a recorder on every worker that is new."""
    from tokenring.engine.ask import running_groups

    known = {recorder.watched for group in groups for recorder in group}
    for found in running_groups([program, *(child.pid for child in _descendants(program))]):
        for pid in found.workers:
            with suppress(psutil.NoSuchProcess):
                if (worker := psutil.Process(pid)) not in known:
                    # A program's groups come one after the other: the workers of the last end before the next start.
                    if not groups or all(recorder.is_over for recorder in groups[-1]):
                        groups.append([])
                    groups[-1].append(recorders.start(f"process {pid}", worker))
    for recorder in groups[-1] if groups else ():
        recorder.check()


def _descendants(process: int) -> list[psutil.Process]:
    with suppress(psutil.NoSuchProcess):
        return list(psutil.Process(process).children(recursive=True))
    return []


@contextmanager
def _running(command: list[str], environment: dict[str, str]) -> Iterator[subprocess.Popen[bytes]]:
    """The program, which has our terminal; if the block is left before its end, it is ended, with all it started."""
    try:
        program = subprocess.Popen(command, env=environment)
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        raise OptionError(f"{command[0]}: cannot be started ({why}); give a program and its arguments") from None
    interrupted = False
    try:
        yield program
    except Ended:
        interrupted = True
        raise
    finally:
        if program.poll() is None:
            _end(program, interrupted)


def _end(program: subprocess.Popen[bytes], interrupted: bool) -> None:
    """Have the program end by itself if it has heard of Ctrl-C too, then because it is asked to, then at once."""
    from tokenring.engine.ask import running_groups

    everything = [psutil.Process(program.pid), *_descendants(program.pid)]
    workers = {worker for group in running_groups(one.pid for one in everything) for worker in group.workers}
    try:
        _, left = psutil.wait_procs(everything, timeout=_HEARD_S if interrupted else 0)
        for process in left:
            if process.pid not in workers:  # which go with their launcher, and would be missed by it
                with suppress(psutil.NoSuchProcess):
                    process.terminate()
        psutil.wait_procs(left, timeout=_CLEAN_UP_S)
    finally:
        for process in everything:
            with suppress(psutil.NoSuchProcess):
                process.kill()
        program.wait()
