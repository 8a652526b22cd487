"""Functions of text taken out of a step: what depends on few columns is made once for each of their words, the rest is
made of columns, between runs of the machine.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

from tokenring.engine import Batch, Schema
from tokenring.operators.expressions.constants import kind_named, null_word
from tokenring.operators.expressions.machine import CHECKED, OPERATIONS
from tokenring.operators.expressions.program import Step
from tokenring.operators.expressions.terms import CHOOSE, TEXTS, Term, column_term

MOST_COLUMNS = 2
"""Of which words are remembered together."""
_DEAR = {"count_of"}
"""Of the machine's operations, those of text that it looks through, which is dearer than remembering what they gave."""
_HIDDEN = "·"  # in the names of columns between steps; no user's column is called so

_Guards = tuple[tuple[Term, bool], ...]
"""Conditions, the outermost first, each with whether it is to be true, or not to be."""


class MakeText(NamedTuple):
    """A step outside the machine: the rows with one more column."""

    function: Callable[[Batch], Batch]
    schema: Schema


class Remember(NamedTuple):
    """The rows with the columns of `step` besides, which depend on `columns` alone: `step` is of rows of these."""

    columns: tuple[str, ...]
    step: Step
    schema: Schema


def without_text(
    step: Step, before: Schema, most_columns: int = MOST_COLUMNS, has_one_heap: bool = False
) -> Iterator[Step | MakeText | Remember]:
    """The step as several, of which those for the machine have no function of text in them. most_columns: how many
    columns that depends on which is remembered; 0: nothing is. has_one_heap: whether all text is in one heap, so that
    the machine itself may choose among texts."""
    terms = [*([] if step.condition is None else [step.condition]), *step.columns.values()]
    if not any(_has_text(term, has_one_heap) for term in terms):
        yield step
        return
    if step.condition is not None:
        hoist = _Hoist(before, most_columns, has_one_heap)
        (condition,) = hoist.plain([step.condition])
        yield from hoist.steps
        kept = {name: column_term(name, kind) for name, kind in zip(before.names, before.kinds, strict=True)}
        yield Step(condition, kept, before)
    hoist = _Hoist(before, most_columns, has_one_heap)
    columns = hoist.plain(list(step.columns.values()))
    yield from hoist.steps
    yield Step(None, dict(zip(step.columns, columns, strict=True)), step.schema)


def _has_text(term: Term, has_one_heap: bool) -> bool:
    """Whether it is not for the machine alone: a function of text is in it, or what is dearer than remembering."""
    is_one = term.operation in _DEAR or _is_text(term, has_one_heap)
    return is_one or any(_has_text(argument, has_one_heap) for argument in term.arguments)


def _is_text(term: Term, has_one_heap: bool) -> bool:
    """Whether it is a function of text."""
    return term.operation == "text" and not (has_one_heap and term.value == CHOOSE)


def _columns_of(term: Term) -> dict[str, str]:
    """The columns that a term reads, each with its kind."""
    if term.operation == "column":
        return {term.value: term.kind}
    return {name: kind for argument in term.arguments for name, kind in _columns_of(argument).items()}


def may_raise(term: Term, is_made_before: Callable[[Term], bool] = lambda term: False) -> bool:
    """Whether it fails for some values, other than in what is computed before it."""
    if is_made_before(term):
        return False
    is_checked = OPERATIONS.get(term.operation) in CHECKED
    return is_checked or any([may_raise(argument, is_made_before) for argument in term.arguments])


# What may fail where another branch is taken


def _guarded(term: Term, is_made_before: Callable[[Term], bool], guards: _Guards = ()) -> Term:
    """The term with null in place of what may fail, for rows that do not come to it. Where the machine chooses, it sees
    to that itself. is_made_before: whether a term's arguments are computed for all rows; guards: for which the term is.
    """
    found = _guarded_arguments(term, is_made_before, guards)
    made = [each for each, _ in found]
    if is_made_before(term):
        made = [_where(each, its) if may_raise(each, is_made_before) else each for each, its in found]
    if all([each is argument for each, argument in zip(made, term.arguments, strict=True)]):
        return term
    return replace(term, arguments=tuple(made))  # as nullable as it was: nobody takes these nulls


def _guarded_arguments(
    term: Term, is_made_before: Callable[[Term], bool], guards: _Guards
) -> list[tuple[Term, _Guards]]:
    """The arguments of a term, each with the conditions under which it is looked at."""
    if term.operation != "case" and term.value != CHOOSE:
        return [(_guarded(argument, is_made_before, guards), guards) for argument in term.arguments]
    found = []
    for condition, taken in zip(term.arguments[:-1:2], term.arguments[1::2], strict=True):
        made = _guarded(condition, is_made_before, guards)
        is_seen = _looks_at(condition, taken)  # as with fill_null: it has been computed already
        its = guards if is_seen else (*guards, (made, True))
        found += [(made, guards), (_guarded(taken, is_made_before, its), its)]
        guards = (*guards, (made, False))
    return [*found, (_guarded(term.arguments[-1], is_made_before, guards), guards)]


def _looks_at(term: Term, other: Term) -> bool:
    return term == other or any([_looks_at(argument, other) for argument in term.arguments])


