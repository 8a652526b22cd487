"""Runs programs in copies of a test's process, which has imported and loaded what takes a new one seconds."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import traceback
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO, Any, NoReturn

WATCHDOG_S = 120


def in_a_copy(
    main: Callable[[], object], arguments: Sequence[str | Path], folder: Path, path: Path
) -> subprocess.CompletedProcess[str]:
    """What came of a call, as of a program started in `folder` with these sys.argv, `path` first where modules are
    looked for. It is not to warn: that is an error."""
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        pid = os.fork()
        if pid == 0:
            os.chdir(folder)
            sys.argv, sys.path[0:0] = [str(argument) for argument in arguments], [str(path)]
            _be(main, out, err)
        _, status = os.waitpid(pid, 0)
        out.seek(0)
        err.seek(0)
        return subprocess.CompletedProcess(sys.argv, os.waitstatus_to_exitcode(status), out.read(), err.read())


def _be(main: Callable[[], object], out: IO[str], err: IO[str]) -> NoReturn:
    """Call a program in place of what this copy was, and end it."""
    status: Any = 1
    try:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(WATCHDOG_S)
        for number, file in ((1, out), (2, err)):
            os.dup2(file.fileno(), number)
        sys.stdout, sys.stderr = os.fdopen(1, "w", closefd=False), os.fdopen(2, "w", closefd=False)
        for category in (UserWarning, RuntimeWarning):
            warnings.simplefilter("error", category)
        main()
        status = 0
    except SystemExit as end:
        status = end.code or 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status if isinstance(status, int) else 1)
