"""Values as bytes and back, equal and of the same types or refused: what programs return, report, and are given.

A value becomes parts: first a tree that `marshal` writes, which holds nothing but Python's own plain types (checked
here, exactly: no subclass slips through), then the buffers of its arrays and tables. A tuple that begins with `...`
stands in the tree for what is not plain. Nothing read back can run code, and no class is looked up by name.
"""

import marshal
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime, time, timedelta, timezone, tzinfo
from decimal import Decimal
from typing import Any

import numpy as np

from tokenring.engine.columns import Batch, Schema, Strings, is_masked

_PLAIN = frozenset({int, float, complex, bool, type(None), str, bytes})
_FACTORIES = {kind.__name__: kind for kind in (int, float, str, list, dict, set)}
CURE = (
    "return numbers, text, bytes, dates and times, None; lists, tuples, sets and dicts of these; numpy arrays, batches "
    "and their columns, or Arrow tables (of a data frame: its Arrow table)"
)


def pack(value: Any) -> list[Any]:
    """The parts of a value, each bytes or a buffer. TypeError, with the cure, for one that has no form here."""
    packer = _Packer()
    try:
        tree = packer.tree(value)
        return [marshal.dumps((packer.has_marks, tree)), *packer.buffers]
    except (RecursionError, ValueError) as error:
        raise TypeError(f"a value that contains itself, or is nested too deeply ({error}); return it flat") from None


def unpack(parts: Sequence[Any]) -> Any:
    """The value whose parts these are; its arrays use their buffers, and can be written to if those can."""
    has_marks, tree = marshal.loads(parts[0])
    return _unmark(tree, parts) if has_marks else tree


class _Packer:
    """Makes the tree of one value, and gathers its buffers."""

    def __init__(self) -> None:
        self.buffers: list[Any] = []
        self.has_marks = False

    def tree(self, value: Any) -> Any:
        kind = type(value)
        if kind in _PLAIN:
            return value
        if kind in (list, tuple, set, frozenset):
            if _PLAIN.issuperset(map(type, value)):
                return value
            items = [self.tree(item) for item in value]
            return kind(items) if kind in (list, tuple) else self._mark(kind.__name__, items)
        if kind is dict:
            if _PLAIN.issuperset(map(type, value)) and _PLAIN.issuperset(map(type, value.values())):
                return value
            return self._mark("dict", [(self.tree(key), self.tree(item)) for key, item in value.items()])
        return self._special(kind, value)

    def _mark(self, name: str, *details: Any) -> tuple[Any, ...]:
        self.has_marks = True
        return (..., name, *details)

    def _buffer(self, buffer: Any) -> int:
        self.buffers.append(buffer)
        return len(self.buffers)

    def _special(self, kind: type, value: Any) -> Any:
        if kind in (bytearray, Decimal, date):
            return self._mark(kind.__name__, bytes(value) if kind is bytearray else str(value))
        if kind is timedelta:
            return self._mark("timedelta", value.days, value.seconds, value.microseconds)
        if kind in (datetime, time):
            told = value.replace(tzinfo=None, fold=0).isoformat()
            return self._mark(kind.__name__, told, value.fold, self._zone(value.tzinfo))
        if kind in (Counter, OrderedDict):
            return self._mark(kind.__name__, self.tree(list(value.items())))
        if kind is deque:
            return self._mark("deque", self.tree(list(value)), value.maxlen)
        if kind is defaultdict:
            made_by = getattr(value.default_factory, "__name__", None)
            if made_by is not None and _FACTORIES.get(made_by) is not value.default_factory:
                raise TypeError(f"a defaultdict of {made_by}; return dict(...) of it")
            return self._mark("defaultdict", made_by, self.tree(list(value.items())))
        if kind is np.ndarray or isinstance(value, np.generic) or is_masked(value):
            return self._array(kind, value)
        if kind is Strings:
            own = value.compact()
            return self._mark("Strings", self.tree(own.words), self.tree(own.heap), value.is_text)
        if kind is Batch:
            spelled = {name: str(one) for name, one in zip(value.schema.names, value.schema.kinds, strict=True)}
            own = value.copy()
            return self._mark("Batch", spelled, self.tree(list(own.columns)), self.tree(list(own.heaps)))
        package, _, _ = kind.__module__.partition(".")
        if package == "pyarrow":
            return self._arrow(kind, value)
        if package == "pandas" and kind.__name__ == "Timestamp":  # what Arrow makes of a timestamp in ns
            return self._mark("Timestamp", value.value, value.unit, None if value.tz is None else str(value.tz))
        raise TypeError(f"{kind.__module__}.{kind.__qualname__} has no form between processes")

    def _zone(self, zone: tzinfo | None) -> Any:
        if zone is None:
            return None
        if type(zone) is timezone:
            offset = zone.utcoffset(None)
            return offset // timedelta(microseconds=1), zone.tzname(None)
        from zoneinfo import ZoneInfo

        if type(zone) is ZoneInfo and zone.key is not None:
            return zone.key
        raise TypeError(f"a time in {zone!r}; use datetime.timezone or zoneinfo")

    def _array(self, kind: type, value: Any) -> Any:
        if is_masked(value):
            return self._mark("masked", self.tree(value.data), self.tree(np.ma.getmaskarray(value)))
        if value.dtype == object and value.ndim == 1 and {*map(type, value)} <= {Decimal, type(None)}:
            return self._mark("decimals", self.tree(value.tolist()))
        if value.dtype.hasobject:
            raise TypeError("a numpy array of Python objects; return .tolist() of it")
        described = np.lib.format.dtype_to_descr(value.dtype)
        data = np.array(value, order="C", copy=None)
        if kind is not np.ndarray:
            return self._mark("scalar", described, data.tobytes())
        whole = data.reshape(-1).view(np.uint8) if data.size and data.dtype.itemsize else b""
        return self._mark("array", described, value.shape, self._buffer(whole))

    def _arrow(self, kind: type, value: Any) -> Any:
        import pyarrow as pa

        if kind in (pa.Table, pa.RecordBatch):
            table = value if kind is pa.Table else pa.Table.from_batches([value])
        elif kind is pa.ChunkedArray or isinstance(value, pa.Array):
            table = pa.table({"": value})
        else:
            raise TypeError(f"pyarrow.{kind.__name__} has no form between processes")
        name = kind.__name__ if kind in (pa.Table, pa.RecordBatch, pa.ChunkedArray) else "Array"
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(table)
        return self._mark("arrow", name, self._buffer(sink.getvalue()))


