"""A join's results in compiled operators: messages put together from rows of a message and rows that are kept."""

import numpy as np

from tokenring.engine import Schema, kernel
from tokenring.engine.compiled import address_of, claim, column_of, new_message, point_to, table_at, words_at, world_at
from tokenring.operators.folds import gather
from tokenring.operators.joins.compiled.kept_rows import SIDE_WORDS, LinkedSide, kept_column
from tokenring.operators.joins.kept import LEFT, RIGHT, JoinedColumns, Side, UniqueSide
from tokenring.operators.state import KeptTexts

# Words: where the table of columns is, how many there are, then the words of both sides.
_TABLE, _WIDTH, _SIDES = range(3)
JOINED_WORDS = _SIDES + 2 * SIDE_WORDS
# Words of a column: the side that has it, its position in that side's messages and in what is kept of it; the same of
# where it is in rows of the right side alone; the word that stands for null; where _KEPT is -1, the position in the
# other side's messages of what is the same in pairs.
_SIDE, _POSITION, _KEPT, _INSTEAD, _INSTEAD_POSITION, _INSTEAD_KEPT, _NULL, _TWIN = range(8)
_COLUMN_WORDS = 8


@kernel
def scratch(world, count):  # type: ignore[no-untyped-def]
    """Words to write to, good until the round's end."""
    return words_at(claim(world_at(world), 8 * count), count)


@kernel
def side_at(at, side):  # type: ignore[no-untyped-def]
    """The first of a side's words; `at`: the first that `LinkedResults.link` wrote."""
    return at + _SIDES + side * SIDE_WORDS


@kernel
def _columns(own, at):  # type: ignore[no-untyped-def]
    return table_at(own[at + _TABLE], own[at + _WIDTH], _COLUMN_WORDS)


@kernel
def _gather_found(words, places, null, column):  # type: ignore[no-untyped-def]
    for i in range(len(places)):
        column[i] = words[places[i]] if places[i] >= 0 else null


@kernel
def pairs_of(world, me, own, at, side, message, rows, places):  # type: ignore[no-untyped-def]
    """A message of rows of one side's message, all of them if `rows` has no length, each beside what the other side
    keeps at a place; nulls where that is -1."""
    made = new_message(world, me, 0, len(places))
    columns = _columns(own, at)
    for number in range(len(columns)):
        target, position = column_of(made, number), -1
        if columns[number, _SIDE] == side:
            position = columns[number, _POSITION]
        elif columns[number, _KEPT] < 0:
            position = columns[number, _TWIN]
        if position >= 0 and len(rows) == 0:
            point_to(made, number, column_of(message, position).ctypes.data)
        elif position >= 0:
            gather(column_of(message, position), rows, target)
        else:
            kept = kept_column(own, side_at(at, 1 - side), columns[number, _KEPT])
            _gather_found(kept, places, columns[number, _NULL], target)
    return made


@kernel
def alone_of(world, me, own, at, side, message, rows):  # type: ignore[no-untyped-def]
    """A message of rows of one side, those of a message, or where that is 0 of places of what is kept, beside nulls."""
    made = new_message(world, me, 0, len(rows))
    columns = _columns(own, at)
    first = _SIDE if side == LEFT else _INSTEAD
    for number in range(len(columns)):
        target = column_of(made, number)
        if columns[number, first] != side:
            target[:] = columns[number, _NULL]
        elif message != 0:
            gather(column_of(message, columns[number, first + _POSITION]), rows, target)
        else:
            gather(kept_column(own, side_at(at, side), columns[number, first + _KEPT]), rows, target)
    return made


class LinkedResults:
    """Both sides and the columns of the result, and the words that say where they are. arriving: the schemas of both
    sides' messages. sides: None for one of which nothing is kept. kept: the names of the columns that are kept of each;
    those that are not have a twin."""

    def __init__(
        self,
        columns: JoinedColumns,
        arriving: tuple[Schema, Schema],
        sides: tuple[Side | UniqueSide | None, Side | UniqueSide],
        kept: tuple[tuple[str, ...], tuple[str, ...]],
    ) -> None:
        self._table = np.zeros((len(columns.sources), _COLUMN_WORDS), np.int64)
        for row, (side, name), other, kind in zip(
            self._table, columns.sources, columns.instead, columns.schema.kinds, strict=True
        ):
            at, twin = kept[side].index(name) if name in kept[side] else -1, columns.twin(side, name)
            source = side, arriving[side].position(name), at
            instead = source
            if other is not None:
                instead = RIGHT, arriving[RIGHT].position(other), kept[RIGHT].index(other)
            beside = -1 if twin is None else arriving[1 - side].position(twin)
            row[:] = *source, *instead, kind.null, beside
        self._sides = [
            None if side is None else LinkedSide(side, np.array([schema.position(name) for name in names], np.int64))
            for side, schema, names in zip(sides, arriving, kept, strict=True)
        ]

    @property
    def texts(self) -> list[KeptTexts | None]:
        """Where each side's texts are kept; None where there are none."""
        return [None if side is None else side.texts for side in self._sides]

    def link(self, words: np.ndarray, at: int) -> None:
        """Write down where everything is now, in JOINED_WORDS words from `at` on. To be repeated when it has grown."""
        words[at + _TABLE], words[at + _WIDTH] = address_of(self._table), len(self._table)
        for number, side in enumerate(self._sides):
            if side is not None:
                side.link(words, at + _SIDES + number * SIDE_WORDS)
