"""The machine that computes expressions: a table of instructions, run over blocks of rows that stay in the cache.

An instruction is a row (operation, target, first, second, c, d, output, guard): register numbers, two parameters, the
output column that is written at once (or -1), and the register whose rows alone may raise (or -1). Registers hold
`BLOCK` words; constants are registers that nobody writes. After a filter, registers that are still needed are
compacted, and columns read later are gathered, so what follows works on the rows that are left and on nothing else.
"""


from tokenring.engine import COLUMN, TABLE, WORDS, int64, kernel
from tokenring.engine.compiled import Words, signed
from tokenring.engine.raw import words_at
from tokenring.operators.expressions.machine.blocks import (
    INT_ADD,
    INT_EQ,
    INT_GREATEST,
    INT_TO_REAL,
    REAL_ADD,
    REAL_GREATEST,
    REAL_LE,
    UINT_ADD,
    UINT_GREATEST,
    UINT_TO_INT,
    compare,
    convert,
    first_fault,
    real,
    unsigned,
    whole,
)
from tokenring.operators.expressions.machine.calendar_blocks import calendar_field, date_field
from tokenring.operators.expressions.machine.exact_blocks import FIRST_EXACT, exact, first_inexact
from tokenring.operators.expressions.machine.text_blocks import (
    first_unknown,
    known,
    text_count,
    text_length,
    text_relation,
)

BLOCK = 512
WIDTH = 8
"""Words of an instruction."""
LOAD, FILTER, COMPACT, COPY, AND, OR, NOT, AND_NULL, OR_NULL, NOT_NULL, NULLIFY, SELECT = range(38, 50)
IS_NULL, IN, CALENDAR, KEY_RANGE = range(50, 54)
TEXT_EQ, TEXT_STARTS, TEXT_ENDS, TEXT_CONTAINS, TEXT_COUNT, TEXT_LENGTH, KNOWN = range(54, 61)
FITS, ROUND, CUT, DECIMAL_TO_REAL, REAL_TO_DECIMAL = range(FIRST_EXACT, FIRST_EXACT + 5)
_SIGN = -(2**63)
_REST = 2**63 - 1

OPERATIONS = {
    **{f"int{sign}": INT_ADD + at for at, sign in enumerate(("+", "-", "*", "//", "%", "least", "greatest"))},
    **{f"uint{sign}": UINT_ADD + at for at, sign in enumerate(("+", "-", "*", "//", "%", "least", "greatest"))},
    **{f"float{sign}": REAL_ADD + at for at, sign in enumerate(("+", "-", "*", "/", "//", "%", "least", "greatest"))},
    **{f"int{sign}": INT_EQ + at for at, sign in enumerate(("==", "!=", "<", "<="))},
    **{f"uint{sign}": INT_EQ + 4 + at for at, sign in enumerate(("<", "<="))},
    **{f"float{sign}": INT_EQ + 6 + at for at, sign in enumerate(("==", "!=", "<", "<="))},
    **{
        cast: INT_TO_REAL + at
        for at, cast in enumerate(("int>float", "uint>float", "float>int", "float>uint", "int>uint", "uint>int"))
    },
    "in": IN,
    "calendar": CALENDAR,
    "range": KEY_RANGE,
    "is_null": IS_NULL,
    "text==": TEXT_EQ,
    "starts_with": TEXT_STARTS,
    "ends_with": TEXT_ENDS,
    "contains": TEXT_CONTAINS,
    "count_of": TEXT_COUNT,
    "length": TEXT_LENGTH,
    "known": KNOWN,
    "fits": FITS,
    "decimal round": ROUND,
    "decimal cut": CUT,
    "decimal>float": DECIMAL_TO_REAL,
    "float>decimal": REAL_TO_DECIMAL,
}
"""Of terms that are one instruction."""
CHECKED = {
    *(OPERATIONS[f"int{sign}"] for sign in ("+", "-", "*", "//", "%")),
    *(OPERATIONS[f"uint{sign}"] for sign in ("+", "-", "*", "//", "%")),
    *range(INT_TO_REAL + 2, UINT_TO_INT + 1),
    KNOWN,
    FITS,
    REAL_TO_DECIMAL,
}
"""Instructions that may raise."""
RANGED = {"calendar", "fits", "decimal round", "decimal cut", "decimal>float", "float>decimal"}
"""Operations with two parameters, which their terms have as values."""


@kernel
def _logic(op: int, target: int, first: int, second: int, count: int) -> None:
    """On 0, 1 and 2, which is null: null & False is False, null | True is True."""
    t, a, b = words_at(target, count), words_at(first, count), words_at(second, count)
    if op == AND:
        for i in range(count):
            t[i] = a[i] & b[i]
    elif op == OR:
        for i in range(count):
            t[i] = a[i] | b[i]
    elif op == NOT:
        for i in range(count):
            t[i] = a[i] ^ 1
    elif op == AND_NULL:
        for i in range(count):
            t[i] = 0 if a[i] == 0 or b[i] == 0 else max(a[i], b[i])
    elif op == OR_NULL:
        for i in range(count):
            t[i] = 1 if a[i] == 1 or b[i] == 1 else max(a[i], b[i])
    else:
        for i in range(count):
            t[i] = 2 if a[i] == 2 else a[i] ^ 1


