"""Columns as int64 words that sort as their values do, for operators that rank rows."""

import numpy as np

from tokenring.engine import Batch, Kind, Schema, SchemaError
from tokenring.engine.columns import names_of_kinds

_LEAST = -(2**63)


def check_order(operator: str, schema: Schema, names: tuple[str, ...]) -> None:
    """SchemaError, naming the operator, for a column that is not there or has no order."""
    for name in names:
        schema.position(name, f"operator {operator!r}", "to order by")
        if schema.kind(name).is_text:
            raise SchemaError(
                f"operator {operator!r}: column {name!r} to order by is {schema.kind(name)}; it must be one of "
                f"{names_of_kinds()}; a collection's top may order by text: .collection().top(key, order)"
            )


def ascending(kind: Kind, words: np.ndarray) -> np.ndarray:
    """Words of a kind as int64 words in the order of their values (of NaN, that of its bits)."""
    if kind.is_unsigned:
        return words.view(np.int64) ^ _LEAST
    if kind.is_float:
        bits = (words + 0.0).view(np.int64)  # makes -0.0 the same as 0.0
        return np.where(bits < 0, bits ^ (2**63 - 1), bits)
    return words


def order_words(batch: Batch, name: str, ties: tuple[str, ...], largest: bool) -> np.ndarray:
    """int64 (rows, 1 + len(ties)): words by which the rows to be ranked first are the least, lexicographically."""
    words = np.empty((batch.rows, 1 + len(ties)), np.int64)
    first = ascending(batch.schema.kind(name), batch.words(name))
    words[:, 0] = ~first if largest else first
    for at, tie in enumerate(ties, 1):
        words[:, at] = ascending(batch.schema.kind(tie), batch.words(tie))
    return words


def ranked(batch: Batch, name: str) -> np.ndarray | None:
    """The rows whose value can be ranked, bool (rows,); None for all: nulls and NaN cannot."""
    kind = batch.schema.kind(name)
    if kind.is_float:
        return ~np.isnan(batch.words(name))
    return ~batch.nulls(name) if kind.nullable else None
