"""Running aggregates: what each message changed, or each row, at the message's time; and the first rows of keys."""

from collections.abc import Sequence

from tokenring.engine import AnyStream, Exchange, Notify, Pipeline, Schema, SchemaError, kernel
from tokenring.engine.compiled import (
    DONE,
    FAILED,
    NEEDS_ROOM,
    Words,
    addresses_of,
    alias_of,
    column_of,
    entry,
    fail,
    new_message,
    rows_of,
    table_at,
    words_at,
    world_at,
)
from tokenring.operators.folds import (
    ALL,
    BLOCK,
    NO_ROOM,
    Plan,
    distinct_slots,
    fold_block,
    fold_stretches,
    start_slot,
    write_partials,
    write_results,
)
from tokenring.operators.mechanisms import CompiledLogic, driven, mechanism_of, own_record
from tokenring.operators.migrate import of_version
from tokenring.operators.rows import exchanged_by
from tokenring.operators.running.combining import combined, combined_schema
from tokenring.operators.running.running_state import (
    SCRATCH_ROWS,
    Running,
    RunningState,
    moved_group,
    moved_keys,
    moved_tables,
)
from tokenring.operators.state import gather, key_column, number_by, values_of, with_key_words

_WANTED, _SLOTS, _FRESH, _FRESH_ROWS, _CHOSEN, _PICKED = range(SCRATCH_ROWS)


@kernel
def _number(own: Running, message: int, at: int, rows: int, scratch: Words) -> tuple[int, int]:
    """Number the keys of rows from `at` on; returns (how many were numbered, how many keys are new)."""
    return number_by(
        own.keys, own.by, message, at, rows, scratch[_WANTED], scratch[_SLOTS], scratch[_FRESH], scratch[_FRESH_ROWS]
    )


@kernel
def _not_folded(world: int, me: int, own: Running, at: int, wrong: int) -> int:
    """What it means that `fold_block` says so of rows from `at` on, a status: they come again, or a sum left its range.
    """
    if wrong == NO_ROOM:
        own.row = at
        return NEEDS_ROOM
    fail(world, me, -1, wrong, 0, 0)
    return FAILED


@kernel
def _made_null(world: int, me: int, fold: int) -> int:
    fail(world, me, -1, fold, 1, 0)
    return FAILED


@entry
def _answer_changes(world: int, me: int) -> int:
    """Fold a message's rows; the values so far of the keys in it, in the order in which they appear."""
    state, own = driven(world, me), own_record(world, me, Running)
    message = state.message
    rows, at = rows_of(message), own.row
    scratch = table_at(own.scratch, SCRATCH_ROWS, BLOCK)
    if own.listed == 0:
        own.listed, own.found = new_message(world, me, 0, rows), 0
        own.calls += 1
    changed = column_of(own.listed, 0)
    stamps = words_at(own.stamps, own.keys.places)
    keyed = with_key_words(world, own.key_words, message, own.width, own.by)
    if keyed == 0:
        return NEEDS_ROOM
    while at < rows:
        some = min(BLOCK, rows - at)
        done, added = _number(own, keyed, at, some, scratch)
        for i in range(added):
            start_slot(own.folds, scratch[_FRESH, i])
            stamps[scratch[_FRESH, i]] = -1
        if done < some:
            own.row = at
            return NEEDS_ROOM
        slots = scratch[_SLOTS][:some]
        wrong = fold_block(world, own.folds, message, at, slots, scratch[_CHOSEN], scratch[_PICKED])
        if wrong != -1:
            return _not_folded(world, me, own, at, wrong)
        own.found += distinct_slots(slots, stamps, own.calls, changed[own.found :])
        at += some
    changed = changed[: own.found]
    own.row = own.listed = 0
    reply = new_message(world, me, 0, len(changed))
    for column in range(own.by.count):
        gather(key_column(own.keys, column), changed, column_of(reply, column))
        values_of(own.key_words, column, column_of(reply, column))
    wrong = write_results(own.folds, changed, reply, own.by.count)
    if wrong >= 0:
        return _made_null(world, me, wrong)
    state.reply = reply
    return DONE


