"""A join's results in compiled operators: messages put together from rows of a message and rows that are kept."""

from collections.abc import Sequence

import numpy as np

from tokenring.engine import Schema, kernel
from tokenring.engine.compiled import (
    Record,
    Words,
    address_of,
    column_of,
    lease,
    new_message,
    point_to,
    records_at,
    words_at,
    world_at,
)
from tokenring.operators.joins.compiled.kept_rows import KeptRows, LinkedSide, kept_column
from tokenring.operators.joins.kept import LEFT, RIGHT, JoinedColumns, Side, UniqueSide
from tokenring.operators.state import KeptTexts, gather


class ResultColumn(Record):
    """A column of results: the side that has it, its position in that side's messages and in what is kept of it; the
    same of where it is in rows of the right side alone; the word that stands for null; where `kept` is -1, the position
    in the other side's messages of what is the same in pairs."""

    side: int
    position: int
    kept: int
    instead: int
    instead_position: int
    instead_kept: int
    null: int
    twin: int


class Results(Record):
    """Where the table of columns is, how many there are, and both sides."""

    table: int
    width: int
    left: KeptRows
    right: KeptRows


@kernel
def scratch(world: int, count: int) -> Words:
    """Words to write to, good until the round's end."""
    return words_at(lease(world_at(world), 8 * count), count)


@kernel
def side_of(results: Results, side: int) -> KeptRows:
    """What is kept of a side."""
    return results.left if side == LEFT else results.right


@kernel
def _columns(results: Results) -> Sequence[ResultColumn]:
    return records_at(results.table, results.width, ResultColumn)


@kernel
def _gather_found(words: Words, places: Words, null: int, column: Words) -> None:
    for i in range(len(places)):
        column[i] = words[places[i]] if places[i] >= 0 else null


@kernel
def pairs_of(world: int, me: int, results: Results, side: int, message: int, rows: Words, places: Words) -> int:
    """A message of rows of one side's message, all of them if `rows` has no length, each beside what the other side
    keeps at a place; nulls where that is -1."""
    made = new_message(world, me, 0, len(places))
    columns = _columns(results)
    for number in range(len(columns)):
        target, position = column_of(made, number), -1
        if columns[number].side == side:
            position = columns[number].position
        elif columns[number].kept < 0:
            position = columns[number].twin
        if position >= 0 and len(rows) == 0:
            point_to(made, number, column_of(message, position).ctypes.data)
        elif position >= 0:
            gather(column_of(message, position), rows, target)
        else:
            kept = kept_column(side_of(results, 1 - side), columns[number].kept)
            _gather_found(kept, places, columns[number].null, target)
    return made


@kernel
def alone_of(world: int, me: int, results: Results, side: int, message: int, rows: Words, output: int = 0) -> int:
    """A message for an output, of rows of one side, those of a message, or where that is 0 of places of what is kept,
    beside nulls."""
    made = new_message(world, me, output, len(rows))
    columns = _columns(results)
    for number in range(len(columns)):
        column, target = columns[number], column_of(made, number)
        whose, position, kept = column.side, column.position, column.kept
        if side == RIGHT:
            whose, position, kept = column.instead, column.instead_position, column.instead_kept
        if whose != side:
            target[:] = column.null
        elif message != 0:
            gather(column_of(message, position), rows, target)
        else:
            gather(kept_column(side_of(results, side), kept), rows, target)
    return made


class LinkedResults:
    """Both sides and the columns of the result, and what says where they are. arriving: the schemas of both
    sides' messages. sides: None for one of which nothing is kept. kept: the names of the columns that are kept of each;
    those that are not have a twin."""

    def __init__(
        self,
        columns: JoinedColumns,
        arriving: tuple[Schema, Schema],
        sides: tuple[Side | UniqueSide | None, Side | UniqueSide],
        kept: tuple[tuple[str, ...], tuple[str, ...]],
    ) -> None:
        self._table = np.zeros((len(columns.sources), ResultColumn.size), np.int64)
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

    def link(self, results: Results) -> None:
        """Write down where everything is now. To be repeated when it has grown."""
        results.table, results.width = address_of(self._table), len(self._table)
        for side, kept in zip(self._sides, (results.left, results.right), strict=True):
            if side is not None:
                side.link(kept)
