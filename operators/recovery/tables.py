"""Tables of a snapshot as files: whole, or as the rows that are not where they were in the snapshot before, whose files
are then in this one's folder as well, by links: so each folder has all of its snapshot.

Operators give their rows by slots, and a key keeps its slot. So of a table in which some keys have changed, most rows
stand at the places at which they stood, and what has changed is found column by column.
"""

import hashlib
import os
from collections.abc import Mapping
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tokenring.engine import Batch, Schema
from tokenring.engine.whole_files import sync
from tokenring.operators.recovery.refusals import refusal

if TYPE_CHECKING:
    import pyarrow as pa

_PLACE = "@place"  # of a row in the table that comes of the files before; behind those that it has, it is new
_LEAST_BYTES = 1 << 20  # of a table: smaller ones are written whole
_MOST_FILES = 16  # that a table is read of
_MOST_CHANGED = 0.5  # of the rows, in all files but the first
_CHUNK = 1 << 20


def write_table(path: Path, batch: Batch) -> dict[str, Any]:
    """Rows as an Arrow IPC file, on the disk; what the manifest says of it."""
    return {**_written(path, batch.to_arrow()), "rows": batch.rows}


def write_changes(path: Path, batch: Batch, folder: Path, told: Mapping[str, Any]) -> dict[str, Any] | None:
    """The same of the rows that are not where they were in a table of another snapshot, in `folder`, of which its
    manifest says `told`; the files of that one are linked beside it. None where that would be of no use, or cannot be.
    """
    own = {name: told.get(name, 0) for name in ("file", "bytes", "sum", "changes")}
    before = [*told.get("before", ()), own]
    if told["bytes"] + sum(file["bytes"] for file in before[:-1]) < _LEAST_BYTES or len(before) >= _MOST_FILES:
        return None
    if batch.rows < told["rows"] or problem_of(folder, told):
        return None
    rows = batch.to_arrow()
    places = _changed(read_arrow(folder, told), rows)
    changes = sum(file["changes"] for file in before) + len(places)
    if changes > _MOST_CHANGED * batch.rows:
        return None
    for file in before:
        os.link(folder / file["file"], path.with_name(file["file"]))
    import pyarrow as pa

    chosen = rows.take(pa.array(places))
    written = _written(path, chosen.add_column(0, _PLACE, pa.array(places)))
    return {**written, "rows": batch.rows, "changes": len(places), "before": before}


def read_table(folder: Path, told: Mapping[str, Any], schema: Schema) -> Batch:
    """The rows of a table, in the order in which they were written."""
    return Batch.from_arrow(schema, read_arrow(folder, told))


def read_arrow(folder: Path, told: Mapping[str, Any]) -> "pa.Table":
    """The same as Arrow has them."""
    import pyarrow as pa

    first, *others = [_read(folder / file["file"]) for file in (*told.get("before", ()), told)]
    if not others:
        return first
    which = np.arange(told["rows"])
    counts = [first.num_rows, *[other.num_rows for other in others]]
    for other, begin in zip(others, accumulate(counts), strict=False):
        which[other.column(0).to_numpy()] = begin + np.arange(other.num_rows)
    return pa.concat_tables([first, *[other.remove_column(0) for other in others]]).take(pa.array(which))


def problem_of(folder: Path, told: Mapping[str, Any]) -> str:
    """What is wrong with a table's files; "" if nothing is."""
    for file in (*told.get("before", ()), told):
        path = folder / file["file"]
        try:
            found = path.stat().st_size
            if found != file["bytes"]:
                return f"{path} has {found:,} bytes, and {file['bytes']:,} were written"
            if _sum(path) != file["sum"]:
                return f"{path} is not what was written: its checksum differs"
        except PermissionError as error:  # no damage, for which others would be used
            raise refusal(error, path) from None
        except OSError as error:
            return f"{path} cannot be read: {error.strerror}"
    return ""


def _written(path: Path, rows: "pa.Table | pa.RecordBatch") -> dict[str, Any]:
    import pyarrow as pa

    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, rows.schema) as writer:
        writer.write(rows)
    sync(path)
    return {"file": path.name, "bytes": path.stat().st_size, "sum": _sum(path), "changes": 0}


def _read(path: Path) -> "pa.Table":
    import pyarrow as pa

    with pa.OSFile(str(path), "rb") as file:
        return pa.ipc.open_file(file).read_all()


def _changed(were: "pa.Table", rows: "pa.Table | pa.RecordBatch") -> np.ndarray:
    """The places of rows that are not what they were, or that there were not, in order: int64 (n,)."""
    differ = np.zeros(rows.num_rows, bool)
    differ[were.num_rows :] = True
    there = differ[: were.num_rows]
    for name in rows.schema.names:
        there |= _differ(were.column(name).combine_chunks(), rows.column(name)[: were.num_rows])
    return np.flatnonzero(differ)


def _differ(some: Any, others: Any) -> np.ndarray:
    """Where two columns of one type hold another value, or null: 0.0 is not -0.0, and a NaN of the same bits is one."""
    import pyarrow as pa
    import pyarrow.compute as pc

    nulls, other_nulls = (pc.is_null(one).to_numpy(zero_copy_only=False) for one in (some, others))
    if pa.types.is_floating(some.type):
        words, other_words = (pc.fill_null(one, 0.0).to_numpy().view(np.int64) for one in (some, others))
        differ = words != other_words
    else:
        differ = ~pc.fill_null(pc.equal(some, others), False).to_numpy(zero_copy_only=False)
    return np.asarray((differ & ~(nulls & other_nulls)) | (nulls != other_nulls))


def _sum(path: Path) -> str:
    made = hashlib.blake2b(digest_size=16)
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            made.update(chunk)
    return made.hexdigest()
