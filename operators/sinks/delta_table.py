"""A Delta table as a worker sees it: made if it is not there, and appended to, a commit at a time, by processes of its
own (delta_process.py says why)."""

import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, cast
from urllib.parse import urlsplit
from urllib.request import url2pathname

import orjson

from tokenring.engine import OperatorError, Schema, SchemaError, UsageError, did_you_mean
from tokenring.engine.arguments import is_text
from tokenring.engine.columns import names_of

if TYPE_CHECKING:
    import pyarrow as pa

    from tokenring.engine.columns import Kind

_TYPES = {
    "int64": "long", "float64": "double", "bool": "boolean", "timestamp": "timestamp", "date": "date",
    "decimal": "decimal({0.precision},{0.scale})", "string": "string", "bytes": "binary",
}  # fmt: skip
"""By the family of a kind, what Delta tables call it, of the kind."""
_MOST_DEATHS = 5  # of processes with one request, which is one of those that can be made twice
_PROCESS = (sys.executable, "-P", "-m", "tokenring.operators.sinks.delta_process")
_CURES = {
    "Permission denied": "let this user write to its folder, and to what is in it",
    "Could not create local directory": "choose a folder that this user can make",
    "Not a directory": "choose a folder that this user can make",
    "Concurrent": "another process brings the results of the same job there: end one of the two, and run it again",
}


