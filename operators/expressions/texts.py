"""Functions of text, which make columns between runs of the machine: by pyarrow's kernels, or of words alone."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module
from math import inf
from typing import Any

import numpy as np

from tokenring.engine import Batch, Schema, Strings
from tokenring.engine.raw import address_of
from tokenring.operators.expressions.constants import bits, kind_named, null_word
from tokenring.operators.expressions.machine import words_address
from tokenring.operators.expressions.patterns import named_groups
from tokenring.operators.expressions.program import Step
from tokenring.operators.expressions.remembered import Made, Remembered, parts_of
from tokenring.operators.expressions.text_blocks import choose, split_part, take_chosen
from tokenring.operators.expressions.typed import Term, column_term

_WHOLE = re.compile("[+-]?[0-9]+")
_REAL = re.compile(r"[+-]?(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[+-]?[0-9]+)?|inf|infinity|nan)", re.IGNORECASE | re.ASCII)
_HIDDEN = "·"  # in the names of columns between steps; no user's column is called so


@dataclass(frozen=True, slots=True)
class MakeText:
    """A step outside the machine: the rows with one more column."""

    function: Callable[[Batch], Batch]
    schema: Schema


def without_text(step: Step, before: Schema) -> Iterator[Step | MakeText]:
    """The step as several, of which those for the machine have no function of text in them."""
    terms = [*([] if step.condition is None else [step.condition]), *step.columns.values()]
    if not any(_has_text(term) for term in terms):
        yield step
        return
    hoist = _Hoist(before)
    condition = None if step.condition is None else hoist.plain(step.condition)
    if condition is not None:
        yield from hoist.steps()
        kept = {name: column_term(name, kind) for name, kind in zip(before.names, before.kinds, strict=True)}
        yield Step(condition, kept, before)
        hoist = _Hoist(before)
    columns = {name: hoist.plain(term) for name, term in step.columns.items()}
    yield from hoist.steps()
    yield Step(None, columns, step.schema)


def _has_text(term: Term) -> bool:
    return term.operation == "text" or any(_has_text(argument) for argument in term.arguments)


class _Hoist:
    """Takes functions of text out of terms: each becomes a hidden column, made by a step before."""

    def __init__(self, schema: Schema) -> None:
        self._schema = schema
        self._steps: list[Step | MakeText] = []
        self._made: dict[Term, Term] = {}

    def steps(self) -> Iterator[Step | MakeText]:
        """What is to be done before the terms can be computed."""
        return iter(self._steps)

    def plain(self, term: Term) -> Term:
        """The term with columns where functions of text were."""
        if not term.arguments or term in self._made:
            return self._made.get(term, term)
        arguments = tuple([self.plain(argument) for argument in term.arguments])
        if term.operation != "text":
            return Term(term.operation, term.kind, term.nullable, arguments, term.value, term.text)
        names = self._columns(arguments)
        name, *parameters = term.value
        made = _hidden(term, self._schema)
        self._schema = _longer(self._schema, made)
        self._steps.append(MakeText(_maker(name, names, parameters, made, self._schema), self._schema))
        self._made[term] = made
        return made

    def _columns(self, arguments: tuple[Term, ...]) -> list[str]:
        """The names of columns that hold these, made by a step of the machine if need be."""
        schema, names = self._schema, []
        kept = {name: column_term(name, kind) for name, kind in zip(schema.names, schema.kinds, strict=True)}
        for term in arguments:
            if term.operation != "column":
                made = _hidden(term, schema)
                kept[made.value] = term
                schema = _longer(schema, made)
                names.append(made.value)
            else:
                names.append(term.value)
        if schema is not self._schema:
            self._steps.append(Step(None, kept, schema))
            self._schema = schema
        return names


def _hidden(term: Term, schema: Schema) -> Term:
    return column_term(f"{_HIDDEN}{len(schema)}", kind_named(term.spelled))


def _longer(schema: Schema, column: Term) -> Schema:
    return Schema.of({**schema.spec(), column.value: column.spelled})


def _maker(name: str, names: list[str], parameters: list[Any], made: Term, schema: Schema) -> Callable[[Batch], Batch]:
    import_module("pyarrow.compute")  # while building: it takes a while, and no batch should wait for it
    kind, function = kind_named(made.spelled), _FUNCTIONS[name]

    def made_of(batch: Batch) -> Made:
        return parts_of(function(batch, names, *parameters))

    if name in _DEAR:
        import pyarrow.compute

        pyarrow.array([])  # the first brings in pandas, which takes a while, so not when the first rows come
        compute: Callable[[Batch], Made] = Remembered(made_of, names[0])
    else:
        compute = made_of

    def make(batch: Batch) -> Batch:
        words, heap = compute(batch)
        if heap is None and kind.is_text:
            raise AssertionError("a function of text makes text")
        heaps = (*(batch.heaps or (None,) * len(batch.columns)), heap) if schema.has_text else ()
        return Batch.wrap(schema, (*batch.columns, words), batch.rows, heaps, batch)

    return make


def _letters(quick: str, mapped: Callable[[str], str]) -> Callable[..., Any]:
    """Small letters or capitals of a column: by pyarrow where text is ASCII, elsewhere by Python, whose mapping is
    Unicode's full one (pyarrow's is by single characters, and makes a bare i of İ).
    """

    def function(batch: Batch, names: list[str]) -> Strings:
        import pyarrow as pa
        import pyarrow.compute as compute

        texts = batch.arrow(names[0])
        others = compute.invert(compute.string_is_ascii(texts))
        made = getattr(compute, quick)(texts)
        if compute.any(others).as_py():
            full = [mapped(text) for text in compute.filter(texts, others).drop_null().to_pylist()]
            made = compute.replace_with_mask(made, compute.fill_null(others, False), pa.array(full, made.type))
        return Strings.of(made)

    return function


def _words_of(values: Any, kind: str) -> np.ndarray:
    """An Arrow array of numbers or booleans as words."""
    made = Batch(Schema.of({"value": f"{kind}?"}), {"value": values})
    return made.columns[0]


def _matches(batch: Batch, names: list[str], pattern: str) -> np.ndarray:
    import pyarrow.compute as compute

    return _words_of(compute.match_substring_regex(batch.arrow(names[0]), pattern), "bool")


def _count_of(batch: Batch, names: list[str], text: str) -> np.ndarray:
    import pyarrow.compute as compute

    return _words_of(compute.count_substring(batch.arrow(names[0]), text), "int64")


def _extract(batch: Batch, names: list[str], pattern: str, group: int) -> Strings:
    import pyarrow.compute as compute

    found = compute.extract_regex(batch.arrow(names[0]), named_groups(pattern))
    return Strings.of(compute.struct_field(found, [group - 1]))


def _split_part(batch: Batch, names: list[str], separator: str, index: int) -> Strings:
    text, octets = batch.view(names[0]), np.frombuffer(separator.encode() or b"\0", np.uint8)
    parts = np.empty(batch.rows, np.int64)
    between = np.array([address_of(octets), len(separator.encode())])
    split_part(text.words, address_of(text.heap), between, index, parts)
    return Strings(parts, text.heap)


def _concat(batch: Batch, names: list[str]) -> Strings:
    import pyarrow as pa
    import pyarrow.compute as compute

    between = pa.scalar("", pa.large_string())
    return Strings.of(compute.binary_join_element_wise(*[batch.arrow(name) for name in names], between))


def _to_text(batch: Batch, names: list[str]) -> Strings:
    import pyarrow as pa

    return Strings.of(batch.arrow(names[0]).cast(pa.large_string()))


def _to_number(batch: Batch, names: list[str], kind: str) -> np.ndarray:
    least, most = {"int64": (-(2**63) + 1, 2**63 - 1), "uint64": (0, 2**64 - 2)}.get(kind, (-inf, inf))
    is_number, read = (_REAL.fullmatch, float) if kind == "float64" else (_WHOLE.fullmatch, int)
    null = null_word(kind)

    def word(text: str | None) -> int:
        if text is None or not is_number(text):
            return null
        value: Any = read(text)
        if kind == "float64":
            return bits(value)
        return null if not least <= value <= most else value - 2**64 if value >= 2**63 else value

    return np.array([word(text) for text in batch.view(names[0]).tolist()], np.int64).view(kind)


def _format_time(batch: Batch, names: list[str], form: str) -> Strings:
    import pyarrow.compute as compute

    return Strings.of(compute.strftime(batch.arrow(names[0]), form))


def _choose(batch: Batch, names: list[str]) -> Strings:
    """The first text whose condition is 1, or the last; texts of several heaps are gathered into one."""
    texts = [batch.view(name) for name in [*names[1::2], names[-1]]]
    conditions = [*[words_address(batch.words(name)) for name in names[:-1:2]], 0]
    places = [(words_address(text.words), address_of(text.heap)) for text in texts]
    sources = np.array([(one, *place) for one, place in zip(conditions, places, strict=True)])
    chosen, words = np.empty(batch.rows, np.int64), np.empty(batch.rows, np.int64)
    heap, size = texts[0].heap, choose(sources, chosen)
    is_one_heap = all([text.heap is heap for text in texts])
    if not is_one_heap:
        heap = np.empty(max(size, 1), np.uint8)
    take_chosen(sources, chosen, words, 0 if is_one_heap else address_of(heap))
    return Strings(words, heap, texts[0].is_text)


_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "lower": _letters("ascii_lower", str.lower),
    "upper": _letters("ascii_upper", str.upper),
    "matches": _matches,
    "count_of": _count_of,
    "extract": _extract,
    "split_part": _split_part,
    "concat": _concat,
    "to_text": _to_text,
    "to_number": _to_number,
    "format_time": _format_time,
    "choose": _choose,
}

_DEAR = {"lower", "upper", "matches", "count_of", "extract", "to_text", "to_number", "format_time"}
"""Functions of one column that are dearer than remembering what they gave."""
