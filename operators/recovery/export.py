"""State of a snapshot for those who look at it: what each operator kept, and its tables as Arrow files."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tokenring.engine import RecoveryError, did_you_mean
from tokenring.operators.recovery.folder import Snapshot
from tokenring.operators.recovery.tables import read_arrow


def operators_of(snapshot: Snapshot) -> list[dict[str, Any]]:
    """Of each operator with state, its name, and of its tables, in their order, number, columns, rows and bytes; those
    that had no rows are left out. One of a dataflow that was installed is called DATAFLOW/NAME."""
    return [
        {"name": name, "tables": list(_tables_of(one, operator))} for name, (one, operator) in _named(snapshot).items()
    ]


def _named(snapshot: Snapshot) -> dict[str, tuple[Snapshot, str]]:
    """Of each operator, the dataflow that it is of, and what it is called there."""
    return {
        f"{dataflow}/{operator}" if dataflow else operator: (one, operator)
        for dataflow, one in snapshot.dataflows.items()
        for operator in one.operators
    }


def _tables_of(snapshot: Snapshot, operator: str) -> Iterator[dict[str, Any]]:
    files = _files_of(snapshot, operator)
    for number in sorted({file["table"] for file in files}):
        parts = [file for file in files if file["table"] == number]
        yield {
            "table": number, "columns": parts[0]["columns"], "rows": sum(part["rows"] for part in parts),
            "bytes": sum(part["bytes"] for part in parts),
        }  # fmt: skip


def _files_of(snapshot: Snapshot, operator: str) -> list[dict[str, Any]]:
    return [file for file in snapshot.files if file.get("operator") == operator]


def require_operator(snapshot: Snapshot, name: str) -> list[int]:
    """The tables of an operator that have rows. RecoveryError where it is not there, or none has."""
    named = _named(snapshot)
    if name not in named:
        cure = did_you_mean(name, [*named]) or f"; there are: {', '.join(map(repr, named)) or 'none'}"
        if snapshot.is_end:
            cure = ": the job was finished with it; take one before it"
        raise RecoveryError(f"snapshot {snapshot.number} has no state of an operator {name!r}{cure}")
    numbers = [table["table"] for table in _tables_of(*named[name])]
    if not numbers:
        raise RecoveryError(f"operator {name!r} had no rows at snapshot {snapshot.number}")
    return numbers


def write_state(snapshot: Snapshot, name: str, table: int, target: Path) -> int:
    """Write a table of an operator's state, of all workers, as an Arrow IPC file. Returns its rows."""
    import pyarrow as pa

    files = _files_of(*_named(snapshot)[name])
    rows = pa.concat_tables([read_arrow(snapshot.folder, file) for file in files if file["table"] == table])
    with pa.OSFile(str(target), "wb") as out, pa.ipc.new_file(out, rows.schema) as writer:
        writer.write_table(rows)
    return int(rows.num_rows)
