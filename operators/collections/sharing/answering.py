"""A worker's side of `tokenring views` and `tokenring query`, once and with `--follow`."""

import re
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from time import monotonic_ns
from typing import TYPE_CHECKING, Any

import orjson

from tokenring.engine import COMPLETE, DataflowFailedError, SchemaError, TokenRingError, Worker
from tokenring.engine.ask import tell_asker, tell_error
from tokenring.engine.install import Installed
from tokenring.operators.collections.sharing.subscription import Subscription
from tokenring.operators.collections.sharing.view import View, Views
from tokenring.operators.collections.words import TIMES_ADDED

if TYPE_CHECKING:
    import pyarrow as pa

_NUMBER = re.compile("[0-9A-Za-z.+-]+")  # not 1_000
_LOOK_AGAIN_NS = 1_000_000
_TELL_EVERY_NS = 20_000_000
_LONG_NS = 3_000_000_000  # that a new dataflow gets to finish its first time
TIME = "time.json"
"""What the asker writes once he knows a time that all workers can read."""


class Listing:
    """Says which views there are."""

    def __init__(self, worker: Worker, folder: Path, question: Mapping[str, Any]) -> None:
        with suppress(OSError):
            views = [view.facts for view in worker.kept(Views)]
            failed = {name: failure.text for name, failure in worker.dataflows.failed.items()}
            tell_asker(worker, folder, views=views, installed=worker.kept(Installed).running, failed=failed)

    def look(self) -> int:
        """All is said."""
        return 0

    def leave(self) -> None:
        """Nothing is held."""


class _Choosing:
    """Says which times can be read here, and keeps them readable until the asker has chosen one."""

    def __init__(self, worker: Worker, folder: Path, views: Views, view: View) -> None:
        self._worker, self._folder, self._views, self._view = worker, folder, views, view
        self._kept = view.keep_since(view.since)
        self._first_ns = monotonic_ns()
        self._has_told = False

    def chosen(self) -> int | None:
        """The time, once it is known, and finished here too. OSError if it is not known yet, or the asker is gone;
        DataflowFailedError if there will be none, GraphError if workers might answer of different views."""
        self._views.require_current(self._view)
        if not self._has_told:
            self._tell()
            return None
        time: int = orjson.loads((self._folder / TIME).read_bytes())
        return time if time < self._view.upper else None

    def _tell(self) -> None:
        """Which times can be read: once there is one, or if there is none for long."""
        view = self._view
        if view.upper or monotonic_ns() - self._first_ns > _LONG_NS:
            self._has_told = True
            upper, latest = None if view.upper == COMPLETE else view.upper, view.latest if view.upper else -1
            since = _right_from(self._views, view)
            tell_asker(self._worker, self._folder, since=since, upper=upper, latest=latest)

    def fail(self, error: TokenRingError) -> None:
        """Say that there is no time, if the asker has not heard of one."""
        if not self._has_told:
            self._has_told = True
            tell_error(self._worker, self._folder, error)

    def release(self) -> None:
        """The past may go."""
        self._kept.release()


class Query:
    """Reads a view as of the time that the asker has chosen."""

    def __init__(self, worker: Worker, folder: Path, question: Mapping[str, Any]) -> None:
        views, self._view, self._key = _asked(worker, question)
        self._target = folder / f"{worker.index}.arrow"
        self._choosing = _Choosing(worker, folder, views, self._view)
        self._is_done = False

    def look(self) -> int:
        """Read once the time is known."""
        if self._is_done:
            return 0
        with suppress(OSError):
            try:
                time = self._choosing.chosen()
                table = None if time is None else self._view.at(time, self._key, _times(self._view))
            except TokenRingError as error:
                table = _error(error)
                self._choosing.fail(error)
            if table is not None:
                self._is_done = True
                self.leave()
                _write_table(self._target, table)
                return 0
        return _LOOK_AGAIN_NS

    def leave(self) -> None:
        """The past may go."""
        self._choosing.release()