@entry
def _answer_each(world: int, me: int) -> int:
    """Fold a message's rows, one by one; of each the values so far of its key."""
    state, own = driven(world, me), own_record(world, me, Running)
    message = state.message
    rows, at, by = rows_of(message), own.row, own.by.count
    scratch = table_at(own.scratch, SCRATCH_ROWS, BLOCK)
    if own.listed == 0:
        own.listed = new_message(world, me, 0, rows)
    reply, one = own.listed, new_message(world, me, 0, 1)
    keyed = with_key_words(world, own.key_words, message, own.width, own.by)
    if keyed == 0:
        return NEEDS_ROOM
    while at < rows:
        some = min(BLOCK, rows - at)
        done, added = _number(own, keyed, at, some, scratch)
        for i in range(added):
            start_slot(own.folds, scratch[_FRESH, i])
        if done < some:
            own.row = at
            return NEEDS_ROOM
        slots = scratch[_SLOTS][:some]
        for column in range(by):
            values = column_of(reply, column)[at : at + some]
            gather(key_column(own.keys, column), slots, values)
            values_of(own.key_words, column, values)
        for i in range(some):
            slot = slots[i : i + 1]
            wrong = fold_block(world, own.folds, message, at + i, slot, scratch[_CHOSEN], scratch[_PICKED])
            if wrong != -1:
                return _not_folded(world, me, own, at + i, wrong)
            wrong = write_results(own.folds, slot, one, by)
            if wrong >= 0:
                return _made_null(world, me, wrong)
            for column in range(by, len(addresses_of(one))):
                column_of(reply, column)[at + i] = column_of(one, column)[0]
        at += some
    own.row = own.listed = 0
    state.reply = reply
    return DONE


@entry
def _answer_all(world: int, me: int) -> int:
    """Fold a message's rows, which are all of one group: its words of state, behind a 0, or its results so far."""
    state, own = driven(world, me), own_record(world, me, Running)
    message = state.message
    rows, at = rows_of(message), own.row
    scratch = table_at(own.scratch, SCRATCH_ROWS, BLOCK)
    if own.partial and at == 0:
        start_slot(own.folds, 0)
    slots = scratch[_SLOTS]
    slots[:] = 0
    if own.quick and rows > 0:
        bounds = scratch[_WANTED][:2]
        bounds[0], bounds[1] = 0, rows
        wrong, at = fold_stretches(own.folds, message, 0, 1, bounds, slots), rows
        if wrong != -1:
            return _not_folded(world, me, own, 0, wrong)
    while at < rows:
        some = slots[: min(BLOCK, rows - at)]
        wrong = fold_block(world, own.folds, message, at, some, scratch[_CHOSEN], scratch[_PICKED])
        if wrong != -1:
            return _not_folded(world, me, own, at, wrong)
        at += len(some)
    own.row = 0
    reply = new_message(world, me, 0, 1)
    if own.partial:
        column_of(reply, 0)[0] = 0
        write_partials(own.folds, slots[:1], reply, 1)
    else:
        wrong = write_results(own.folds, slots[:1], reply, 0)
        if wrong >= 0:
            return _made_null(world, me, wrong)
    state.reply = reply
    return DONE


@entry
def _answer_firsts(world: int, me: int) -> int:
    """The rows whose keys are new."""
    state, own = driven(world, me), own_record(world, me, Running)
    message = state.message
    rows, at = rows_of(message), own.row
    scratch = table_at(own.scratch, SCRATCH_ROWS, BLOCK)
    if own.listed == 0:
        own.listed, own.found = new_message(world, me, 0, rows), 0
    found = column_of(own.listed, 0)
    keyed = with_key_words(world, own.key_words, message, own.width, own.by)
    if keyed == 0:
        return NEEDS_ROOM
    while at < rows:
        some = min(BLOCK, rows - at)
        done, added = _number(own, keyed, at, some, scratch)
        for i in range(added):
            found[own.found + i] = at + scratch[_FRESH_ROWS, i]
        own.found += added
        if done < some:
            own.row = at
            return NEEDS_ROOM
        at += some
    found = found[: own.found]
    own.row = own.listed = 0
    if len(found) == rows:
        state.reply = alias_of(world_at(world), message, 0, own.width)
        return DONE
    reply = new_message(world, me, 0, len(found))
    for column in range(own.width):
        gather(column_of(message, column), found, column_of(reply, column))
    state.reply = reply
    return DONE


def compiled_changes(plan: Plan, each: bool) -> CompiledLogic:
    """Running aggregates by key; each: after each row, not each message."""
    state = RunningState(plan.schema, plan.by, plan, moved_tables(plan))
    return state.logic(_answer_each if each else _answer_changes)


def compiled_all(plan: Plan, partial: bool) -> CompiledLogic:
    """Running aggregates of all rows. partial: the state of each message's."""
    state = RunningState(plan.schema, (), plan, () if partial else moved_group(plan))
    state.own.partial = partial
    return state.logic(_answer_all)


def compiled_firsts(schema: Schema, by: Sequence[str]) -> CompiledLogic:
    """The first row of each key, of words."""
    return RunningState(schema, by, None, moved_keys(schema, by)).logic(_answer_firsts)


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
