"""The `tokenring` command from its first moment: what signals do, and how many threads numpy's BLAS has, is settled
before anything else is loaded.
"""

from __future__ import annotations

from tokenring.tools.blas import one_blas_thread
from tokenring.tools.system import ending_signals_come_late, ending_signals_exit


def main() -> None:
    """The entry point."""
    ending_signals_exit("tokenring")
    one_blas_thread()
    from tokenring.nexmark.commands import main

    try:
        main()
    finally:
        ending_signals_come_late()


if __name__ == "__main__":
    main()
