"""Tables of snapshots, whole or of what has changed, come back as they were; Arrow's own reading of the rows that were
to be written is the oracle."""

from __future__ import annotations

import os
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pytest

from tokenring.engine import Batch, Schema
from tokenring.operators.recovery import tables
from tokenring.operators.recovery.tables import problem_of, read_arrow, read_table, write_changes, write_table

SCHEMA = Schema.of({
    "k": "int64", "n": "int64?", "x": "float64?", "s": "string?", "raw": "bytes", "at": "timestamp?", "is_so": "bool?",
    "price": "decimal(6, 2)?", "day": "date",
})  # fmt: skip
NAN = float("nan")


def value_of(dice: Random, kind: str) -> Any:
    return {
        "int64": lambda: dice.choice([0, 1, -1, 2**62]), "int64?": lambda: dice.choice([None, 0, 1]),
        "float64?": lambda: dice.choice([None, 0.0, -0.0, NAN]), "string?": lambda: dice.choice([None, "", "ä" * 9]),
        "bytes": lambda: dice.choice([b"", b"\0"]), "timestamp?": lambda: dice.choice([None, 0, 5]),
        "bool?": lambda: dice.choice([None, True, False]), "date": lambda: dice.choice([0, 1]),
        "decimal(6, 2)?": lambda: dice.choice([None, Decimal("0.01"), Decimal("-9.99")]),
    }[kind]()  # fmt: skip


Rows = list[list[Any]]


def drawn(dice: Random, rows: int) -> Rows:
    return [[value_of(dice, str(kind)) for kind in SCHEMA.kinds] for _ in range(rows)]


def batch_of(rows: Rows) -> Batch:
    columns: Sequence[Any] = list(zip(*rows, strict=True)) if rows else [()] * len(SCHEMA.names)
    return Batch(SCHEMA, {name: list(column) for name, column in zip(SCHEMA.names, columns, strict=True)})


def seen(batch: Batch) -> list[str]:
    """Rows in words that tell -0.0 from 0.0, and find a NaN in a NaN."""
    return [repr(row) for row in batch.to_arrow().to_pylist()]


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "_LEAST_BYTES", 0)


class Chain:
    """The snapshots of one table, each in a folder of its own."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.told: list[dict[str, Any]] = []

    @property
    def folder(self) -> Path:
        return self.path / f"{len(self.told)}"

    def write(self, rows: Rows) -> dict[str, Any]:
        batch, before, told = batch_of(rows), self.folder, None
        into = self.path / f"{len(self.told) + 1}"
        into.mkdir(parents=True)
        if self.told:
            told = write_changes(into / f"{len(self.told)}.arrow", batch, before, self.told[-1])
        self.told.append(told or write_table(into / f"{len(self.told)}.arrow", batch))
        return self.told[-1]


@pytest.mark.parametrize("seed", range(12))
def test_rows_come_back_whatever_has_changed(tmp_path: Path, seed: int) -> None:
    dice, chain = Random(seed), Chain(tmp_path)
    rows = drawn(dice, dice.choice([0, 1, 40]))
    changed = 0
    for _ in range(25):
        told = chain.write(rows)
        changed += bool(told.get("before"))
        assert seen(read_table(chain.folder, told, SCHEMA)) == seen(batch_of(rows))
        assert told["rows"] == len(rows)
        assert not problem_of(chain.folder, told)
        files = {told["file"], *[file["file"] for file in told.get("before", ())]}
        assert {path.name for path in chain.folder.iterdir()} == files
        for _ in range(dice.choice([0, 1, 3, 30])):
            if rows:
                at, column = dice.randrange(len(rows)), dice.randrange(len(SCHEMA.names))
                rows[at][column] = value_of(dice, str(SCHEMA.kinds[column]))
        rows += drawn(dice, dice.choice([0, 0, 1, 5]))
        if dice.random() < 0.1:
            rows = rows[: len(rows) // 2]
    assert changed > 3


def test_only_what_has_changed_is_written(tmp_path: Path) -> None:
    """And it stays readable when the snapshots before are removed."""
    chain, rows = Chain(tmp_path), [[at, None, 0.0, "a text" * 4, b"", 7, True, None, 0] for at in range(5_000)]
    whole = chain.write(rows)
    for number in range(1, 6):
        for at in range(number, 5_000, 100):
            rows[at][1] = number
        told = chain.write(rows)
        assert (told["changes"], len(told["before"])) == (50, number)
        assert told["bytes"] < 0.05 * whole["bytes"]
    for number in range(1, 6):
        for path in (tmp_path / f"{number}").iterdir():
            path.unlink()
    assert seen(read_table(chain.folder, told, SCHEMA)) == seen(batch_of(rows))
    assert read_arrow(chain.folder, told).num_rows == 5_000


def test_signs_and_nulls_are_changes(tmp_path: Path) -> None:
    chain, row = Chain(tmp_path), [1, None, 0.0, None, b"", None, None, None, 0]
    rows = [list(row) for _ in range(20)]
    chain.write(rows)
    rows[3][2], rows[4][2], rows[5][1], rows[6][3] = -0.0, None, 0, ""
    assert chain.write(rows)["changes"] == 4
    rows[3][2] = NAN
    assert chain.write(rows)["changes"] == 1
    assert chain.write(rows)["changes"] == 0, "a NaN is what it was"


def test_a_table_is_written_whole_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where much has changed, where rows have gone, where it would be of many files, where it is small, and where what
    it would stand on is damaged."""
    chain, rows = Chain(tmp_path), drawn(Random(1), 100)
    chain.write(rows)
    for count in range(1, 20):
        rows[count][0] += 7
        assert len(chain.write(rows).get("before", ())) == count % tables._MOST_FILES
    for at in range(60):
        rows[at][0] += 1
    assert "before" not in chain.write(rows)
    rows = rows[1:]
    assert "before" not in chain.write(rows)
    rows[0][0] += 1
    assert chain.write(rows)["before"]
    for spoil in ("changed", "gone"):
        file = chain.folder / chain.told[-1]["before"][0]["file"]
        content = bytearray(file.read_bytes())
        content[len(content) // 2] ^= 1
        file.unlink()  # the link alone, as of another snapshot's file
        if spoil == "changed":
            file.write_bytes(content)
        assert str(file) in problem_of(chain.folder, chain.told[-1])
        assert "before" not in chain.write(rows)
        assert not problem_of(chain.folder, chain.told[-1])
        rows[1][0] += 1
        assert chain.write(rows)["before"]
    monkeypatch.setattr(tables, "_LEAST_BYTES", 1 << 20)
    rows[1][0] += 1
    assert "before" not in chain.write(rows)


def test_of_tables_of_format_two_nothing_else_is_known(tmp_path: Path) -> None:
    rows = drawn(Random(2), 50)
    told = write_table(tmp_path / "0.arrow", batch_of(rows))
    del told["changes"]
    rows[7][0] += 1
    (tmp_path / "next").mkdir()
    made = write_changes(tmp_path / "next" / "1.arrow", batch_of(rows), tmp_path, told)
    assert made is not None
    assert made["changes"] == 1
    assert seen(read_table(tmp_path / "next", made, SCHEMA)) == seen(batch_of(rows))
    assert os.stat(tmp_path / "0.arrow").st_nlink == 2
    assert pa.ipc.open_file(tmp_path / "next" / "1.arrow").read_all().num_rows == 1
