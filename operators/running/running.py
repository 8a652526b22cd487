"""Running aggregates: what each message changed, or each row, at the message's time."""

import numpy as np

from tokenring.engine import AnyStream, Batch, Exchange, Notify, Pipeline, Schema, SchemaError
from tokenring.operators.folds import ALL, Accumulators, Plan, can_fold, distinct_slots
from tokenring.operators.folds.moving import KeptFolds
from tokenring.operators.mechanisms import Answer, answer_each, can_be_compiled, mechanism_of
from tokenring.operators.migrate import of_version, offer
from tokenring.operators.rows import exchanged_by
from tokenring.operators.running.combining import combined, combined_schema
from tokenring.operators.running.compiled_running import compiled_all, compiled_changes
from tokenring.operators.running.running_state import moved_group, moved_tables
from tokenring.operators.state import Keys, grown, joined, wrapped
from tokenring.operators.state.moving import KeyedMoves, MovingKeys, OneKey

_NOTHING: tuple[tuple[np.ndarray, ...], tuple[np.ndarray | None, ...]] = ((), ())


def running(stream: AnyStream, plan: Plan, schema: Schema, each: bool) -> AnyStream:
    """Rows (keys, results), of `schema`, for each message one for each key in it, at its time; with `each`, one for
    each row."""
    name, way = plan.operator, mechanism_of(stream.scope)
    if plan.by:
        are_words = all(not kind.is_text and not kind.is_float for kind in plan.schema.select(plan.by).kinds)
        combines = not each and plan.combines and are_words and can_fold(plan)
        if combines and can_be_compiled(stream.scope, stream.schema, schema, texts=True):
            stream, plan = combined_rows(stream, plan)
        pact = Exchange(exchanged_by(plan.by))

        def make() -> Answer:
            answer = _changes(plan, schema)
            return answer_each(answer, plan.schema, plan.by) if each else answer

        in_kernels = (lambda: compiled_changes(plan, each)) if can_fold(plan) else None
        return way.respond(
            name, (stream, pact), schema, make, compiled=in_kernels, moves=of_version(moved_tables(plan), plan.said)
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
    foldable = can_fold(plan)
    local = way.respond(
        f"{name}.local", edge, partial, lambda: _one_row(plan, partial), remembers=False,
        compiled=(lambda: compiled_all(plan, True)) if foldable else None,
    )  # fmt: skip
    return way.respond(
        name, (local, Exchange(ALL)), schema, lambda: _all_so_far(merging, schema), Notify.NEVER,
        compiled=(lambda: compiled_all(merging, False)) if foldable else None,
        moves=of_version(moved_group(merging), plan.said),
    )  # fmt: skip


def combined_rows(stream: AnyStream, plan: Plan) -> tuple[AnyStream, Plan]:
    """Rows of which those of one key in a message are one already, and the plan over them."""
    partial = combined_schema(plan)
    made = mechanism_of(stream.scope).respond(
        f"{plan.operator}.local", (stream, Pipeline()), partial, None, remembers=False, compiled=lambda: combined(plan)
    )
    return made, plan.merging(partial)


def _changes(plan: Plan, schema: Schema) -> Answer:
    keys = Keys(plan.schema, plan.by)
    state = Accumulators(plan)
    stamps = np.full(64, -1, np.int64)
    calls = 0

    offer(KeyedMoves(moved_tables(plan), MovingKeys(keys, plan.by), KeptFolds(plan, state)))

    def answer(batch: Batch) -> Batch:
        nonlocal stamps, calls
        slots = keys.slots(batch)
        if len(keys.fresh):
            state.reset(keys.fresh, keys.limit)
        stamps = grown(stamps, keys.limit, -1)
        state.take(batch, slots)
        calls += 1
        changed = np.empty(batch.rows, np.int64)
        found = distinct_slots(slots, stamps, calls, changed)
        changed = changed[:found]
        return wrapped(schema, joined(keys.columns(changed), state.results(changed)), found)

    return answer


def _one_row(plan: Plan, schema: Schema) -> Answer:
    state = Accumulators(plan)
    only = np.zeros(1, np.int64)

    def answer(batch: Batch) -> Batch:
        state.reset(only, 1)
        if state.quick:
            state.take_runs(batch, 1, np.array([0, batch.rows]), only)
        else:
            state.take(batch, np.zeros(batch.rows, np.int64))
        return wrapped(schema, joined(((np.zeros(1, np.int64),), (None,)), state.partials(only)), 1)

    return answer


def _all_so_far(plan: Plan, schema: Schema) -> Answer:
    state = Accumulators(plan)
    only = np.zeros(1, np.int64)

    def start() -> None:
        state.reset(only, 1)

    start()
    offer(KeyedMoves(moved_group(plan), OneKey(start), KeptFolds(plan, state)))

    def answer(batch: Batch) -> Batch:
        state.take(batch, np.zeros(batch.rows, np.int64))
        return wrapped(schema, joined(_NOTHING, state.results(only)), 1)

    return answer
