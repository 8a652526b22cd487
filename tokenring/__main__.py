"""The `tokenring` command from its first moment: what signals do, and how many threads numpy's BLAS has, is settled
before anything else is loaded.
"""

from __future__ import annotations

import os
import sys

from tokenring.tools.blas import one_blas_thread
from tokenring.tools.system import ending_signals_come_late, ending_signals_exit


def main() -> None:
    """The entry point."""
    _have_standard_streams()
    ending_signals_exit("tokenring")
    one_blas_thread()
    from tokenring.nexmark.commands import main

    try:
        main()
    finally:
        ending_signals_come_late()


def _have_standard_streams() -> None:
    """Let a standard stream that is closed (`>&-`) lead nowhere: else the next file that is opened would get its
    number, and what is printed."""
    while (descriptor := os.open(os.devnull, os.O_RDWR)) <= 2:
        os.set_inheritable(descriptor, True)
    os.close(descriptor)
    sys.stdout = sys.stdout or os.fdopen(1, "w")
    sys.stderr = sys.stderr or os.fdopen(2, "w")


if __name__ == "__main__":
    main()
