"""A worker's side of `tokenring views` and `tokenring query`."""

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from time import monotonic_ns
from typing import Any

import orjson

from tokenring.engine import COMPLETE, SchemaError, TokenRingError, Worker
from tokenring.engine.ask import tell_asker
from tokenring.engine.install import Installed
from tokenring.operators.collections.sharing.view import View, Views

_LOOK_AGAIN_NS = 1_000_000
_LONG_NS = 3_000_000_000  # that a new dataflow gets to finish its first time
TIME = "time.json"
"""What the asker writes once he knows a time that all workers can read."""


class Listing:
    """Says which views there are."""

    def __init__(self, worker: Worker, folder: Path, question: Mapping[str, Any]) -> None:
        with suppress(OSError):
            views = [view.facts for view in worker.kept(Views)]
            tell_asker(worker, folder, views=views, installed=worker.kept(Installed).running)

    def look(self) -> int:
        """All is said."""
        return 0

    def leave(self) -> None:
        """Nothing is held."""


class Query:
    """Says which times can be read here, keeps them readable until the asker has chosen one, and reads it."""

    def __init__(self, worker: Worker, folder: Path, question: Mapping[str, Any]) -> None:
        view = worker.kept(Views)[question["view"]]
        self._worker, self._folder, self._views, self._view = worker, folder, worker.kept(Views), view
        self._key = ... if question["key"] is None else _key_of(view, question["key"])
        self._kept = view.keep_since(view.since)
        self._first_ns = monotonic_ns()
        self._has_told = self._is_done = False

    def _tell(self) -> None:
        """Which times can be read: once there is one, or if there is none for long."""
        view = self._view
        if view.upper or monotonic_ns() - self._first_ns > _LONG_NS:
            self._has_told = True
            upper, latest = None if view.upper == COMPLETE else view.upper, view.latest if view.upper else -1
            since = _right_from(self._views, view)
            tell_asker(self._worker, self._folder, since=since, upper=upper, latest=latest)

    def look(self) -> int:
        """Read once the time is known, and finished here too."""
        if self._is_done:
            return 0
        with suppress(OSError):  # the time is not known yet, or the asker is gone
            if not self._has_told:
                self._tell()
                return _LOOK_AGAIN_NS
            time = orjson.loads((self._folder / TIME).read_bytes())
            if time < self._view.upper:
                self._is_done = True
                self._read(time)
                self._kept.release()
                return 0
        return _LOOK_AGAIN_NS

    def _read(self, time: int) -> None:
        import pyarrow as pa

        target = self._folder / f"{self._worker.index}.arrow"
        draft = target.with_suffix(".part")
        try:
            table = self._view.at(time, self._key)
        except TokenRingError as error:
            table = pa.table({}).replace_schema_metadata({"error": str(error), "type": type(error).__name__})
        with pa.OSFile(str(draft), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
            writer.write_table(table)
        draft.rename(target)

    def leave(self) -> None:
        """The past may go."""
        self._kept.release()


def _right_from(views: Views, view: View) -> int:
    """The earliest time that can be read here, and has all that its dataflow imported on this worker: other workers may
    have imported it at another time."""
    of_imported = [
        max(importer.least, _right_from(views, other))
        for other in views
        for importer in other.importers
        if importer.dataflow == view.dataflow != other.dataflow
    ]
    return max([view.since, *of_imported])


def _key_of(view: View, told: list[Any]) -> tuple[Any, ...]:
    """A key's values; where they came as text, by the kinds of their columns."""
    if len(told) != len(view.keys):
        raise SchemaError(f"the key of {view.name!r} is ({', '.join(view.keys)}): give a value for each, not {told}")
    return tuple([_value_of(view, name, value) for name, value in zip(view.keys, told, strict=True)])


def _value_of(view: View, name: str, value: Any) -> Any:
    kind = view.schema.kind(name).name
    if not isinstance(value, str) or kind == "string":
        return value
    try:
        if kind == "bytes":
            return value.encode()
        if kind == "bool":
            return {"true": True, "false": False}[value.lower()]
        return float(value) if kind == "float64" else int(value)
    except (ValueError, KeyError):
        raise SchemaError(f"{value!r} is no {kind}, as column {name!r} of the key of {view.name!r} has them") from None
