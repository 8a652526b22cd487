"""The process that opens a Delta table, and commits to it: what it is asked comes on stdin, the answer goes to stdout.

deltalake computes with threads that stay as long as their process, and panics in a process that was forked from one
which has them. So neither a worker nor the launcher imports it: each request has a new process, which ends with it.
"""

import os
import signal
import sys
from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import orjson

from tokenring.engine.group import die_with_parent
from tokenring.engine.whole_files import sync

if TYPE_CHECKING:
    import pyarrow as pa


def main() -> None:
    """Answer the request; `error` in place of the answer says why not."""
    question = orjson.loads(sys.stdin.buffer.read())
    die_with_parent(question["parent"])
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):  # they are for the launcher
        signal.signal(number, signal.SIG_IGN)
    os.sched_setaffinity(0, question["cores"])  # its worker is pinned to one, and this one is to leave that to it
    try:
        answer = _ANSWERS[question["what"]](question)
    except BaseException as error:  # of what panics, too
        answer = {"error": f"{type(error).__name__}: {error}"}
    sys.stdout.buffer.write(orjson.dumps(answer))
    sys.stdout.flush()
    os._exit(0)  # whatever threads there are


def _open(question: dict[str, Any]) -> dict[str, Any]:
    """Make the table if it is not there: its columns, and up to which version it knows of a transaction."""
    from deltalake import DeltaTable, Field, Schema
    from deltalake.schema import PrimitiveType

    def kind(found: Any) -> str:
        return found.type if isinstance(found, PrimitiveType) else f"a {found.type}"

    uri, options = question["table"], question["options"]
    if not DeltaTable.is_deltatable(uri, options):
        fields = [Field(name, PrimitiveType(kind), nullable=True) for name, kind in question["columns"]]
        partition_by = question["partition_by"] or None
        DeltaTable.create(uri, Schema(fields), mode="ignore", partition_by=partition_by, storage_options=options)
        _sync(uri, -1)
    table = DeltaTable(uri, storage_options=options)
    columns = [[field.name, kind(field.type), field.nullable] for field in table.schema().fields]
    version = table.transaction_version(question["transaction"]) if question["transaction"] else None
    return {"columns": columns, "partition_by": table.metadata().partition_columns, "version": version or 0}


def _append(question: dict[str, Any]) -> dict[str, Any]:
    """Append the rows of files in one commit, unless the transaction's version is there already."""
    import pyarrow as pa
    from deltalake import CommitProperties, DeltaTable, Transaction, write_deltalake

    uri, transaction, version = question["table"], question["transaction"], question["version"]
    table = DeltaTable(uri, storage_options=question["options"])
    if transaction and (table.transaction_version(transaction) or 0) >= version:
        _sync(uri, -1)  # who committed it may have died before
        return {"appended": False}
    # A commit of the same transaction that comes between the look and this one makes this one fail: Delta sees to that.
    said = CommitProperties(app_transactions=[Transaction(transaction, version)]) if transaction else None
    schema = pa.schema(table.schema().to_arrow())
    batches = _batches(question["files"], schema)
    first = next(batches, None)
    if first is None:
        return {"appended": False}
    rows = pa.RecordBatchReader.from_batches(schema, chain([first], batches))
    before = table.version()
    write_deltalake(table, rows, mode="append", commit_properties=said)
    _sync(uri, before)
    return {"appended": True}


def _batches(files: list[str], schema: "pa.Schema") -> "Iterator[pa.RecordBatch]":
    """The rows of files in the columns of the table; those that the files lack are null."""
    import pyarrow as pa

    for path in files:
        with pa.memory_map(path) as mapped, pa.ipc.open_file(mapped) as file:
            for at in range(file.num_record_batches):
                batch = file.get_batch(at)
                there = set(batch.schema.names)
                columns = [
                    batch.column(field.name).cast(field.type)
                    if field.name in there
                    else pa.nulls(batch.num_rows, field.type)
                    for field in schema
                ]
                yield pa.RecordBatch.from_arrays(columns, schema=schema)


def _sync(uri: str, since: int) -> None:
    """Bring what was committed to a table in a folder behind version `since` to the disk, which deltalake does not."""
    if "://" in uri:
        return
    log = Path(uri) / "_delta_log"
    made = [path for path in log.iterdir() if path.name[:20].isdigit() and int(path.name[:20]) > since]
    lines = [line for path in made if path.suffix == ".json" for line in path.read_bytes().splitlines()]
    added = [orjson.loads(line).get("add") for line in lines]
    files = [Path(uri) / unquote(one["path"]) for one in added if one is not None]
    last = log / "_last_checkpoint"
    written = {path for path in (*files, *made, last) if path.exists()}  # what is old may be removed by others
    for path in (*written, *{path.parent for path in written}, Path(uri), Path(uri).parent):
        sync(path)


_ANSWERS: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {"open": _open, "append": _append}

if __name__ == "__main__":
    main()
