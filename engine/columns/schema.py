"""Schemas: the ordered names and kinds of a stream's columns."""

from collections.abc import Collection, Container, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple, Self, TypeVar

import numpy as np

from tokenring.engine.arguments import is_text
from tokenring.engine.columns.arrow import arrow_schema, kinds_of_arrow
from tokenring.engine.columns.kinds import Kind, kind_of
from tokenring.engine.errors import SchemaError

if TYPE_CHECKING:
    import pyarrow as pa


T = TypeVar("T")
_NO_NAMES = ("int", "float", "str", "int64", "uint64", "float64", "string")
"""Words that are meant as kinds."""


class _Positions(dict[str, int]):
    """Where columns are, by name: what can be no name is that of none."""

    __slots__ = ()

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and super().__contains__(name)


class _Columns(NamedTuple):
    """What schemas say of their columns. dtypes: of the words that these are made of, int64, uint64 or float64."""

    names: tuple[str, ...]
    kinds: tuple[Kind, ...]
    dtypes: tuple[np.dtype[Any], ...]
    positions: _Positions
    text: str


@lru_cache(1024)
def _columns(kinds: tuple[tuple[str, Kind], ...]) -> _Columns:
    """The same for schemas that are equal, of which thousands of operators have one each."""
    names, of_names = zip(*kinds, strict=True)
    positions = _Positions({name: position for position, name in enumerate(names)})
    text = f"Schema({', '.join([f'{name}={kind}' for name, kind in kinds])})"
    return _Columns(names, of_names, tuple([kind.dtype for kind in of_names]), positions, text)


class Schema:
    """Ordered column names with kinds (see `Kind`): int64, uint64, float64, bool, timestamp, date, decimal(p, s),
    string or bytes, with a ? behind it where a value may be null.

    `Schema("auction price")` names int64 columns; `Schema("id", price="float64", channel="string?")` gives kinds.
    """

    __slots__ = ("_text", "all_int64", "dtypes", "has_text", "is_plain", "kinds", "names", "positions")

    def __init__(self, names: str = "", /, *more: str, **kinds: str) -> None:
        given: Any = names
        if more or not isinstance(given, str):
            of = "Schema.of(…) takes a mapping" if isinstance(given, Mapping) else "the names are words of one string"
            raise SchemaError(f"Schema takes names, and kinds as keywords: Schema('id', name='string'); {of}")
        for name in names.split():
            if name in _NO_NAMES or not {",", ":"}.isdisjoint(name):
                raise SchemaError(
                    f"Schema({names!r}) names a column {name!r}: kinds are given as keywords, Schema(column='string'); "
                    f"if it is a name, give it its kind so"
                )
        spelled = dict.fromkeys(names.split(), "int64") | kinds
        if len(spelled) != len(names.split()) + len(kinds):
            raise SchemaError(f"a column is named twice: {', '.join([*names.split(), *kinds])}")
        self._fill({name: kind_of(kind, name) for name, kind in spelled.items()})

    def _fill(self, kinds: Mapping[str, Kind]) -> None:
        if not kinds:
            raise SchemaError("a schema needs at least one column")
        for name in kinds:
            if not is_text(name):
                raise SchemaError(f"the name of a column is text, not {name!r}")
        self.names, self.kinds, self.dtypes, self.positions, self._text = _columns(tuple(kinds.items()))
        self.all_int64 = all([dtype == np.int64 for dtype in self.dtypes])
        """Whether all words are int64."""
        self.is_plain = all([kind.is_plain for kind in self.kinds])
        """Whether all columns are numbers that are never null: what users see is the words themselves."""
        self.has_text = any([kind.is_text for kind in self.kinds])

    @classmethod
    def of(cls, kinds: Mapping[str, str | Kind]) -> Self:
        """A schema from a mapping of names to kinds; names may be any text here."""
        schema = cls.__new__(cls)
        schema._fill({name: kind if isinstance(kind, Kind) else kind_of(kind, name) for name, kind in kinds.items()})
        return schema

    @classmethod
    def from_arrow(
        cls, source: "pa.Schema | pa.Table | pa.RecordBatch | Any", nullable: Collection[str] | None = None
    ) -> Self:
        """The schema that holds the columns of Arrow, or of a table that offers them (pandas, Polars). nullable: those
        that may have nulls (default: as Arrow's fields say, which is all of them unless somebody said otherwise).

        Integers of any width, floats, booleans, timestamps, dates, decimals of up to 18 digits, strings, binaries, and
        dictionaries of them have kinds here; SchemaError for others, naming the column and the cure. Of wider decimals
        a schema says whether they are to be decimal(18, s), float64, int64 or string.
        """
        return cls.of(kinds_of_arrow(source, nullable))

    def to_arrow(self) -> "pa.Schema":
        """Arrow's schema of the same columns: timestamps are in ns, UTC; dates date32, decimals decimal128; text is
        large_string or large_binary."""
        return arrow_schema(self.names, self.kinds)

    def position(self, name: str, who: str = "", purpose: str = "") -> int:
        """The index of a column; SchemaError if there is none of that name. who: asks, and purpose: what for, such as
        "to group by", which the error says."""
        try:
            return self.positions[name]
        except (KeyError, TypeError):
            raise SchemaError(_said(who, self.missing(name, purpose))) from None

    def missing(self, name: object, purpose: str = "") -> str:
        """What to say of a column that is not there: `purpose` is what it was wanted for, such as "to group by"."""
        what = f"no column {name!r} {purpose}".rstrip()
        if not isinstance(name, str):
            what += f", which is {type(name).__name__}: the name of one column is wanted, as text"
        elif len(name.split()) > 1 and all([word in self.positions for word in name.split()]):
            what += ": one column is wanted here, not several"
        names = [each for each in self.names if not each.startswith("@")] or self.names  # others are operators' own
        return f"{what}; the columns are {', '.join(names)}{did_you_mean(name, names)}"

    def kind(self, name: str) -> Kind:
        """What a column holds; SchemaError if there is none of that name."""
        return self.kinds[self.position(name)]

    def spec(self) -> dict[str, str]:
        """Names and kinds, as `Schema.of` takes them."""
        return {name: str(kind) for name, kind in zip(self.names, self.kinds, strict=True)}

    def select(self, names: Sequence[str]) -> "Schema":
        """The schema of these columns, in this order."""
        kinds = {name: self.kind(name) for name in names}
        if len(kinds) != len(names):
            raise SchemaError(f"a column is named twice: {', '.join(names)}")
        return Schema.of(kinds)

    def __len__(self) -> int:
        return len(self.names)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Schema) and self.names == other.names and self.kinds == other.kinds

    def __hash__(self) -> int:
        return hash((self.names, self.kinds))

    def __repr__(self) -> str:
        return self._text