class DeltaTable:
    """A table, and the process that appends to it while one does."""

    def __init__(
        self,
        table: str | Path,
        schema: Schema,
        operator: str,
        partition_by: str | Sequence[str],
        options: Mapping[str, str],
    ) -> None:
        self.uri, self.is_local = _located(table, operator)
        self._schema, self._operator = schema, operator
        self._options = _checked(options, operator)
        self._process: subprocess.Popen[bytes] | None = None
        self._answer: IO[bytes]
        self._asked: tuple[str, dict[str, Any]]
        self._deaths = 0
        alike: dict[str, str] = {}
        for column, kind in zip(schema.names, schema.kinds, strict=True):
            if (other := alike.setdefault(column.lower(), column)) != column:
                raise SchemaError(
                    f"operator {operator!r}: columns {other!r} and {column!r} differ in case alone, which Delta tables "
                    f"do not tell apart: rename one"
                )
            if kind.family not in _TYPES:
                raise SchemaError(
                    f'operator {operator!r}: column {column!r} is {kind}, which Delta tables lack: say .cast("int64"), '
                    f"or leave it out"
                )
        self.partition_by = list(dict.fromkeys(names_of(partition_by, f"operator {operator!r}: partition_by=")))
        for column in self.partition_by:
            schema.position(column, f"operator {operator!r}: partition_by=")
        self._require_partitions(self.partition_by)
        if {*self.partition_by} == {*schema.names}:
            raise UsageError(
                f"operator {operator!r}: partition_by= names all columns, and what Delta tables are partitioned by is "
                f"not in their files: leave a column out"
            )
        if find_spec("deltalake") is None:
            from tokenring.how_to_install import how_to_install

            raise UsageError(f"operator {operator!r} needs deltalake, not installed: {how_to_install('delta')}")

    def prepare(self, transaction: str = "") -> int:
        """Make the table if it is not there; up to which version it knows of a transaction, 0 if of none. SchemaError
        if it cannot take the rows."""
        kinds = zip(self._schema.names, self._schema.kinds, strict=True)
        columns = [[name, _type(kind)] for name, kind in kinds]
        self._ask("open", transaction=transaction, columns=columns, partition_by=self.partition_by)
        while (found := self._answered()) is None:
            pass
        self._require_columns({name: (kind, nullable) for name, kind, nullable in found["columns"]})
        self._require_partitions(found["partition_by"])
        if self.partition_by and self.partition_by != found["partition_by"]:
            there = ", ".join(found["partition_by"]) or "no column"
            raise UsageError(
                f"operator {self._operator!r}: Delta table {self.uri} is there, and partitioned by {there}: leave "
                f"partition_by= out, or choose another table"
            )
        return int(found["version"])

    def _require_partitions(self, columns: Sequence[str]) -> None:
        for column in columns:
            if column in self._schema.positions and self._schema.kind(column).family == "bytes":
                raise SchemaError(
                    f"operator {self._operator!r}: column {column!r} is bytes, and of one that a table is partitioned "
                    f"by deltalake reads others than it has written: partition the table by another column"
                )

    def _require_columns(self, there: dict[str, tuple[str, bool]]) -> None:
        what = f"operator {self._operator!r}: Delta table {self.uri} is there"
        for name, kind in zip(self._schema.names, self._schema.kinds, strict=True):
            if name not in there:
                cure = did_you_mean(name, list(there)) or f"; it has {', '.join(map(repr, there))}"
                raise SchemaError(
                    f"{what}, without a column {name!r}{cure}. Select and rename the stream's columns to those, or "
                    f"choose another table"
                )
            found, nullable = there[name]
            if found.removesuffix("_ntz") != _type(kind):
                raise SchemaError(
                    f"{what}, and its column {name!r} is {found}, where {kind} goes into {_type(kind)}: cast the "
                    f"stream's column, or choose another table"
                )
            if kind.nullable and not nullable:
                raise SchemaError(
                    f"{what}, and its column {name!r} takes no null, which the stream's {kind} may be: "
                    f"fill the nulls, or choose another table"
                )
        for name, (found, nullable) in there.items():
            if name not in self._schema.names and not nullable:
                raise SchemaError(
                    f"{what}, and its column {name!r}, {found}, takes no null, and the stream has no such column: add "
                    f"it by with_columns, or choose another table"
                )

    def arrow_schema(self) -> "pa.Schema":
        """The stream's schema with times as Delta has them."""
        import pyarrow as pa

        schema = self._schema.to_arrow()
        us = pa.timestamp("us", "UTC")
        return pa.schema([field.with_type(us) if pa.types.is_timestamp(field.type) else field for field in schema])

    def begin_append(self, files: Sequence[str | Path], transaction: str = "", version: int = 0) -> None:
        """Begin to append the rows of Arrow files, in one commit, unless this version of a transaction is there."""
        self._ask("append", files=[os.fspath(path) for path in files], transaction=transaction, version=version)

    @property
    def is_appending(self) -> bool:
        """Whether it was begun, and `has_appended` has not said so yet."""
        return self._process is not None

    def has_appended(self) -> bool:
        """Whether the commit is done. OperatorError for what was in its way."""
        assert self._process is not None, "it was begun"
        if self._process.poll() is None:
            return False
        return self._answered() is not None

    def close(self) -> None:
        """End what is under way."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._answer.close()
            self._process = None

    def _ask(self, what: str, **question: Any) -> None:
        """Have a process do something."""
        self._asked, self._deaths = (what, question), 0
        self._start()

    def _start(self) -> None:
        """Start a process that does what is asked."""
        what, question = self._asked
        cores = sorted(os.sched_getaffinity(os.getppid()))  # the launcher's
        told = {"what": what, "table": self.uri, "options": self._options or None, "parent": os.getpid(), **question}
        # Files in memory: nobody waits for who reads them, and no secret of the options' comes to a disk.
        self._answer = cast("IO[bytes]", os.fdopen(os.memfd_create("answer"), "w+b"))
        with os.fdopen(os.memfd_create("question"), "w+b") as asked:
            asked.write(orjson.dumps({**told, "cores": cores}))
            asked.seek(0)
            modules = os.pathsep.join([path or os.getcwd() for path in sys.path])
            environment = {**os.environ, "PYTHONPATH": modules, "NO_COLOR": "1"}
            self._process = subprocess.Popen(
                _PROCESS, stdin=asked, stdout=self._answer, env=environment, process_group=0
            )

    def _answered(self) -> dict[str, Any] | None:
        """What the process answers, once it ends; None where it was killed, and another does it again: tables are
        opened, and transactions made, as often as one likes. OperatorError for what was in its way."""
        process = self._process
        assert process is not None, "it was asked"
        status = process.wait()
        self._answer.seek(0)
        said = self._answer.read()
        self.close()
        what, question = self._asked
        if not said and status < 0 and self._deaths < _MOST_DEATHS and (what == "open" or question["transaction"]):
            self._deaths += 1
            self._start()
            return None
        found = orjson.loads(said) if said else {"error": _ended(status, self._deaths)}
        if "error" in found:
            error = " ".join(found["error"].split())
            cure = next((cure for part, cure in _CURES.items() if part in error), "mend that, and run it again")
            raise OperatorError(f"operator {self._operator!r}: Delta table {self.uri}: {error}; {cure}")
        return cast("dict[str, Any]", found)


def _ended(status: int, before: int) -> str:
    """Why there is no answer. before: how many have died with the same request."""
    if status >= 0:
        return f"its process ended with status {status}"
    also = f", and {before} before it were" if before else ""
    return f"its process was killed by {signal.Signals(-status).name}{also}"


def _checked(options: Mapping[str, str], operator: str) -> dict[str, str]:
    """storage_options; UsageError, which tells no values, as they may be secrets, for those that are not of texts."""
    what = f"operator {operator!r}: storage_options= maps texts to texts, as {{'aws_region': 'eu-north-1'}}"
    if not isinstance(options, Mapping):
        raise UsageError(f"{what}; it is no mapping, but {type(options).__name__}")
    for name, value in options.items():
        if not is_text(name) or not is_text(value):
            raise UsageError(f"{what}; {name!r} is given as {type(value).__name__}")
    return dict(options)


def _located(table: str | Path, operator: str) -> tuple[str, bool]:
    """Where a table is, as a path or a URI, and whether it is in a folder of this machine's."""
    if not isinstance(table, str | Path) or not str(table):
        raise UsageError(f"operator {operator!r}: a Delta table is a folder, or a URI as s3://..., not {table!r}")
    if str(table).startswith("file://"):
        table = url2pathname(urlsplit(str(table)).path)
    if "://" in str(table):
        return str(table), False
    return os.path.abspath(table), True


def _type(kind: "Kind") -> str:
    return _TYPES[kind.family].format(kind)
