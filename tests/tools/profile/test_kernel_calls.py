"""The kernel that a line of Python calls is named."""

from __future__ import annotations

from pathlib import Path

from tests.imports import ROOT
from tokenring.tools.profile.frame import Frame
from tokenring.tools.profile.kernel_calls import kernel_called_at


def test_a_line_that_calls_a_kernel_names_it(tmp_path: Path) -> None:
    source = ROOT / "engine/progress/exchange.py"
    lines = source.read_text().splitlines()
    at = next(number for number, line in enumerate(lines, 1) if "flags: int = exchange(" in line)
    kernel = kernel_called_at(str(source), at)
    declared = next(number for number, line in enumerate(lines, 1) if line.startswith("def exchange("))
    assert kernel == Frame("kernel exchange", str(source), declared)
    assert kernel_called_at(str(source), at - 1) is None
    sending = ROOT / "engine/data/remote_channel.py"
    called, *_ = [n for n, line in enumerate(sending.read_text().splitlines(), 1) if "= self._partition(" in line]
    found = kernel_called_at(str(sending), called)
    assert found is not None
    assert (found.name, found.file) == ("kernel partition_for", str(ROOT / "tokenring/shm/queues/data_queue.py"))
    assert kernel_called_at(str(tmp_path / "nowhere.py"), 1) is None
    (tmp_path / "own.py").write_text("@kernel\ndef double(value): ...\n")
    (tmp_path / "program.py").write_text("from own import double\ndouble(1)\n")
    assert kernel_called_at(str(tmp_path / "program.py"), 2) == Frame("kernel double", str(tmp_path / "own.py"), 2)
