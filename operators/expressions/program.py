"""Programs for the machine: steps of terms, lowered to values, those nobody needs left out, and given registers."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from tokenring.engine import Schema
from tokenring.engine.raw import LENGTH_BITS
from tokenring.operators.expressions.constants import kind_named, null_word
from tokenring.operators.expressions.machine import (
    AND,
    AND_NULL,
    CHECKED,
    COPY,
    FILTER,
    IS_NULL,
    KNOWN,
    LOAD,
    NOT,
    NOT_NULL,
    NULLIFY,
    OPERATIONS,
    OR,
    OR_NULL,
    RANGED,
    SELECT,
    TEXT_LENGTH,
    WIDTH,
    magic_for,
)
from tokenring.operators.expressions.registers import CONSTANT, NOBODY, Registers, Value
from tokenring.operators.expressions.terms import CHOOSE, TEXTS, Term

_MAKES_NUMBERS = {
    *(f"{kind}{sign}" for kind in ("int", "uint") for sign in ("+", "-", "*", "//", "%", "least", "greatest")),
    "float>int",
}
_MAKES_TIMES = {"int+", "int-", "copy"}
"""Operations whose result may be the number that stands for null although no argument is: where it may be null; and as
times, which never are that number."""


class Step(NamedTuple):
    """Rows for which `condition` (None: all) is true, as `columns` of the rows before, which make `schema`."""

    condition: Term | None
    columns: dict[str, Term]
    schema: Schema


class Program:
    """Adjacent steps as one table of instructions; see operators/expressions/machine/."""

    def __init__(self, schema: Schema, place: Callable[[bytes], int] | None = None) -> None:
        """schema: of the batches that go in; place: the word of a constant text in the heap that all text is in; None:
        each column's is its own, and so is that of the constants, which become `literals`."""
        self.pool: list[int] = []
        self.literals = bytearray()
        self.has_filters = False
        self._columns = len(schema)
        self._place = place
        self._values: list[Value] = []
        self._numbers: dict[Value, int] = {}
        self._texts: dict[int, str] = {}
        self._filters: list[tuple[int, int]] = []  # how many values there were, the condition's value
        self._names = {name: self._value(Value(LOAD, (), at)) for at, name in enumerate(schema.names)}

    def add(self, step: Step) -> None:
        """One more step; its terms are over the columns of the one before."""
        if step.condition is not None:
            condition = self._lower(step.condition, NOBODY)
            self._filters.append((len(self._values), condition))
            self.has_filters = True
        self._names = {name: self._lower(term, NOBODY) for name, term in step.columns.items()}

    def _value(self, value: Value, text: str = "") -> int:
        number = self._numbers.get(value)
        if number is None:
            number = self._numbers[value] = len(self._values)
            self._values.append(value)
            self._texts[number] = text
        return number

    def _both(self, first: int, second: int) -> int:
        """Where both are 1, or the second alone if the first is nobody."""
        return second if first == NOBODY else self._value(Value(AND, (first, second)))

    def _constant(self, term: Term) -> int:
        word = term.value
        if term.kind not in TEXTS:
            return self._value(Value(CONSTANT, (), word))
        if word is None:
            return self._value(Value(CONSTANT, (), -1, 1))
        if self._place is not None:
            return self._value(Value(CONSTANT, (), self._place(word), 1))
        at = len(self.literals)
        self.literals += word
        return self._value(Value(CONSTANT, (), at << LENGTH_BITS | len(word), 1))

    def _lower(self, term: Term, guard: int) -> int:
        operation = term.operation
        if operation == "column":
            return self._names[term.value]
        if operation == "constant":
            return self._constant(term)
        if operation == "case" or (operation == "text" and term.value == CHOOSE):
            return self._case(term, guard)
        values = [self._lower(argument, guard) for argument in term.arguments]
        if operation == "not_null_word":
            return self._no_null(term, values[0], guard)
        if operation in ("and", "or"):
            plain = AND if operation == "and" else OR
            known = AND_NULL if operation == "and" else OR_NULL
            return self._value(Value(known if term.nullable else plain, tuple(values)))
        if operation == "not":
            return self._value(Value(NOT_NULL if term.nullable else NOT, tuple(values)))
        if operation == "is_null":
            return self._is_null(term.arguments[0], values[0])
        result = values[0] if operation == "copy" else self._instruction(term, values, guard)
        is_time = kind_named(term.kind).is_instant and not (operation == "copy" and term.nullable)
        if (term.nullable and operation in _MAKES_NUMBERS) or (is_time and operation in _MAKES_TIMES):
            result = self._no_null(term, result, self._where_there(term.arguments, values, guard))
        for argument, value in zip(term.arguments, values, strict=True):
            before, after = null_word(argument.kind), null_word(term.kind)
            if argument.nullable and not (value == result and before == after):
                result = self._value(Value(NULLIFY, (result, value), before, after))
        return result

    def _is_null(self, term: Term, value: int) -> int:
        if not term.nullable:
            return self._value(Value(CONSTANT, (), 0))
        return self._value(Value(IS_NULL, (value,), null_word(term.kind)))

    def _instruction(self, term: Term, values: list[int], guard: int) -> int:
        code, c, d = OPERATIONS[term.operation], 0, 0
        if term.operation in ("in", "range"):
            c, d = len(self.pool), len(term.value)
            self.pool += term.value
        elif code == TEXT_LENGTH:
            c, d = self._heap(values[0]), term.value
        elif term.operation in ("text==", "starts_with", "ends_with", "contains", "count_of"):
            c, d = self._heap(values[0]), self._heap(values[1])
        elif term.operation in RANGED:
            c, d = term.value
        elif term.operation == "known":
            c = null_word(term.kind)
        elif len(values) == 2 and self._values[values[1]].operation == CONSTANT:
            c, divisor = 1, self._values[values[1]].c
            if term.operation in ("int//", "int%") and divisor > 1:
                d, shift = magic_for(divisor)
                c = 1 + shift
        if code not in CHECKED:
            return self._value(Value(code, tuple(values), c, d))
        there = self._where_there(term.arguments, values, guard)
        return self._value(Value(code, tuple(values), c, d, there), term.text)

    def _where_there(self, terms: tuple[Term, ...], values: list[int], guard: int) -> int:
        """Where the guard is 1, and none of the terms' values is null."""
        for term, value in zip(terms, values, strict=True):
            if term.nullable:
                guard = self._both(guard, self._value(Value(NOT, (self._is_null(term, value),))))
        return guard

    def _no_null(self, term: Term, value: int, guard: int) -> int:
        """The value, which must not be the number that stands for null in the term's kind, where one does."""
        kind = kind_named(term.kind)
        if not (kind.null_is_a_number or kind.is_instant):
            return value
        return self._value(Value(KNOWN, (value,), null_word(term.kind), 1, guard), term.text)

    def _heap(self, value: int) -> int:
        """The number of the heap that a text's words point into."""
        if self._place is not None:
            return 0
        return self._columns if self._is_constant_text(value) else self._values[value].c

    def _is_constant_text(self, value: int) -> bool:
        """Whether it is text among the constants, or a choice of such."""
        made = self._values[value]
        if made.operation == SELECT:
            return self._is_constant_text(made.arguments[1])
        return made.operation == CONSTANT and made.d == 1

    def _case(self, term: Term, guard: int) -> int:
        """A choice; a branch may raise only for rows that take it."""
        pairs = []
        rest = guard
        for condition, taken in zip(term.arguments[:-1:2], term.arguments[1::2], strict=True):
            chosen = self._lower(condition, rest)
            true = chosen
            if condition.nullable:
                true = self._value(Value(OPERATIONS["int=="], (chosen, self._value(Value(CONSTANT, (), 1)))))
            pairs.append((true, self._branch(term, taken, self._both(rest, true))))
            rest = self._both(rest, self._value(Value(NOT, (true,))))
        result = self._branch(term, term.arguments[-1], rest)
        for true, value in reversed(pairs):
            result = self._value(Value(SELECT, (true, value, result)))
        return result

    def _branch(self, choice: Term, taken: Term, guard: int) -> int:
        value = self._lower(taken, guard)
        is_other = taken.operation == "constant" and taken.value != null_word(taken.kind)
        return value if taken.nullable or is_other or not choice.nullable else self._no_null(taken, value, guard)

    def finish(self) -> "Compiled":
        """The instructions, for the columns after the last step."""
        values = self._values
        final = list(self._names.values())
        computed = list(dict.fromkeys([value for value in final if values[value].operation != LOAD]))
        needed = self._needed([*computed, *[condition for _, condition in self._filters]])
        lines = self._lines(needed)
        last_filter = max([at for at, (kind, _) in enumerate(lines) if kind == FILTER], default=-1)
        made_at = {value: at for at, (kind, value) in enumerate(lines) if kind != FILTER}
        outputs = {value: at for at, value in enumerate(computed)}
        direct = {value: at for value, at in outputs.items() if made_at.get(value, -1) > last_filter}
        lines += [(COPY, value) for value in computed if value not in direct]
        table, registers = Registers(values, lines, made_at).assign(outputs, direct)
        sources = []
        for value in final:
            made = values[value]
            heap = self._columns if self._place is None and self._is_constant_text(value) else None
            sources.append(
                (True, made.c, None) if made.operation == LOAD else (False, computed.index(value), heap)
            )
        texts = [self._texts.get(value, "") for _, value in table]
        return Compiled(
            program=np.array([line for line, _ in table], np.int64).reshape(-1, WIDTH),
            registers=registers,
            texts=texts,
            loads=sorted({values[value].c for value in needed if values[value].operation == LOAD}),
            outputs=len(computed),
            sources=sources,
        )

    def _needed(self, wanted: list[int]) -> set[int]:
        needed: set[int] = set()
        while wanted:
            value = wanted.pop()
            if value not in needed:
                needed.add(value)
                wanted += self._values[value].reads
        return needed

    def _lines(self, needed: set[int]) -> list[tuple[int, int]]:
        """Filters and values in order: columns just before they are first read, constants nowhere."""
        lines: list[tuple[int, int]] = []
        loaded: set[int] = set()

        def load(reads: tuple[int, ...]) -> None:
            for each in reads:
                if self._values[each].operation == LOAD and each not in loaded:
                    loaded.add(each)
                    lines.append((LOAD, each))

        filters = list(self._filters)
        for number, made in enumerate([*self._values, Value(CONSTANT)]):
            while filters and filters[0][0] == number:
                condition = filters.pop(0)[1]
                load((condition,))
                lines.append((FILTER, condition))
            if number in needed and made.operation not in (LOAD, CONSTANT):
                load(made.reads)
                lines.append((made.operation, number))
        return lines


class Compiled(NamedTuple):
    """A program as the machine takes it."""

    program: np.ndarray
    registers: np.ndarray
    texts: list[str]
    """What each instruction was written as, for those that may raise."""
    loads: list[int]
    """The columns that the machine reads."""
    outputs: int
    """How many columns it writes."""
    sources: list[tuple[bool, int, int | None]]
    """Each column that comes out: whether it is one that came in, the number of that or of the machine's output, and
    for constant text the number of its heap."""
