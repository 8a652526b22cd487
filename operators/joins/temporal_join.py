"""temporal_join: each row with the version of its key that was valid at the row's own time."""

from typing import Any, Literal, overload

from tokenring.engine import AnyStream, SchemaError, Stream
from tokenring.engine.arguments import require_flags
from tokenring.engine.declare import require_streams
from tokenring.operators.joins.kept import (
    LEFT,
    RIGHT,
    Chosen,
    JoinedColumns,
    Names,
    On,
    joined_on,
    require_how,
    require_times,
)
from tokenring.operators.joins.versioned import declare_versioned
from tokenring.operators.time import behind_own, split_late, with_late


@overload
def temporal_join(
    rows: AnyStream, versions: AnyStream, *, on: On | None = ..., left_on: Names = ..., right_on: Names = ...,
    time: str, version_time: str, columns: Chosen = ..., how: str = ..., late: Literal[False] = ..., name: str = ...,
) -> AnyStream: ...  # fmt: skip


@overload
def temporal_join(
    rows: AnyStream, versions: AnyStream, *, on: On | None = ..., left_on: Names = ..., right_on: Names = ...,
    time: str, version_time: str, columns: Chosen = ..., how: str = ..., late: Literal[True], name: str = ...,
) -> tuple[AnyStream, AnyStream, AnyStream]: ...  # fmt: skip


def temporal_join(
    rows: AnyStream,
    versions: Stream,
    *,
    on: On | None = None,
    left_on: Names = None,
    right_on: Names = None,
    time: str,
    version_time: str,
    columns: Chosen = None,
    how: str = "inner",
    late: bool = False,
    unique: str | None = None,
    name: str = "temporal_join",
) -> AnyStream | tuple[AnyStream, AnyStream, AnyStream]:
    """Each row with the version of its key that was valid at its time: the one with the greatest version_time that is
    not after it (of several the one that came last).

    `temporal_join(orders, rates, on="currency", time="ordered_at", version_time="valid_from")`. time, version_time: the
    rows' own times, int64 or timestamp. on, left_on, right_on, columns: as in `join`, rows being the left side. A row
    whose key has no version then is left out, or has nulls with how="left". (SQL:2011's `for system_time as of`.)
    Where `to_upserts` tells that a key is gone, that is a version like any other, of nulls: of an inner join's results,
    which are to have that column, `.filter(~col("deleted"))` leaves out the rows that meet it.

    A row is sent once the frontier of `versions` has passed its time, since a version of that time may come until then:
    at its message's time if that has happened, else later, at its own time or before. One token is held for rows that
    wait. Memory: rows that wait; of each key the versions that such rows or later ones may see, as of its last change.

    A row or version is late if its own time is before its message's. late=True gives three streams: the results, late
    rows, late versions. Otherwise a late one raises TimeRegressionError (as OperatorError). Raises SchemaError for
    columns that are not there or do not fit, and for unique=, which other joins have; GraphError in loops.
    """
    if unique is not None:
        raise SchemaError(
            f"operator {name!r}: unique= is for join and interval_join; here a key has versions, of which a row's time "
            f"chooses one; leave unique= out"
        )
    require_streams(f"operator {name!r}", versions)
    require_how(name, how)
    on = joined_on(name, on, left_on, right_on)
    times = (rows.schema, time, "for the rows' time"), (versions.schema, version_time, "for the versions' time")
    require_times(name, times)
    require_flags(f"operator {name!r}", late=late)
    rows, late_rows = split_late(rows, name, ".rows", behind_own, time, late)
    versions, late_versions = split_late(versions, name, ".versions", behind_own, version_time, late)
    plan = JoinedColumns.of(name, rows.schema, versions.schema, on, columns, how=how)
    needs = plan.crossing(LEFT, time), plan.crossing(RIGHT, version_time)
    results: Any = declare_versioned(plan, (rows, versions), needs, (time, version_time), how == "left")
    return with_late("results, late_rows, late_versions", results, late_rows, late_versions) if late else results