def require_schema(who: str, schema: object) -> None:
    """SchemaError, naming who was given it, for what is no Schema."""
    if not isinstance(schema, Schema):
        raise SchemaError(f"{who}: give a Schema, such as Schema('id', name='string?'), not {schema!r}")


def free_name(name: str, taken: Container[str]) -> str:
    """What an operator calls a column of its own beside others, which may be called anything: `name`, with as many #
    behind it as make it another than theirs."""
    while name in taken:
        name += "#"
    return name


def names_of(columns: str | Sequence[T], who: str = "") -> tuple[str | T, ...]:
    """The names that words of a text, or a sequence, are. SchemaError, naming who asks, for what is neither."""
    if not isinstance(columns, str | Sequence):
        raise SchemaError(
            _said(who, f"columns are named as 'auction bidder' or ('auction', 'bidder'), not by {columns!r}")
        )
    return tuple(columns.split()) if isinstance(columns, str) else tuple(columns)


def _said(who: str, fault: str) -> str:
    return f"{who}: {fault}" if who else fault


def is_one_of(given: object, choices: Collection[str]) -> bool:
    """Whether what was given, whatever it is, is one of these texts."""
    return isinstance(given, str) and given in choices


def did_you_mean(name: object, names: Sequence[str]) -> str:
    """The end of an error about a name that is not among these: the one that is likely meant, if any."""
    from difflib import get_close_matches

    if not isinstance(name, str):
        return ""
    near = [one for one in names if one.strip().casefold() == name.casefold()] or get_close_matches(name, names, 1)
    return f"; did you mean {near[0]!r}?" if near else ""
