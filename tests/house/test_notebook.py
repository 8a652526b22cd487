"""Programs defined in the cells of a real notebook kernel: they run, run again, and end by Ctrl-C."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from tests.examples.documents import without_compiling
from tests.house.strangers import README_FIRST, make_folder
from tests.imports import ROOT

WATCHDOG_S = 250

AGAIN = "for run in range(2):\n    print(tr.run(busy_channels, workers=2).num_rows)"
FOREVER = """
def forever(worker):
    with worker.dataflow("forever") as scope:
        numbers, stream = scope.new_input(tr.Schema("value"))
        probe = stream.probe()
    if worker.index == 0:
        print("it runs", flush=True)
    worker.step_while(lambda: True)

tr.execute(forever, workers=2)
"""
KERNEL = """
@tr.kernel(tr.int64(tr.int64))
def twice(value):
    return 2 * value

print(tr.execute(lambda worker: twice(worker.index), workers=2))
"""


def test_cells_run_again_and_end_by_ctrl_c(tmp_path: Path) -> None:
    make_folder(tmp_path)  # files called like our parts, too
    cells = [
        (README_FIRST.text, None),
        (AGAIN, None),
        (FOREVER, "it runs"),
        (AGAIN, None),
        (KERNEL, None),
        ("tr.Tumblng", None),
    ]
    ran = subprocess.run(
        [sys.executable, "-m", "tests.house.notebook_cells", tmp_path],
        cwd=ROOT,
        input=json.dumps(cells),
        capture_output=True,
        text=True,
        timeout=WATCHDOG_S,
    )
    assert ran.returncode == 0, ran.stderr
    first, again, stopped, afterwards, kernel, wrong = (
        (stdout, without_compiling(stderr), error) for stdout, stderr, error in json.loads(ran.stdout)
    )
    assert first == (README_FIRST.prints, "", None)
    assert again == afterwards == ("3\n3\n", "", None)
    assert (stopped[0], stopped[2]) == ("it runs\n", "KeyboardInterrupt")
    assert kernel == ("[0, 2]\n", "", None)
    assert wrong[2] == "AttributeError"
