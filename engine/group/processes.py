"""The processes of a group as its launcher sees them: what they write, and when and how they end."""

import errno
import os
import resource
import select
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NoReturn

from tokenring.engine.errors import ConfigError
from tokenring.engine.group.frames import MessageReader
from tokenring.engine.group.threads import await_imports

TAKEN = 256
"""As an exit status, which goes to 255: somebody else in this process has waited for it, and has it."""


class Process:
    """A worker process. That it has ended is seen at the process itself, not at its pipe, whose writing end may live on
    in what it forked.
    """

    def __init__(self, pid: int, pipe: int, ask: Callable[[], int] | None = None) -> None:
        """ask: where it is another's child, gives its exit code once it has ended."""
        self.pid = pid
        self._ask = ask
        self.reader = MessageReader(pipe)
        self.pidfd = -1
        self._status: int | None = None

    def watch(self) -> None:
        """Make `pidfd` a descriptor that can be read when the process has ended."""
        self.pidfd = os.pidfd_open(self.pid)

    def exit_code(self, wait: bool = True) -> int | None:
        """Its exit status, or minus the signal that killed it, or TAKEN; None if it lives and is not to be waited for.
        """
        if self._status is None and self._ask is not None:
            if self.pidfd < 0 or select.select([self.pidfd], [], [], None if wait else 0)[0]:
                self._status = self._ask()
        elif self._status is None:
            try:
                pid, status = os.waitpid(self.pid, 0 if wait else os.WNOHANG)
            except ChildProcessError:
                self._status = TAKEN
            else:
                self._status = os.waitstatus_to_exitcode(status) if pid else None
        return self._status

    def ended_before(self) -> None:
        """Note that there is no such process any more, and never was one to be waited for."""
        self._status = 1

    def close(self) -> None:
        """Close the descriptors."""
        self.reader.close()
        if self.pidfd >= 0:
            os.close(self.pidfd)


def fork(body: Callable[[int], NoReturn], others: list[Process]) -> Process:
    """A new process that runs `body(the writing end of its pipe)` and has none of the others' descriptors."""
    read_end, write_end = os.pipe()
    try:
        await_imports()  # just before it, since other threads go on
        pid = os.fork()
    except OSError:
        os.close(read_end)
        os.close(write_end)
        raise
    if pid == 0:
        os.close(read_end)
        for other in others:
            other.close()
        body(write_end)
    os.close(write_end)
    return Process(pid, read_end)


def limit_met(error: BaseException | None) -> str:
    """The limit of this process that made an error, or its cause, with the cure; "" for any other."""
    while error is not None:
        if isinstance(error, OSError) and error.errno == errno.EMFILE:
            return f"`ulimit -n` allows {resource.getrlimit(resource.RLIMIT_NOFILE)[0]} open files: raise it"
        addresses, _ = resource.getrlimit(resource.RLIMIT_AS)
        is_full = isinstance(error, MemoryError) or (isinstance(error, OSError) and error.errno == errno.ENOMEM)
        if is_full and addresses != resource.RLIM_INFINITY:
            return f"`ulimit -v` allows {addresses >> 20} MiB: raise it"
        error = error.__cause__
    return ""


@contextmanager
def starting(workers: int) -> Iterator[None]:
    """Within the block a group is made; an error of the system there becomes a ConfigError that says the cure."""
    try:
        yield
    except OSError as error:
        if error.errno in (errno.EMFILE, errno.ENFILE):
            files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
            cure = f"each needs three open files in the launcher, which may have {files}; raise `ulimit -n`"
        elif error.errno == errno.EAGAIN:
            processes, _ = resource.getrlimit(resource.RLIMIT_NPROC)
            cure = f"no more processes may be made (`ulimit -u` is {processes}; a container has a limit of its own)"
        elif error.errno == errno.ENOMEM:
            cure = "the machine has too little memory for their pages; end something else"
        else:
            cure = f"the system refuses it{f' ({error.filename})' if error.filename else ''}"
        raise ConfigError(
            f"{workers} workers cannot be started ({error.strerror}): {cure}, or use fewer workers"
        ) from error
