"""emit=: how often an operator whose results change says them: each change, once a message, or once, at the end."""

from tokenring.engine import AnyStream, GraphError, SchemaError, did_you_mean
from tokenring.engine.columns import is_one_of

EACH, BATCH, FINAL = MODES = ("each", "batch", "final")
"""each: what each row changes. batch: what each message changes, of a key (and rank) the last change alone. final: each
key (and rank) once, when the input has ended, or its window."""
_FORMER = {"changes": BATCH, "end": FINAL}


def emission(operator: str, stream: AnyStream, emit: str | None, windowed: bool) -> str:
    """The mode that is asked for, or where none is: final by windows, else batch. SchemaError, or GraphError in loops,
    naming the operator, where it means nothing."""
    if emit is None:
        return FINAL if windowed else BATCH
    if not is_one_of(emit, MODES):
        cure = f"; it is {_FORMER[emit]!r} now" if is_one_of(emit, _FORMER) else did_you_mean(emit, MODES)
        raise SchemaError(f"operator {operator!r}: emit is 'each', 'batch' or 'final', not {emit!r}{cure}")
    if windowed and emit != FINAL:
        raise SchemaError(
            f"operator {operator!r}: the results of a window are sent once, when it has ended: they do not change; "
            f"leave emit={emit!r} out, or window="
        )
    if emit == EACH and stream.scope.depth > 1:
        raise GraphError(
            f"operator {operator!r}: in {stream.scope.describe()} rows of one round come in no order, so that there is "
            f"no saying what each changes; leave emit='each' out, or {stream.scope.way_out}"
        )
    return emit
