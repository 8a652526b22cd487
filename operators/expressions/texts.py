"""Functions of text, which make columns between runs of the machine: by pyarrow's kernels, or of words alone."""

import re
from collections.abc import Callable
from importlib import import_module
from math import inf
from typing import Any

import numpy as np

from tokenring.engine import Batch, Schema, Strings
from tokenring.engine.columns import shown, word_in
from tokenring.engine.raw import address_of
from tokenring.operators.expressions.constants import bits, kind_named, null_word
from tokenring.operators.expressions.machine import choose, split_part, take_chosen, words_address
from tokenring.operators.expressions.patterns import named_groups

Made = tuple[np.ndarray, np.ndarray | None]
"""Words, and their heap if they are text."""

_WHOLE = re.compile("[+-]?[0-9]+")
_REAL = re.compile(r"[+-]?(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[+-]?[0-9]+)?|inf|infinity|nan)", re.IGNORECASE | re.ASCII)


def _letters(quick: str, mapped: Callable[[str], str]) -> Callable[..., Any]:
    """Small letters or capitals of a column: by pyarrow where text is ASCII, elsewhere by Python, whose mapping is
    Unicode's full one (pyarrow's is by single characters, and makes a bare i of İ).
    """

    def function(batch: Batch, names: list[str]) -> Strings:
        import pyarrow.compute as compute

        texts = batch.arrow(names[0])
        others = compute.invert(compute.string_is_ascii(texts))
        made = getattr(compute, quick)(texts)
        if compute.any(others).as_py():
            full = [mapped(text) for text in compute.filter(texts, others).drop_null().to_pylist()]
            there = compute.and_kleene(others, compute.is_valid(others))  # a bare False would load pandas
            made = compute.replace_with_mask(made, there, compute.cast(Strings.of(full).to_arrow(), made.type))
        return Strings.of(made)

    return function


def _words_of(values: Any, kind: str) -> np.ndarray:
    """An Arrow array of numbers or booleans as words."""
    made = Batch(Schema.of({"value": f"{kind}?"}), {"value": values})
    return made.columns[0]


def _matches(batch: Batch, names: list[str], pattern: str) -> np.ndarray:
    import pyarrow.compute as compute

    return _words_of(compute.match_substring_regex(batch.arrow(names[0]), pattern), "bool")


def _extract(batch: Batch, names: list[str], pattern: str, group: int) -> Strings:
    import pyarrow.compute as compute

    found = compute.extract_regex(batch.arrow(names[0]), named_groups(pattern))
    return Strings.of(compute.struct_field(found, [group - 1]))


def _split_part(batch: Batch, names: list[str], separator: str, index: int) -> Strings:
    text, octets = batch.view(names[0]), np.frombuffer(separator.encode() or b"\0", np.uint8)
    parts = np.empty(batch.rows, np.int64)
    between = np.array([address_of(octets), len(separator.encode())])
    split_part(text.words, address_of(text.heap), between, index - 1, parts)
    return Strings(parts, text.heap)


def _concat(batch: Batch, names: list[str]) -> Strings:
    import pyarrow.compute as compute

    between = Strings.of([""]).to_arrow()[0]  # not `pa.scalar`, which loads pandas
    return Strings.of(compute.binary_join_element_wise(*[batch.arrow(name) for name in names], between))


def _to_text(batch: Batch, names: list[str]) -> Strings:
    import pyarrow as pa
    import pyarrow.compute as compute

    kind = batch.schema.kind(names[0])
    if kind.is_decimal:  # which Arrow writes with an exponent where it is small
        words, null = batch.words(names[0]).tolist(), kind.null if kind.nullable else None
        return Strings.of([None if word == null else shown(kind, word) for word in words])
    return Strings.of(compute.cast(batch.arrow(names[0]), pa.large_string()))  # not by a method, which loads pandas


def _to_number(batch: Batch, names: list[str], kind: str) -> np.ndarray:
    exact = kind_named(kind)
    if exact.is_exact:
        words = [None if text is None else word_in(exact, text) for text in batch.view(names[0]).tolist()]
        return np.array([null_word(kind) if word is None else word for word in words], np.int64)
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


_DIRECTIVE = re.compile("%(.)", re.DOTALL)
_UNITS_NS = dict.fromkeys("YmdyjeFDbBhaAuwGgVUWCxzZ%nt", 86_400 * 10**9)
"""The directives of strftime of which a text is the same for so long."""
_UNITS_NS |= dict.fromkeys("HIp", 3_600 * 10**9) | dict.fromkeys("MR", 60 * 10**9)
DIRECTIVES = "".join(_UNITS_NS) + "cqQrSTX"
"""All that Arrow has."""


def _format_time(batch: Batch, names: list[str], form: str) -> Strings:
    """Rows that follow each other within a minute, an hour or a day are formatted once, if the form tells no more."""
    import pyarrow.compute as compute

    unit_ns = min([_UNITS_NS.get(letter, 1) for letter in _DIRECTIVE.findall(form)], default=1)
    unit_ns = unit_ns if batch.schema.kind(names[0]).is_instant else 1
    instants = batch.words(names[0]).view(np.int64)
    differs = np.flatnonzero(np.diff(instants // unit_ns) != 0) + 1
    nulls = batch.nulls(names[0])
    differs = np.union1d(differs, np.flatnonzero(np.diff(nulls)) + 1) if nulls.any() else differs
    if unit_ns == 1 or not batch.rows or 2 * len(differs) > batch.rows:
        return Strings.of(compute.strftime(batch.arrow(names[0]), form))
    starts = np.concatenate(([0], differs))
    made = Strings.of(compute.strftime(batch.select(batch.schema.select(names[:1])).take(starts).arrow(names[0]), form))
    return Strings(np.repeat(made.words, np.diff(starts, append=batch.rows)), made.heap)


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
    "extract": _extract,
    "split_part": _split_part,
    "concat": _concat,
    "to_text": _to_text,
    "to_number": _to_number,
    "format_time": _format_time,
    "choose": _choose,
}

REPEATED = {"to_text", "format_time"}
"""Functions of values that are no text, which are dearer than remembering what they gave."""
_BY_ARROW = {"lower", "upper", "matches", "extract", "concat", "to_text", "format_time"}


def function_of(value: tuple[Any, ...]) -> Callable[[Batch, list[str]], Made]:
    """The function of a term's value, its name and parameters: of a batch and the names of its arguments' columns."""
    name, *parameters = value
    function = _FUNCTIONS[name]
    if name in _BY_ARROW:  # while building: it takes a while, and no batch should wait for it
        import_module("pyarrow.compute")

    def made(batch: Batch, names: list[str]) -> Made:
        found = function(batch, names, *parameters)
        return (found.words, found.heap) if isinstance(found, Strings) else (found, None)

    return made
