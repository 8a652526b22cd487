"""A table of a database, whatever module of Python's connects to it: made if it is not there, and filled in
transactions; by key, if it has one: a row takes the place of the one before."""

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

import numpy as np

from tokenring.engine import OperatorError, Schema, SchemaError, TokenRingError, UsageError, did_you_mean
from tokenring.engine.columns import as_text

if TYPE_CHECKING:
    import pyarrow as pa

    from tokenring.engine.columns import Kind

_TYPES = {
    "int64": "BIGINT", "float64": "DOUBLE PRECISION", "bool": "BOOLEAN", "timestamp": "TIMESTAMP", "date": "DATE",
    "decimal": "DECIMAL({0.precision}, {0.scale})", "string": "TEXT", "bytes": "BLOB",
}  # fmt: skip
"""By the family of a kind, what databases call it, of the kind."""
_PLACES = {
    "qmark": "?", "format": "%s", "numeric": ":{0}", "numeric_dollar": "${0}", "named": ":c{0}", "pyformat": "%(c{0})s",
}  # fmt: skip
"""How each paramstyle of DB-API 2.0, and PostgreSQL by ADBC, says where the value of a column goes, by its number from
1."""
_ROWS = "tokenring_rows"
LOCKED_S = 20
"""How long a locked SQLite file is waited for: less than a worker may be in one call under recovery (`hang`)."""
_CURES = {
    "locked": f"another process writes to it, for {LOCKED_S} s or more: let that end, and run it again",
    "unable to open": "make its folder, and let this user write there",
    "would lose data": 'databases have microseconds: round the column to such, or .cast("int64") it',
    "is full": "make room there, and run it again",
    "disk I/O error": "make room there, or allow larger files (ulimit -f), and run it again",
    "readonly": "let this user write to it, and to its folder",
}