def _where(term: Term, guards: _Guards) -> Term:
    """The term where all guards say so, null elsewhere."""
    null = Term("constant", term.kind, True, (), None if term.kind in TEXTS else null_word(term.kind), "None")
    made = term
    for condition, is_to_be in reversed(guards):
        branches = (made, null) if is_to_be else (null, made)
        made = Term("case", term.kind, True, (condition, *branches), None, term.text)
    return made


class _Hoist:
    """Takes functions of text out of terms: each becomes a hidden column, made by a step before."""

    def __init__(self, schema: Schema, most_columns: int, has_one_heap: bool) -> None:
        self.steps: list[Step | MakeText | Remember] = []
        """What is to be done before the terms can be computed."""
        self._schema = schema
        self._most_columns = most_columns
        self._has_one_heap = has_one_heap
        self._made: dict[Term, Term] = {}

    def plain(self, terms: list[Term]) -> list[Term]:
        """The terms with columns where functions of text were."""
        terms = [_guarded(term, partial(_is_text, has_one_heap=self._has_one_heap)) for term in terms]
        alone: dict[tuple[str, ...], list[Term]] = {}
        arguments: dict[Term, list[Term]] = {}
        for term in terms:
            self._find(term, alone, arguments)
        columns = self._columns(tuple(arguments))
        for names, of_columns in alone.items():
            self._remember(names, of_columns, of_columns)
        for name, argument in zip(columns, arguments, strict=True):
            column = column_term(name, kind_named(argument.spelled))
            terms_of = arguments[argument]
            made = [Term(each.operation, each.kind, each.nullable, (column,), each.value) for each in terms_of]
            self._remember((name,), terms_of, made)
        return [self._plain(term) for term in terms]

    def _find(
        self, term: Term, alone: dict[tuple[str, ...], list[Term]], arguments: dict[Term, list[Term]]
    ) -> None:
        """Note what is worth remembering: terms of few columns of text, by these columns, and functions of one value,
        by that."""
        if not self._most_columns or not _has_text(term, self._has_one_heap):
            return
        from tokenring.operators.expressions.texts import REPEATED

        columns = _columns_of(term)
        if 0 < len(columns) <= self._most_columns and not may_raise(term) and set(columns.values()) <= set(TEXTS):
            alone.setdefault(tuple(columns), []).append(term)
        elif (
            term.operation == "text"
            and term.value[0] in REPEATED
            and not _has_text(term.arguments[0], self._has_one_heap)
        ):
            arguments.setdefault(term.arguments[0], []).append(term)
        else:
            for argument in term.arguments:
                self._find(argument, alone, arguments)

    def _remember(self, names: tuple[str, ...], terms: list[Term], made: list[Term]) -> None:
        """One step that makes the terms, as columns of these ones."""
        columns = {}
        for term, made_of in dict(zip(terms, made, strict=True)).items():
            self._made[term] = column = self._longer(term)
            columns[column.value] = made_of
        after = Schema.of({name: term.spelled for name, term in columns.items()})
        self.steps.append(Remember(names, Step(None, columns, after), self._schema))

    def _longer(self, term: Term) -> Term:
        """A hidden column for a term, which the schema has from now on."""
        number = len(self._schema)
        while f"{_HIDDEN}{number}" in self._schema.positions:  # it may be of some of the columns of a longer one
            number += 1
        column = column_term(f"{_HIDDEN}{number}", kind_named(term.spelled))
        self._schema = Schema.of({**self._schema.spec(), column.value: column.spelled})
        return column

    def _plain(self, term: Term) -> Term:
        if not term.arguments or term in self._made:
            return self._made.get(term, term)
        arguments = tuple([self._plain(argument) for argument in term.arguments])
        if not _is_text(term, self._has_one_heap):
            return Term(term.operation, term.kind, term.nullable, arguments, term.value, term.text)
        names = self._columns(arguments)
        made = self._longer(term)
        self.steps.append(MakeText(_maker(term.value, names, made, self._schema), self._schema))
        self._made[term] = made
        return made

    def _columns(self, arguments: tuple[Term, ...]) -> list[str]:
        """The names of columns that hold these, made by a step of the machine if need be."""
        schema, names = self._schema, []
        kept = {name: column_term(name, kind) for name, kind in zip(schema.names, schema.kinds, strict=True)}
        for term in arguments:
            if term.operation != "column":
                made = self._longer(term)
                kept[made.value] = term
                names.append(made.value)
            else:
                names.append(term.value)
        if schema is not self._schema:
            self.steps.append(Step(None, kept, self._schema))
        return names


def _maker(value: tuple[Any, ...], names: list[str], made: Term, schema: Schema) -> Callable[[Batch], Batch]:
    from tokenring.operators.expressions.texts import function_of

    compute, is_text = function_of(value), made.kind in TEXTS

    def make(batch: Batch) -> Batch:
        words, heap = compute(batch, names)
        if heap is None and is_text:
            raise AssertionError("a function of text makes text")
        heaps = (*(batch.heaps or (None,) * len(batch.columns)), heap) if schema.has_text else ()
        return Batch.wrap(schema, (*batch.columns, words), batch.rows, heaps, batch)

    return make
