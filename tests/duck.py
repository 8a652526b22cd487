"""What DuckDB answers: a second opinion on results, of a database that ends its threads when it has answered.

The connection that `duckdb.sql` and the like use stays, and so do its threads: every run after it, in the same process,
would warn of them, since forked workers have none of them.
"""

from __future__ import annotations

from typing import Any

import duckdb


def answer(query: str, parameters: object = None, **tables: Any) -> list[tuple[Any, ...]]:
    """The rows of a query: of files, and of tables (pandas, Arrow) by name."""
    with duckdb.connect() as connection:
        for name, table in tables.items():
            connection.register(name, table)
        return connection.execute(query, parameters).fetchall()