@kernel
def _choose(op: int, target: int, first: int, second: int, third: int, c: int, d: int, pool: Words, count: int) -> None:
    """Operations with constants, and the choice of `second` where `first` is 1, `third` elsewhere."""
    t, a, b = words_at(target, count), words_at(first, count), words_at(second, count)
    if op == SELECT:
        other = words_at(third, count)
        for i in range(count):
            t[i] = b[i] if a[i] == 1 else other[i]
    elif op == NULLIFY:
        for i in range(count):
            t[i] = d if b[i] == c else a[i]
    elif op == IS_NULL:
        for i in range(count):
            t[i] = signed(a[i] == c)
    elif op == COPY:
        for i in range(count):
            t[i] = a[i]
    elif op == IN:
        for i in range(count):
            low, high = c, c + d
            while low < high:
                middle = (low + high) // 2
                if pool[middle] < a[i]:
                    low = middle + 1
                else:
                    high = middle
            t[i] = signed(low < c + d and pool[low] == a[i])
    elif op == CALENDAR:
        if d == 1:
            for i in range(count):
                t[i] = date_field(c, a[i])
        else:
            for i in range(count):
                t[i] = calendar_field(c, a[i])
    else:  # KEY_RANGE
        kind, inside = pool[c], pool[c + 3] != 0
        for i in range(count):
            key = a[i]
            if kind == 1:
                key ^= _SIGN
            elif kind == 2 and key < 0:
                key ^= _REST
            t[i] = signed((pool[c + 1] <= key <= pool[c + 2]) == inside)


SCRATCH_ROWS = 3
"""Of `run`: registers' addresses, rows' numbers, and which of them are kept."""


@kernel(int64(COLUMN))
def words_address(words: Words) -> int:
    """The address of a column of int64, several times quicker than numpy says it."""
    return words.ctypes.data


@kernel(int64(TABLE, WORDS, WORDS, WORDS, TABLE, TABLE, WORDS, WORDS, WORDS, int64))
def run(
    program: Words, columns: Words, heaps: Words, outputs: Words, registers: Words, scratch: Words, pool: Words,
    chosen: Words, fault: Words, rows: int,
) -> int:  # fmt: skip
    """Run a program over `rows` rows. Returns how many are left; -1 - n if instruction n failed, at row `fault[0]`.

    columns, heaps: addresses by number, heaps of text columns and of constants; outputs: addresses of columns to be
    written, of `rows` words each; registers: int64 (registers, BLOCK), with constants filled in; scratch: int64
    (SCRATCH_ROWS, as many as BLOCK or registers); pool: constants of instructions; chosen: gets the rows' numbers, if
    there are filters.
    """
    found = 0
    addresses, numbers, kept = scratch[0], scratch[1], scratch[2]
    base = registers.ctypes.data
    for start in range(0, rows, BLOCK):
        count = min(BLOCK, rows - start)
        dense, dropped = True, False
        for at in range(registers.shape[0]):
            addresses[at] = base + at * BLOCK * 8
        for line in range(program.shape[0]):
            op, target, c, d = program[line, 0], program[line, 1], program[line, 4], program[line, 5]
            if op == FILTER:
                passed = words_at(addresses[program[line, 2]], count)
                left = 0
                for i in range(count):
                    kept[left] = i
                    left += passed[i] == 1
                dropped = left < count
                if dropped:
                    for i in range(left):
                        numbers[i] = start + kept[i] if dense else numbers[kept[i]]
                    dense, count = False, left
                    if count == 0:
                        break
                continue
            if op == COMPACT:
                if dropped:
                    source = words_at(addresses[target], BLOCK)
                    own = words_at(base + target * BLOCK * 8, BLOCK)
                    for i in range(count):
                        own[i] = source[kept[i]]
                    addresses[target] = base + target * BLOCK * 8
                continue
            if op == LOAD:
                if dense:
                    addresses[target] = columns[c] + start * 8
                else:
                    column, own = words_at(columns[c], rows), words_at(base + target * BLOCK * 8, BLOCK)
                    for i in range(count):
                        own[i] = column[numbers[i]]
                    addresses[target] = base + target * BLOCK * 8
                continue
            first, second = addresses[program[line, 2]], addresses[program[line, 3]]
            output = program[line, 6]
            own_address = base + target * BLOCK * 8 if output < 0 else outputs[output] + found * 8
            addresses[target] = own_address
            bad = False
            if op <= INT_GREATEST:
                bad = whole(op, own_address, first, second, count, c, d)
            elif op <= UINT_GREATEST:
                bad = unsigned(op, own_address, first, second, count)
            elif op <= REAL_GREATEST:
                real(op, own_address, first, second, count)
            elif op <= REAL_LE:
                compare(op, own_address, first, second, count)
            elif op <= UINT_TO_INT:
                bad = convert(op, own_address, first, count)
            elif op <= NOT_NULL and op >= AND:
                _logic(op, own_address, first, second, count)
            elif op >= FIRST_EXACT:
                bad = exact(op, own_address, first, c, d, count)
            elif op == KNOWN:
                bad = known(own_address, first, c, count)
            elif op == TEXT_LENGTH:
                text_length(own_address, first, heaps[c], d, count)
            elif op == TEXT_COUNT:
                text_count(own_address, first, second, heaps[c], heaps[d], count)
            elif op >= TEXT_EQ:
                text_relation(op - TEXT_EQ, own_address, first, second, heaps[c], heaps[d], count)
            else:
                third = addresses[c] if op == SELECT else first
                _choose(op, own_address, first, second, third, c, d, pool, count)
            if bad:
                guard = addresses[program[line, 7]] if program[line, 7] >= 0 else 0
                if op == KNOWN:
                    wrong = first_unknown(first, c, guard, count)
                elif op >= FIRST_EXACT:
                    wrong = first_inexact(op, first, c, d, guard, count)
                else:
                    wrong = first_fault(op, first, second, guard, count)
                if wrong >= 0:
                    fault[0] = start + wrong if dense else numbers[wrong]
                    return -1 - line
        if len(chosen) > 0:
            for i in range(count):
                chosen[found + i] = start + i if dense else numbers[i]
        found += count
    return found