class DatabaseTable:
    """A table, and the connection to its database, which is made when it is needed."""

    def __init__(
        self, connect: Callable[[], Any], name: str, rows: Schema, operator: str, paramstyle: str, cure: str,
        key: Sequence[str] = (), deleted: str | None = None, file: str = "",
    ) -> None:  # fmt: skip
        """cure: what to do where the database refuses something, if nothing better is known. file: where it is, of
        SQLite's. key: the columns of which a row takes the place of the one before. deleted: the column of rows that
        says whether there is none from then on, which the table does not have."""
        self.name, self.sql = name, ".".join(map(_quoted, name.split(".")))
        self._key, self._deleted = key, deleted
        self._called = f"table {name!r} of {file}" if file else f"table {name!r}"
        self._connect, self._rows = connect, rows
        self._schema = schema = rows.select([column for column in rows.names if column != deleted])
        if paramstyle not in ("", *_PLACES):
            raise UsageError(f"operator {operator!r}: paramstyle is one of {', '.join(_PLACES)}, not {paramstyle!r}")
        self._operator, self._paramstyle, self._cure = operator, paramstyle, cure
        self._connection: Any = None
        for column, kind in zip(schema.names, schema.kinds, strict=True):
            if kind.family not in _TYPES:
                raise SchemaError(
                    f'operator {operator!r}: column {column!r} is {kind}, which databases lack: say .cast("int64"), or '
                    f"leave it out"
                )
            if "\0" in column:
                raise SchemaError(
                    f"operator {operator!r}: column {column!r} has a NUL in its name, which no database takes: "
                    f".rename(...) it"
                )
        if file:
            self._require_told_apart("SQLite")

    def _require_told_apart(self, database: str) -> None:
        """SchemaError for columns that are one in SQLite and DuckDB, which mind no case of A to Z."""
        known: dict[bytes, str] = {}
        for column in self._schema.names:
            other = known.setdefault(column.encode().lower(), column)
            if other != column:
                raise SchemaError(
                    f"operator {self._operator!r}: columns {other!r} and {column!r} are one in {database}, whose names "
                    f"have no case: .rename(...) one of them"
                )

    @contextmanager
    def transaction(self, keeps: bool = True) -> Iterator[Any]:
        """A cursor, of whose statements the database keeps all, or, if one fails, or not `keeps`, none. OperatorError
        for what the database, or connecting to it, raises."""
        try:
            if self._connection is None:
                self._connection = self._connect()
                if not hasattr(self._connection, "cursor"):
                    raise UsageError(
                        f"operator {self._operator!r}: {self._connection!r} is no connection of DB-API; let the "
                        f"function return what connect() of a database's module does"
                    )
            cursor = self._connection.cursor()
            owner = cursor if hasattr(cursor, "commit") else self._connection  # DuckDB's cursors are connections
            if hasattr(owner, "begin"):  # else there is a transaction without being asked for, as DB-API has it
                owner.begin()
            try:
                yield cursor
                if keeps:
                    owner.commit()
                else:
                    owner.rollback()
            except BaseException:
                with suppress(Exception):
                    owner.rollback()
                raise
            finally:
                cursor.close()
        except TokenRingError:
            raise
        except Exception as error:
            cure = next((cure for part, cure in _CURES.items() if part in str(error)), self._cure)
            raise OperatorError(
                f"operator {self._operator!r}: {self._called}: {type(error).__name__}: {error}; {cure}"
            ) from error

    def close(self) -> None:
        """Let go of the connection; the next transaction makes another one."""
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(Exception):  # all that matters is committed
                connection.close()

    @property
    def is_there(self) -> bool:
        """Whether it is, and can be read."""
        return self._columns() is not None

    def prepare(self) -> None:
        """Make the table if it is not there. SchemaError if it lacks a column of the rows."""
        there = self._columns()
        if self._is_sqlite or self._is_duckdb:
            self._require_told_apart("SQLite" if self._is_sqlite else "DuckDB")
        if self._is_duckdb and "" in self._schema.names:
            raise SchemaError(
                f"operator {self._operator!r}: column '' has no name, which DuckDB wants: .rename(...) it"
            )
        if there is None:
            kinds = zip(self._schema.names, self._schema.kinds, strict=True)
            with self.transaction() as cursor:
                columns = [f"{_quoted(name)} {self._type(kind)}" for name, kind in kinds]
                if self._key:  # by whose index rows are found
                    columns.append(f"PRIMARY KEY ({_listed(self._key)})")
                cursor.execute(f"CREATE TABLE {self.sql} ({', '.join(columns)})")
        for name in self._schema.names:
            if there is not None and name not in there:
                cure = did_you_mean(name, there) or f"; it has {', '.join(map(repr, there))}"
                raise SchemaError(
                    f"operator {self._operator!r}: table {self.name!r} is there, without a column {name!r}{cure}. "
                    f"Select and rename the stream's columns to those, or choose another table"
                )
        with self.transaction(keeps=False) as cursor:  # what cannot be inserted at all is to be told of now
            self.insert(cursor, self._rows.to_arrow().empty_table())

    def insert(self, cursor: Any, rows: "pa.Table") -> None:
        """Insert rows, as Arrow has them; by key, if there is one: in their order, each in place of the one before."""
        import pyarrow as pa
        import pyarrow.compute as pc

        if not self._is_sqlite:
            rows = rows.cast(pa.schema([field.with_type(_in_microseconds(field.type)) for field in rows.schema]))
        if self._key:
            rows = _last_of_each(rows, self._key)
            self._delete(cursor, rows.select(self._key))
        if self._deleted is not None:
            stays = pc.invert(pc.fill_null(rows.column(self._deleted), False))
            rows = rows.filter(stays).select(self._schema.names)
        self._add(cursor, rows)

    def _delete(self, cursor: Any, keys: "pa.Table") -> None:
        """Remove the rows of these keys. Every database has that, and it needs no index, though it is slow without."""
        if self._is_duckdb:
            cursor.register(_ROWS, keys)
            columns = _listed(self._key)
            cursor.execute(f"DELETE FROM {self.sql} WHERE ({columns}) IN (SELECT {columns} FROM {_ROWS})")
            cursor.unregister(_ROWS)
            return
        places, names = self._places(self._key)
        are_equal = [f"{self._spelled(_quoted(name))} = {place}" for name, place in zip(self._key, places, strict=True)]
        statement = f"DELETE FROM {self._spelled(self.sql)} WHERE {' AND '.join(are_equal)}"
        self._execute_each(cursor, statement, names, keys)

    def _add(self, cursor: Any, rows: "pa.Table") -> None:
        if hasattr(cursor, "adbc_ingest"):
            *within, name = self.name.split(".")
            cursor.adbc_ingest(name, rows, mode="append", db_schema_name=within[-1] if within else None)
        elif self._is_duckdb:  # DuckDB: row by row, each would take it a millisecond
            columns = _listed(rows.column_names)
            cursor.register(_ROWS, rows)
            cursor.execute(f"INSERT INTO {self.sql} ({columns}) SELECT {columns} FROM {_ROWS}")
            cursor.unregister(_ROWS)
        else:
            places, names = self._places(rows.column_names)
            into = self._spelled(f"{self.sql} ({_listed(rows.column_names)})")
            self._execute_each(cursor, f"INSERT INTO {into} VALUES ({', '.join(places)})", names, rows)

    def _execute_each(self, cursor: Any, statement: str, names: list[str], rows: "pa.Table") -> None:
        """A statement for each row. names: how it calls the values, if they have names."""
        values: Any = zip(
            *[self._values(rows.column(name), self._schema.kind(name)) for name in rows.column_names], strict=True
        )
        if rows.num_rows:
            cursor.executemany(
                statement, [dict(zip(names, row, strict=True)) for row in values] if names else list(values)
            )

    def _columns(self) -> list[str] | None:
        """The columns that the table has; None where it is not there."""
        with self.transaction(keeps=False) as cursor:
            try:
                cursor.execute(f"SELECT * FROM {self.sql} WHERE 1 = 0")
            except Exception:  # whatever the module calls it; if it is another fault, to make the table has it too
                return None
            return [column[0] for column in cursor.description]

    @property
    def _is_sqlite(self) -> bool:
        """Whether it is a file of SQLite's, to which Python's own module connects: it keeps what it is given."""
        sqlite = sys.modules.get("sqlite3")
        return sqlite is not None and isinstance(self._connection, sqlite.Connection)

    @property
    def _is_duckdb(self) -> bool:
        """Whether it is DuckDB's, by its own module."""
        return hasattr(self._connection, "register")

    def _type(self, kind: "Kind") -> str:
        return "TEXT" if kind.is_decimal and self._is_sqlite else _TYPES[kind.family].format(kind)

    @property
    def _style(self) -> str:
        """How statements have parameters."""
        style = self._paramstyle or _paramstyle_of(self._connection)
        if style not in _PLACES:
            raise UsageError(
                f"operator {self._operator!r}: {type(self._connection).__module__} does not say how its statements "
                f"have parameters: say paramstyle=, one of {', '.join(_PLACES)}"
            )
        return style

    def _places(self, columns: Sequence[str]) -> tuple[list[str], list[str]]:
        """Where the values of columns go in a statement, and how it calls them, if they have names."""
        numbers = range(1, len(columns) + 1)
        names = [f"c{number}" for number in numbers] if self._style in ("named", "pyformat") else []
        return [_PLACES[self._style].format(number) for number in numbers], names

    def _spelled(self, sql: str) -> str:
        """The same in a statement that has parameters."""
        return sql.replace("%", "%%") if "format" in self._style else sql

    def _values(self, column: "pa.ChunkedArray", kind: "Kind") -> list[Any]:
        """As the module that is connected by takes them; SQLite has neither times nor exact kinds, but text."""
        if not self._is_sqlite or not (kind.is_instant or kind.is_exact):
            return column.to_pylist()
        if kind.is_instant:
            texts = np.datetime_as_string(column.to_numpy().astype("datetime64[ns]"), unit="ns").tolist()
            return [None if text == "NaT" else text.replace("T", " ") for text in texts]
        return [None if value is None else as_text(value) for value in column.to_pylist()]


