"""The `tokenring` command from its first moment: what signals do is settled before anything else is loaded."""

from __future__ import annotations

from tokenring.tools.system import ending_signals_come_late, ending_signals_exit


def main() -> None:
    """The entry point."""
    ending_signals_exit("tokenring")
    from tokenring.nexmark.commands import main

    try:
        main()
    finally:
        ending_signals_come_late()


if __name__ == "__main__":
    main()
