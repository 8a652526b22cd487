"""Updates of keys, found in all batches of a spine by one call."""


from tokenring.engine import TABLE, WORDS, int64, kernel, void
from tokenring.engine.compiled import table_at
from tokenring.operators.collections.updates.merging import find_rows

# A row of a spine's table of batches: where a batch's words are, how many rows there is room for, how many there are.
ADDRESS, ROOM, ROWS = range(3)
BATCH_WORDS = 3


@kernel(int64(TABLE, int64, int64, int64, TABLE, int64, TABLE, TABLE))
def find_all(batches, count, columns, keys, asked, number, starts, stops):  # type: ignore[no-untyped-def]
    """Where each batch has the rows of each of `number` keys; how many these are in all. columns: of each batch; keys:
    of how many columns a key is; asked: int64 (keys, at least number), in order; starts, stops: int64 (batches, at
    least number), written."""
    total = 0
    for batch in range(count):
        table = table_at(batches[batch, ADDRESS], columns, batches[batch, ROOM])
        find_rows(table, batches[batch, ROWS], keys, asked, number, starts[batch], stops[batch])
        for key in range(number):
            total += stops[batch, key] - starts[batch, key]
    return total


@kernel(void(TABLE, int64, int64, int64, int64, TABLE, TABLE, TABLE, WORDS))
def copy_found(batches, count, columns, keys, number, starts, stops, target, bounds):  # type: ignore[no-untyped-def]
    """Copy the rows that were found, key by key, without their keys. target: (columns - keys, rows found); bounds:
    (at least number + 1,): where those of each key begin."""
    at = 0
    for key in range(number):
        bounds[key] = at
        for batch in range(count):
            first, last = starts[batch, key], stops[batch, key]
            if first < last:
                table = table_at(batches[batch, ADDRESS], columns, batches[batch, ROOM])
                for column in range(keys, columns):
                    for row in range(first, last):
                        target[column - keys, at + row - first] = table[column, row]
                at += last - first
    bounds[number] = at


@kernel(int64(TABLE, int64, int64, TABLE, WORDS))
def distinct_keys(table, rows, keys, target, bounds):  # type: ignore[no-untyped-def]
    """The different keys of a consolidated table's first rows: how many, written to target (keys, at least so many),
    and where the rows of each begin, and all end, to bounds."""
    made = 0
    for row in range(rows):
        is_new = row == 0
        for column in range(keys):
            is_new |= row > 0 and table[column, row] != table[column, row - 1]
        if is_new:
            for column in range(keys):
                target[column, made] = table[column, row]
            bounds[made] = row
            made += 1
    bounds[made] = rows
    return made