def _in_microseconds(kind: "pa.DataType") -> "pa.DataType":
    """Databases have no ns: Arrow says so of a time that has some. Without a zone, none changes it to its own."""
    import pyarrow as pa

    return pa.timestamp("us") if pa.types.is_timestamp(kind) else kind


def _last_of_each(rows: "pa.Table", key: Sequence[str]) -> "pa.Table":
    """Of the rows of each key the last, in their order. Without Arrow's groups, which have threads."""
    words = np.zeros(rows.num_rows, np.int64)
    for column in rows.select(key).columns:
        codes = column.combine_chunks().dictionary_encode().indices.to_numpy()
        words = np.unique(words * (1 + codes.max(initial=0)) + codes, return_inverse=True)[1]
    last = rows.num_rows - 1 - np.unique(words[::-1], return_index=True)[1]
    return rows.take(np.sort(last))


def _listed(names: Sequence[str]) -> str:
    return ", ".join(map(_quoted, names))


def _quoted(name: str) -> str:
    """A name as SQL has it, whatever is in it."""
    doubled = name.replace('"', '""')
    return f'"{doubled}"'


def _paramstyle_of(connection: Any) -> str:
    """What the module of a connection says; "" if it says nothing."""
    for kind in type(connection).__mro__:
        parts = kind.__module__.split(".")
        for end in range(len(parts), 0, -1):
            style = getattr(sys.modules.get(".".join(parts[:end])), "paramstyle", None)
            if isinstance(style, str):
                return style
    return ""
