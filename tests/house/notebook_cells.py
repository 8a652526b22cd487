"""Runs cells in a real notebook kernel, as a process of its own: `python -m tests.house.notebook_cells FOLDER`.

Standard input is a JSON list of [cell, text at which Ctrl-C comes or null]; standard output one of what each cell wrote
to stdout and stderr, and the name of the error that ended it.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from jupyter_client.manager import start_new_kernel

from tests.house.strangers import environment
from tests.imports import ROOT

WATCHDOG_S = 120


def main() -> None:
    """The entry point."""
    folder = sys.argv[1]
    manager, client = start_new_kernel(
        kernel_name="python3", cwd=folder, env=environment(PYTHONPATH=str(ROOT), IPYTHONDIR=folder)
    )

    def run(cell: str, interrupt_at: str | None) -> tuple[str, str, str | None]:
        said = {"stdout": "", "stderr": ""}

        def output(message: dict[str, Any]) -> None:
            if message["msg_type"] == "stream":
                said[message["content"]["name"]] += message["content"]["text"]
                if interrupt_at is not None and interrupt_at in message["content"]["text"]:
                    manager.interrupt_kernel()

        reply = client.execute_interactive(cell, timeout=WATCHDOG_S, output_hook=output)["content"]
        return said["stdout"], said["stderr"], reply.get("ename")

    try:
        results = [run(*cell) for cell in json.load(sys.stdin)]
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)
    print(json.dumps(results))


if __name__ == "__main__":
    main()
