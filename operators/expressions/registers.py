"""Values of a program, and the machine's registers that they are kept in."""

from typing import NamedTuple

import numpy as np

from tokenring.operators.expressions.machine import BLOCK, COMPACT, COPY, FILTER, SELECT

CONSTANT = -1
"""The operation of a value that is the constant `c`; with `d` 1, the word of a constant text."""
NOBODY = -1


class Value(NamedTuple):
    """What an instruction computes: its operation, the values it reads, parameters, and whose rows may raise."""

    operation: int
    arguments: tuple[int, ...] = ()
    c: int = 0
    d: int = 0
    guard: int = NOBODY

    @property
    def reads(self) -> tuple[int, ...]:
        return self.arguments if self.guard == NOBODY else (*self.arguments, self.guard)


class Registers:
    """Gives values registers, which are used again once nobody reads the value."""

    def __init__(self, values: list[Value], lines: list[tuple[int, int]], made_at: dict[int, int]) -> None:
        self._values = values
        self._lines = lines
        self._made_at = made_at
        self._last: dict[int, int] = {}
        for at, (kind, value) in enumerate(lines):
            for each in (value,) if kind in (FILTER, COPY) else values[value].reads:
                self._last[each] = at

    def assign(
        self, outputs: dict[int, int], direct: dict[int, int]
    ) -> tuple[list[tuple[tuple[int, ...], int]], np.ndarray]:
        """The table's rows, each with the value it is about, and the registers with constants filled in. outputs: the
        columns to be written; direct: those of them that an instruction writes as it computes them.
        """
        place: dict[int, int] = {}
        constants = [value for value in self._last if self._values[value].operation == CONSTANT]
        for value in constants:
            place[value] = len(place)
        free: list[int] = []
        count = len(place)
        table: list[tuple[tuple[int, ...], int]] = []
        for at, (kind, value) in enumerate(self._lines):
            made = self._values[value]
            reads = (value,) if kind in (FILTER, COPY) else made.reads
            if kind == FILTER:
                table.append(((FILTER, 0, place[value], 0, 0, 0, -1, -1), value))
                for other, last in self._last.items():
                    if last > at and self._made_at.get(other, at) < at:
                        table.append(((COMPACT, place[other], 0, 0, 0, 0, -1, -1), value))
            else:
                if not free:
                    free.append(count)
                    count += 1
                target = free.pop()
                if kind == COPY:
                    table.append(((COPY, target, place[value], 0, 0, 0, outputs[value], -1), value))
                    free.append(target)
                else:
                    place[value] = target
                    table.append((_line(made, target, place, direct.get(value, -1)), value))
                    if value not in self._last:
                        free.append(target)
            for each in set(reads):
                if self._last[each] == at and self._values[each].operation != CONSTANT:
                    free.append(place[each])
        registers = np.zeros((max(count, 1), BLOCK), np.int64)
        for value in constants:
            registers[place[value]] = self._values[value].c
        return table, registers


def _line(made: Value, target: int, place: dict[int, int], output: int) -> tuple[int, ...]:
    registers = [place[each] for each in made.arguments] + [0, 0]
    c = registers[2] if made.operation == SELECT else made.c
    guard = NOBODY if made.guard == NOBODY else place[made.guard]
    return made.operation, target, registers[0], registers[1], c, made.d, output, guard