class Following:
    """Reads a view as of the time that the asker has chosen, and says from then on how it changes: in a file at each
    look at which there is something to say."""

    def __init__(self, worker: Worker, folder: Path, question: Mapping[str, Any]) -> None:
        views, self._view, self._key = _asked(worker, question)
        self._folder, self._index = folder, worker.index
        self._choosing = _Choosing(worker, folder, views, self._view)
        self._subscription: Subscription | None = None
        self._upper, self._files, self._has_failed = -1, 0, False

    def look(self) -> int:
        """Begin once the time is known; then say what is new."""
        if self._has_failed:
            return 0
        if self._subscription is None:
            with suppress(OSError):
                try:
                    time = self._choosing.chosen()
                    if time is not None:
                        self._begin(time)
                except TokenRingError as error:
                    self._choosing.fail(error)
                    self._fail(error)
                    self._choosing.release()
            return _LOOK_AGAIN_NS
        self._tell()
        return 0 if self._subscription.is_over else _TELL_EVERY_NS

    def _begin(self, time: int) -> None:
        try:
            self._subscription = self._view.subscribe(time, self._key, _times(self._view), heard=self._heard)
        except TokenRingError as error:
            self._fail(error)
        self._choosing.release()

    def _heard(self) -> None:
        if self._view.upper == COMPLETE or self._view.failure:  # the worker may take no step behind this one
            self._tell()

    def _tell(self) -> None:
        """Write what has finished, unless that is nothing."""
        assert self._subscription is not None, "it is told what was subscribed to"
        if (self._view.upper == self._upper and not self._view.failure) or self._has_failed:
            return
        try:
            told = self._subscription.take()
        except TokenRingError as error:
            self._fail(error)
            return
        self._upper = self._view.upper
        import pyarrow as pa

        parts = [(answer.time, answer.rows.num_rows) for answer in told]
        upper = None if self._upper == COMPLETE else self._upper
        rows = pa.concat_tables([answer.rows for answer in told]) if told else pa.table({})
        self._write(rows.replace_schema_metadata({"told": orjson.dumps({"upper": upper, "parts": parts})}))

    def _fail(self, error: TokenRingError) -> None:
        self._has_failed = True
        self._write(_error(error))

    def _write(self, table: "pa.Table") -> None:
        with suppress(OSError):  # the asker is gone
            _write_table(self._folder / f"{self._index}-{self._files}.arrow", table)
        self._files += 1

    def leave(self) -> None:
        """Nobody hears any more."""
        self._choosing.release()
        if self._subscription is not None:
            self._subscription.close()


def _asked(worker: Worker, question: Mapping[str, Any]) -> tuple[Views, View, Any]:
    """All views, the one that is asked for, and the key."""
    views, name = worker.kept(Views), question["view"]
    if name in worker.dataflows.failed:
        raise DataflowFailedError(worker.dataflows.failed[name].text)
    view = views[name]
    return views, view, ... if question["key"] is None else _key_of(view, question["key"])


def _times(view: View) -> str:
    """The column that says how often rows are there."""
    return TIMES_ADDED if "times" in view.schema.positions else "times"


def _error(error: TokenRingError) -> "pa.Table":
    import pyarrow as pa

    return pa.table({}).replace_schema_metadata({"error": str(error), "type": type(error).__name__})


def _write_table(target: Path, table: "pa.Table") -> None:
    """Write a table so that whoever sees the file sees all of it."""
    import pyarrow as pa

    draft = target.with_suffix(".part")
    with pa.OSFile(str(draft), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table)
    draft.rename(target)


def _right_from(views: Views, view: View) -> int:
    """The earliest time that can be read here, and has all that its dataflow imported on this worker: other workers may
    have imported it at another time."""
    return max(view.since, _imported_from(views, view.dataflow))


def _imported_from(views: Views, dataflow: str) -> int:
    """The latest of the first times of what a dataflow imports, and of what that was made of; 0 if it imports nothing.
    """
    return max(
        [
            max(importer.least, _imported_from(views, view.dataflow))
            for view in views
            for importer in view.importers
            if importer.dataflow == dataflow != view.dataflow
        ],
        default=0,
    )


def _key_of(view: View, told: list[Any]) -> tuple[Any, ...]:
    """A key's values; where they came as text, by the kinds of their columns."""
    if len(told) != len(view.keys):
        raise SchemaError(f"the key of {view.name!r} is ({', '.join(view.keys)}): give a value for each, not {told}")
    return tuple([_value_of(view, name, value) for name, value in zip(view.keys, told, strict=True)])


def _value_of(view: View, name: str, value: Any) -> Any:
    kind = view.schema.kind(name)
    if isinstance(value, dict):  # bytes, which JSON has not
        value = bytes.fromhex(value["hex"])
        if kind.family != "bytes":
            raise _no_value(view, name, value)
    if value == "null" and kind.nullable and not kind.is_text:
        return None
    if not isinstance(value, str) or kind.family == "string" or kind.is_exact:  # columns take dates as text
        return value
    if kind.is_instant and not value.removeprefix("-").isdigit():  # else it is ns
        return value
    try:
        if kind.family == "bytes":
            return value.encode()
        if kind.family == "bool":
            return {"true": True, "false": False}[value.lower()]
        if not _NUMBER.fullmatch(value):
            raise ValueError
        return float(value) if kind.is_float else int(value)
    except (ValueError, KeyError):
        raise _no_value(view, name, value) from None


def _no_value(view: View, name: str, value: Any) -> SchemaError:
    kind = view.schema.kind(name)
    return SchemaError(f"{value!r} is no {kind}, as column {name!r} of the key of {view.name!r} has them")
