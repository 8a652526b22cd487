"""map_batches, filter_batches: stateless operators from a Python function of a batch."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from engine import Batch, Schema, SchemaError, Stream


def map_batches(
    stream: Stream, schema: Schema, function: Callable[[Batch], Mapping[str, Any] | None], name: str = "map_batches"
) -> Stream:
    """`function(batch)` for each batch: a mapping of the columns of `schema` to arrays of any one length, or None.

    It may return the arrays it got, but must not write into them.
    """

    def apply(batch: Batch) -> Batch | None:
        columns = function(batch)
        return None if columns is None else Batch(schema, columns)

    return stream.apply(name, schema, apply)


def filter_batches(stream: Stream, keep: Callable[[Batch], np.ndarray], name: str = "filter_batches") -> Stream:
    """The rows for which `keep(batch)`, a boolean array of shape (rows,), is true; a whole batch passes as it is.

    Comparisons with constants are quicker as `where`.
    """
    schema = stream.schema

    def apply(batch: Batch) -> Batch | None:
        chosen = np.asarray(keep(batch))
        if chosen.shape != (batch.rows,) or chosen.dtype != np.bool_:
            raise SchemaError(
                f"the function returned {chosen.dtype} of shape {chosen.shape}; it must return bool of shape "
                f"({batch.rows},)"
            )
        found = int(np.count_nonzero(chosen))
        if found == batch.rows:
            return batch
        return Batch.wrap(schema, tuple([column[chosen] for column in batch.columns]), found)

    return stream.apply(name, schema, apply)
