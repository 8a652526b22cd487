"""The benchmark of operators in a row, in a tiny form: a row for each chain, compiled and in Python."""

from __future__ import annotations

from pathlib import Path

import orjson
import pytest

from scripts.benchmarks import hops
from scripts.benchmarks.__main__ import main

pytestmark = pytest.mark.usefixtures("no_memory_made_ready")


def test_a_row_for_each_chain(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "hops.json"
    assert main(["hops", "--messages", "20", "--rounds", "1", "--json", str(file)]) == 0
    rows = orjson.loads(file.read_bytes())["rows"]
    assert {(row["operator"], row["operators"], row["at_once"], row["compiled"]) for row in rows} == {
        (what, count, at_once, is_compiled)
        for what, count in (("no_op", 256), ("running_average", 20))
        for at_once in (1, 16)
        for is_compiled in (True, False)
    }
    assert "| 256 × no_op | 16 |" in capsys.readouterr().out


@pytest.mark.parametrize("is_compiled", [True, False])
def test_a_chain_is_what_it_says(is_compiled: bool) -> None:
    group = hops.SimulatedGroup(hops.Config(workers=1, pin=False))
    handle = hops.chain(group, "no_op", 3, is_compiled)
    operators = group.workers[0].inspection.operators
    assert [operator.compiled >= 0 for operator in operators] == [False, *[is_compiled] * 3]
    handle.close()
    group.run()
    group.close()
