"""Running aggregates: what each message changed, or each row, at the message's time."""

from tokenring.engine import AnyStream, Exchange, Notify, Pipeline, Schema, SchemaError
from tokenring.operators.folds import ALL, Plan
from tokenring.operators.mechanisms import mechanism_of
from tokenring.operators.migrate import of_version
from tokenring.operators.rows import exchanged_by
from tokenring.operators.running.combining import combined, combined_schema
from tokenring.operators.running.compiled_running import compiled_all, compiled_changes
from tokenring.operators.running.running_state import moved_group, moved_tables


def running(stream: AnyStream, plan: Plan, schema: Schema, each: bool) -> AnyStream:
    """Rows (keys, results), of `schema`, for each message one for each key in it, at its time; with `each`, one for
    each row."""
    name, way = plan.operator, mechanism_of(stream.scope)
    if plan.by:
        are_words = all(not kind.is_text and not kind.is_float for kind in plan.schema.select(plan.by).kinds)
        combines = not each and plan.combines and are_words
        if combines and stream.scope.depth == 1:
            stream, plan = combined_rows(stream, plan)
        pact = Exchange(exchanged_by(plan.by))
        return way.respond(
            name, (stream, pact), schema, None, compiled=lambda: compiled_changes(plan, each),
            moves=of_version(moved_tables(plan), plan.said),
        )  # fmt: skip
    if each:
        raise SchemaError(
            f"operator {name!r}: emit='each' of all rows would have one worker see each of them, as workers add up "
            f"their own first; give by=, or leave emit='each' out"
        )
    if not plan.merges:
        raise SchemaError(
            f"operator {name!r}: CountDistinct of all rows has no running form; give by= or a window, or emit='final'"
        )
    if any(fold.keeps_rows and fold.order is None for fold in plan.folds):
        raise SchemaError(
            f"operator {name!r}: rows of several workers have no order of arrival; give First and Last order='column'"
        )
    partial = Schema.of({ALL: "int64"} | plan.partial_kinds())
    edge = stream, Pipeline()
    merging = plan.merging(partial)
    local = way.respond(
        f"{name}.local", edge, partial, None, remembers=False, compiled=lambda: compiled_all(plan, True)
    )
    return way.respond(
        name, (local, Exchange(ALL)), schema, None, Notify.NEVER, compiled=lambda: compiled_all(merging, False),
        moves=of_version(moved_group(merging), plan.said),
    )  # fmt: skip


def combined_rows(stream: AnyStream, plan: Plan) -> tuple[AnyStream, Plan]:
    """Rows of which those of one key in a message are one already, and the plan over them."""
    partial = combined_schema(plan)
    made = mechanism_of(stream.scope).respond(
        f"{plan.operator}.local", (stream, Pipeline()), partial, None, remembers=False, compiled=lambda: combined(plan)
    )
    return made, plan.merging(partial)
