"""The tables as `tpchgen-cli parquet` writes them, and when each order comes and goes.

Decimals become whole numbers of hundredths, dates timestamps. An order and its lines come and go together, by the
order's number, so that SQL can say it too: one in ten comes later, one in ten goes.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

import tokenring as tr

EPOCHS = 5
"""Times at which orders come and go, behind time 0, at which most are loaded."""
NEVER = EPOCHS + 1
_KEYS = {"orders": "o_orderkey", "lineitem": "l_orderkey"}


def generator() -> str | None:
    """Where tpchgen-cli is: beside this Python, or else on the path; None if it is not installed."""
    return shutil.which("tpchgen-cli", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")


def generate(folder: Path, scale: float) -> None:
    """Write the tables into a folder, one file each."""
    program = generator()
    if program is None:
        raise SystemExit("tpchgen-cli, which writes the tables, is not installed: pip install tpchgen-cli")
    made = [program, "parquet", "-s", str(scale), "--output-dir", str(folder)]
    subprocess.run(made, check=True, stdout=subprocess.DEVNULL)


def comes_at(order: np.ndarray) -> np.ndarray:
    """The epoch at which each order comes; 0: it is loaded."""
    return np.where(order % 10 == 0, 1 + order // 10 % EPOCHS, 0)


def goes_at(order: np.ndarray) -> np.ndarray:
    """The epoch at which each order goes; NEVER for most."""
    return np.where(order % 10 == 1, 1 + order // 10 % EPOCHS, NEVER)


def there_at(table: str, epoch: int) -> str:
    """The condition in SQL for a row of a table to be there."""
    if table not in _KEYS:
        return "true"
    key = _KEYS[table]
    at = f"1 + {key} // 10 % {EPOCHS}"
    comes = f"CASE WHEN {key} % 10 = 0 THEN {at} ELSE 0 END"
    goes = f"CASE WHEN {key} % 10 = 1 THEN {at} ELSE {NEVER} END"
    return f"{comes} <= {epoch} AND {goes} > {epoch}"


def read(folder: Path, table: str, columns: str, part: int = 0, parts: int = 1) -> pa.Table:
    """Some columns of a table, every `parts`-th row from number `part` on, decimals as hundredths."""
    found = pq.read_table(folder / f"{table}.parquet", columns=columns.split())
    for position, field in enumerate(found.schema):
        column = found.column(position)
        if pa.types.is_decimal(field.type):
            column = pc.round(pc.multiply(column.cast(pa.float64()), 100)).cast(pa.int64())
        elif pa.types.is_integer(field.type):
            column = column.cast(pa.int64())
        elif pa.types.is_date(field.type):
            column = column.cast(pa.timestamp("ns"))
        else:
            column = column.cast(pa.string())
        found = found.set_column(position, field.name, column)
    return found.take(np.arange(part, found.num_rows, parts))


def schema_of(table: pa.Table) -> tr.Schema:
    """The kinds of its columns."""
    kinds = {"int64": "int64", "timestamp[ns]": "timestamp", "string": "string"}
    return tr.Schema.of({field.name: kinds[str(field.type)] for field in table.schema})


def changes(table: str, rows: pa.Table, epoch: int) -> tuple[pa.Table, pa.Table]:
    """The rows that come at an epoch, and those that go."""
    if table not in _KEYS:
        return (rows, rows.slice(0, 0)) if epoch == 0 else (rows.slice(0, 0), rows.slice(0, 0))
    orders = rows.column(_KEYS[table]).to_numpy()
    return rows.filter(comes_at(orders) == epoch), rows.filter(goes_at(orders) == epoch)
