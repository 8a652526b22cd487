"""Sets of different values in compiled operators: what `DistinctValues` does, by the same tables."""

from tokenring.engine import kernel
from tokenring.engine.compiled import column_of, table_at, words_at
from tokenring.operators.folds.compiled_tables import (
    CHAIN_NEXT,
    CHAINED,
    CHAINED_LENGTH,
    FLAG,
    FLAGS,
    NULL,
    NULLABLE,
    PAIR_SOURCES,
    SET,
    SET_COLUMN,
    SET_SCRATCH,
    SET_SCRATCH_ROWS,
    WHERE,
    accumulated,
    folds_of,
    sets_of,
)
from tokenring.operators.folds.kernels import BLOCK
from tokenring.operators.state import PLACES, SOURCE_WORDS, chain, forget_slots, have_column, number_rows

_SLOTS, _VALUES, _ASKED, _PAIRS, _WANTED, _FRESH, _FRESH_ROWS = range(SET_SCRATCH_ROWS)


@kernel
def _ask(folds, number, message, start, values, asked):  # type: ignore[no-untyped-def]
    """Of each row, for which of the folds that share a set its value is to be there: their flags."""
    asked[:] = 0
    for fold in range(len(folds)):
        row = folds[fold]
        if row[SET] != number:
            continue
        conditions = values
        if row[WHERE] >= 0:
            conditions = column_of(message, row[WHERE])[start : start + len(values)]
        for i in range(len(values)):
            if (row[WHERE] < 0 or conditions[i] == 1) and not (row[NULLABLE] and values[i] == row[NULL]):
                asked[i] |= row[FLAG]


@kernel
def _number_pairs(row, slots, values, scratch):  # type: ignore[no-untyped-def]
    """Number pairs of slot and value; returns for how many there was room."""
    count = len(slots)
    sources, wanted, fresh = table_at(row[PAIR_SOURCES], 2, SOURCE_WORDS), scratch[_WANTED][:count], scratch[_FRESH]
    have_column(sources, 0, slots)
    have_column(sources, 1, values)
    owners = scratch[_FRESH_ROWS]
    done, added = number_rows(row, 0, sources, wanted, scratch[_PAIRS][:count], fresh, owners)
    flags, following = words_at(row[FLAGS], row[PLACES]), words_at(row[CHAIN_NEXT], row[PLACES])
    for i in range(added):
        owners[i] = slots[owners[i]]
        flags[fresh[i]] = 0
    chain(fresh[:added], owners[:added], words_at(row[CHAINED], row[CHAINED_LENGTH]), following)
    return done


@kernel
def fold_sets(own, at, message, start, slots):  # type: ignore[no-untyped-def]
    """Add the values of a message's rows from `start` on to the sets of their slots; count those that are new there.
    False if there was no room: what was added then is not new the next time."""
    folds, state, sets = folds_of(own, at), accumulated(own, at), sets_of(own, at)
    scratch = table_at(own[at + SET_SCRATCH], SET_SCRATCH_ROWS, BLOCK)
    for number in range(len(sets)):
        row = sets[number]
        values = column_of(message, row[SET_COLUMN])[start : start + len(slots)]
        asked = scratch[_ASKED][: len(slots)]
        _ask(folds, number, message, start, values, asked)
        found = 0
        for i in range(len(slots)):
            if asked[i] != 0:
                scratch[_SLOTS, found], scratch[_VALUES, found], asked[found] = slots[i], values[i], asked[i]
                found += 1
        done = _number_pairs(row, scratch[_SLOTS][:found], scratch[_VALUES][:found], scratch)
        flags = words_at(row[FLAGS], row[PLACES])
        for i in range(done):
            pair = scratch[_PAIRS, i]
            fresh = asked[i] & ~flags[pair]
            if fresh != 0:
                flags[pair] |= fresh
                _count(folds, number, fresh, state, scratch[_SLOTS, i])
        if done < found:
            return False
    return True


@kernel
def _count(folds, number, fresh, state, slot):  # type: ignore[no-untyped-def]
    """A value is new to the folds of these flags."""
    for fold in range(len(folds)):
        if folds[fold, SET] == number and folds[fold, FLAG] & fresh != 0:
            state[fold, slot] += 1


@kernel
def drop_sets(own, at, slots):  # type: ignore[no-untyped-def]
    """Forget all values of slots."""
    sets = sets_of(own, at)
    for number in range(len(sets)):
        row = sets[number]
        first, following = words_at(row[CHAINED], row[CHAINED_LENGTH]), words_at(row[CHAIN_NEXT], row[PLACES])
        pair = words_at(own[at + SET_SCRATCH], 1)
        for slot in slots:
            following_one = first[slot]
            while following_one != 0:
                pair[0] = following_one - 1
                following_one = following[pair[0]]
                forget_slots(row, 0, pair)
            first[slot] = 0