def _unmark(tree: Any, parts: Sequence[Any]) -> Any:
    """What a tree with marks in it stands for."""
    kind = type(tree)
    if kind is list:
        return [_unmark(item, parts) for item in tree]
    if kind is not tuple:
        return tree
    if tree[:1] == (...,):
        return _MADE[tree[1]](parts, *tree[2:])
    return tuple([_unmark(item, parts) for item in tree])


def _made_by(kind: Callable[..., Any]) -> Callable[..., Any]:
    """What is made of one tree."""
    return lambda parts, tree: kind(_unmark(tree, parts))


def _at(kind: type[datetime] | type[time]) -> Callable[..., Any]:
    def make(parts: Any, told: str, fold: int, zone: Any) -> datetime | time:
        place: tzinfo | None = None
        if isinstance(zone, str):
            from zoneinfo import ZoneInfo

            place = ZoneInfo(zone)
        elif zone is not None:
            offset = timedelta(microseconds=zone[0])
            place = UTC if zone == (0, "UTC") else timezone(offset, zone[1])
        return kind.fromisoformat(told).replace(fold=fold, tzinfo=place)

    return make


def _array(parts: Any, described: Any, shape: tuple[int, ...], at: int) -> np.ndarray:
    dtype = np.lib.format.descr_to_dtype(described)
    return np.frombuffer(parts[at], dtype).reshape(shape) if len(parts[at]) else np.empty(shape, dtype)


def _scalar(parts: Any, described: Any, data: bytes) -> Any:
    dtype = np.lib.format.descr_to_dtype(described)
    return np.frombuffer(data, dtype)[0] if dtype.itemsize else np.zeros(1, dtype)[0]


def _batch(parts: Any, spelled: dict[str, str], columns: Any, heaps: Any) -> Batch:
    words = tuple(_unmark(columns, parts))
    return Batch.wrap(Schema.of(spelled), words, len(words[0]), tuple(_unmark(heaps, parts)))


def _arrow(parts: Any, name: str, at: int) -> Any:
    import pyarrow as pa

    # Without Arrow's threads, which do not go well with later forks.
    with pa.ipc.open_stream(pa.py_buffer(parts[at]), options=pa.ipc.IpcReadOptions(use_threads=False)) as reader:
        table = reader.read_all()
    if name == "Table":
        return table
    if name == "RecordBatch":
        return (table.to_batches() or [pa.RecordBatch.from_pylist([], schema=table.schema)])[0]
    column = table.column(0)
    return column if name == "ChunkedArray" else column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)


def _timestamp(parts: Any, ticks: int, unit: str, zone: str | None) -> Any:
    import pyarrow as pa

    found = pa.scalar(ticks, pa.timestamp("ns", zone)).as_py()  # pandas' own, since only that holds nanoseconds
    return found if unit == "ns" else found.as_unit(unit)


_MADE: dict[str, Callable[..., Any]] = {
    "bytearray": _made_by(bytearray),
    "Decimal": _made_by(Decimal),
    "date": _made_by(date.fromisoformat),
    "timedelta": lambda parts, *fields: timedelta(*fields),
    "datetime": _at(datetime),
    "time": _at(time),
    "set": _made_by(set),
    "frozenset": _made_by(frozenset),
    "dict": lambda parts, items: {_unmark(key, parts): _unmark(value, parts) for key, value in items},
    "Counter": lambda parts, items: Counter(dict(_unmark(items, parts))),
    "OrderedDict": _made_by(OrderedDict),
    "deque": lambda parts, items, longest: deque(_unmark(items, parts), longest),
    "defaultdict": lambda parts, made_by, items: defaultdict(_FACTORIES.get(made_by), _unmark(items, parts)),
    "scalar": _scalar,
    "array": _array,
    "decimals": lambda parts, values: np.array([*_unmark(values, parts), None], object)[:-1],
    "masked": lambda parts, data, mask: np.ma.MaskedArray(_unmark(data, parts), _unmark(mask, parts)),
    "Strings": lambda parts, words, heap, is_text: Strings(_unmark(words, parts), _unmark(heap, parts), is_text),
    "Batch": _batch,
    "arrow": _arrow,
    "Timestamp": _timestamp,
}
