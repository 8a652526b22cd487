"""State of a snapshot for those who look at it: what each operator kept, and its tables as Arrow files."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tokenring.engine import RecoveryError, did_you_mean
from tokenring.operators.recovery.folder import Snapshot
from tokenring.operators.recovery.tables import read_arrow


def operators_of(snapshot: Snapshot) -> list[dict[str, Any]]:
    """Of each operator with state, its name, and of its tables, in their order, number, columns, rows and bytes; those
    that had no rows are left out."""
    return [{"name": name, "tables": list(_tables_of(snapshot, name))} for name in snapshot.operators]


def _tables_of(snapshot: Snapshot, operator: str) -> Iterator[dict[str, Any]]:
    files = [file for file in snapshot.files if file.get("operator") == operator]
    for number in sorted({file["table"] for file in files}):
        parts = [file for file in files if file["table"] == number]
        yield {
            "table": number, "columns": parts[0]["columns"], "rows": sum(part["rows"] for part in parts),
            "bytes": sum(part["bytes"] for part in parts),
        }  # fmt: skip


def require_operator(snapshot: Snapshot, operator: str) -> list[int]:
    """The tables of an operator that have rows. RecoveryError where it is not there, or none has."""
    names = list(snapshot.operators)
    if operator not in names:
        cure = did_you_mean(operator, names) or f"; there are: {', '.join(map(repr, names)) or 'none'}"
        if snapshot.is_end:
            cure = ": the job was finished with it; take one before it"
        raise RecoveryError(f"snapshot {snapshot.number} has no state of an operator {operator!r}{cure}")
    numbers = [table["table"] for table in _tables_of(snapshot, operator)]
    if not numbers:
        raise RecoveryError(f"operator {operator!r} had no rows at snapshot {snapshot.number}")
    return numbers


def write_state(snapshot: Snapshot, operator: str, table: int, target: Path) -> int:
    """Write a table of an operator's state, of all workers, as an Arrow IPC file. Returns its rows."""
    import pyarrow as pa

    parts = [
        read_arrow(snapshot.folder, file)
        for file in snapshot.files
        if file.get("operator") == operator and file["table"] == table
    ]
    rows = pa.concat_tables(parts)
    with pa.OSFile(str(target), "wb") as out, pa.ipc.new_file(out, rows.schema) as writer:
        writer.write_table(rows)
    return int(rows.num_rows)
