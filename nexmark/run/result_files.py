"""Writes a result's rows to the file that somebody asked for: Parquet, Arrow or JSON lines, by its name."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import orjson

from tokenring.tools.errors import OptionError
from tokenring.tools.system import replace_by

if TYPE_CHECKING:
    import pyarrow as pa

_BATCH_ROWS = 1 << 16


def _write_parquet(table: pa.Table, path: Path) -> None:
    import pyarrow.parquet as pq

    pq.write_table(table, path)


def _write_arrow(table: pa.Table, path: Path) -> None:
    import pyarrow as pa

    with pa.ipc.new_file(path, table.schema) as writer:
        writer.write_table(table)


def _write_json_lines(table: pa.Table, path: Path) -> None:
    with open(path, "wb") as file:
        for batch in table.to_batches(_BATCH_ROWS):
            for row in batch.to_pylist():
                file.write(orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE))


_WRITERS: Final[dict[str, Callable[[Any, Path], None]]] = {
    ".parquet": _write_parquet,
    ".arrow": _write_arrow,
    ".jsonl": _write_json_lines,
}


def require_known(path: Path) -> None:
    """Refuse a name that does not say how to write; before a run, not after."""
    if path.suffix not in _WRITERS:
        raise OptionError(f"--out {path}: name a file that ends in {', '.join(_WRITERS)}")


def write_rows(table: pa.Table, path: Path) -> None:
    """Write the rows, so that nobody sees a part of them. Batch by batch: mapped rows need not fit into memory."""
    replace_by(path, lambda temporary: _WRITERS[path.suffix](table, temporary))
