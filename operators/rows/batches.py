"""map_batches, filter_batches: stateless operators from a Python function of a batch."""

from collections.abc import Callable, Mapping
from typing import Any, Literal, overload

import numpy as np

from tokenring.engine import AnyStream, Batch, Schema, SchemaError, UsageError
from tokenring.engine.arguments import require_function
from tokenring.operators.rows.on_error import OnError, applied

BatchMaker = Callable[[Batch], Mapping[str, Any] | Batch | None]


@overload
def map_batches(
    stream: AnyStream, schema: Schema, function: BatchMaker, name: str = ..., *, on_error: Literal["stream"]
) -> tuple[AnyStream, AnyStream]: ...
@overload
def map_batches(
    stream: AnyStream, schema: Schema, function: BatchMaker, name: str = ..., *, on_error: Literal["fail"] = ...
) -> AnyStream: ...
def map_batches(
    stream: AnyStream,
    schema: Schema,
    function: BatchMaker,
    name: str = "map_batches",
    *,
    on_error: OnError = "fail",
) -> AnyStream | tuple[AnyStream, AnyStream]:
    """`function(batch)` for each batch: a mapping of the columns of `schema` to arrays of any one length (so it is a
    flat map too), a batch of that schema, or None.

    Columns may be whatever `Batch` takes: arrays, lists, Strings, Arrow arrays. It may return the arrays it got, but
    must not write into them. Stateless, keeps nothing; SchemaError (as OperatorError, in the run) for columns that do
    not fit. What expressions can say is quicker as `with_columns` and `select`. on_error="stream": as there; the
    function is called with less rows where it raises, to find out at which.
    """
    if not isinstance(schema, Schema) or not callable(function):
        raise UsageError(
            f"operator {name!r} takes the schema of the rows it makes, and then a function: map_batches(Schema(...), "
            f"function), not {type(schema).__name__} and {type(function).__name__}"
        )

    def apply(batch: Batch) -> Batch | None:
        columns = function(batch)
        return columns if columns is None or isinstance(columns, Batch) else Batch(schema, columns)

    return applied(stream, name, schema, apply, on_error)


def filter_batches(stream: AnyStream, keep: Callable[[Batch], np.ndarray], name: str = "filter_batches") -> AnyStream:
    """The rows for which `keep(batch)`, a boolean array of shape (rows,), is true (not masked, which is null); a whole
    batch passes as it is. What expressions can say is quicker as `filter`.
    """
    require_function(f"operator {name!r}", "keep", keep)

    def apply(batch: Batch) -> Batch | None:
        return batch.filter(mask_of(keep(batch), batch))

    return stream.apply(name, stream.schema, apply)


def mask_of(found: Any, batch: Batch, source: str = "the function") -> np.ndarray:
    """What a function returned as bool of shape (rows,), null as False; SchemaError, which says `source` returned it,
    if it is no such thing."""
    chosen = np.asarray(found.filled(False) if hasattr(found, "filled") else found)
    if chosen.shape != (batch.rows,) or chosen.dtype != np.bool_:
        raise SchemaError(
            f"{source} returned {chosen.dtype} of shape {chosen.shape}; it must return bool of shape "
            f"({batch.rows},)"
        )
    return chosen
