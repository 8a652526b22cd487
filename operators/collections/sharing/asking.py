"""The asker's side of `tokenring views` and `tokenring query`: what all workers of a group have, at one time or from
it on.
"""

from collections.abc import Callable, Generator, Sequence
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import orjson

from tokenring.engine import COMPLETE, ReadTimeError, UsageError, WorkerError
from tokenring.engine.arguments import is_text
from tokenring.engine.ask import Group, requested, said, sound, write_whole
from tokenring.operators.collections.sharing.answering import TIME
from tokenring.operators.collections.sharing.reading import Answer, time_asked

if TYPE_CHECKING:
    import pyarrow as pa

_SUMS = ("rows", "batches", "bytes")


class Shared(NamedTuple):
    """views: their facts, with sizes over all workers, and `since` and `upper` between which all can read; installed:
    the dataflows that were, by name."""

    views: list[dict[str, Any]]
    installed: list[str]


def views_of(
    group: Group, timeout_s: float = 5.0, meanwhile: Callable[[], None] = lambda: None
) -> Shared:
    """What a group exports, and what is installed in it and runs."""
    return listing_of(group, timeout_s, meanwhile)[0]


def listing_of(
    group: Group, timeout_s: float = 5.0, meanwhile: Callable[[], None] = lambda: None
) -> tuple[Shared, dict[str, str]]:
    """The same, and the dataflows that were installed and have failed: by name, what there is to know of it."""
    with requested(group, "views", {}, meanwhile) as request:
        answers = sound(request.answers(timeout_s))
    installed = {name for answer in answers for name in answer["installed"]}
    failed = {name: text for answer in answers for name, text in answer["failed"].items()}
    return Shared(_views_in(answers), sorted(installed)), failed


def _views_in(answers: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The views that workers told of, by their names: what all of them have."""
    found: dict[str, dict[str, Any]] = {}
    for view in [view for answer in answers for view in answer["views"]]:
        known = found.setdefault(view["name"], view)
        if known is not view:
            known |= {name: known[name] + view[name] for name in _SUMS}
            known["since"] = max(known["since"], view["since"])
            uppers = [upper for upper in (known["upper"], view["upper"]) if upper is not None]
            known["upper"] = min(uppers) if uppers else None
            known["readers"] = sorted({*known["readers"], *view["readers"]})
    for view in found.values():
        if view["upper"]:  # workers told at different instants: who was behind gets there
            view["upper"] = max(view["upper"], view["since"] + 1)
    return [found[name] for name in sorted(found)]


def query(
    group: Group, view: str, time: int | None = None, key: Sequence[Any] | None = None, timeout_s: float = 5.0,
    meanwhile: Callable[[], None] = lambda: None,
) -> Answer:
    """The rows of a view on all workers, as of one time: the latest that all can read, if none is said. key: those of
    a key alone, a value for each of its columns.

    Raises UsageError if there is no such view or key, ReadTimeError for a time that cannot be read, DataflowFailedError
    if its dataflow has failed, WorkerError if a worker takes no step in time.
    """
    import pyarrow as pa

    time, question = time_asked(view, time), _question(view, key)
    with requested(group, "query", question, meanwhile) as request:
        answers = sound(request.answers(timeout_s))
        chosen = _time_for_all(view, answers, time)
        write_whole(request.folder / TIME, chosen)
        paths = [request.folder / f"{answer['worker']}.arrow" for answer in answers]
        request.wait(lambda: all([path.exists() for path in paths]), timeout_s)
        tables = [pa.ipc.open_file(pa.py_buffer(path.read_bytes())).read_all() for path in paths]
    for table in tables:
        _require_sound(table)
    return Answer(chosen, pa.concat_tables(tables))


def subscribe(
    group: Group, view: str, from_time: int | None = None, key: Sequence[Any] | None = None, timeout_s: float = 5.0,
    meanwhile: Callable[[], None] = lambda: None,
) -> Generator[Answer, None, None]:
    """The rows of a view on all workers as of a time, as `query` reads them; then, for each time that has finished on
    all workers and at which rows changed, in order of times, how they changed. It ends when nothing changes any more.

    Raises what `query` does; WorkerError, too, if the group ends before the view does.
    """
    import pyarrow as pa

    from_time, question = time_asked(view, from_time), _question(view, key)
    with requested(group, "follow", question, meanwhile) as request:
        answers = sound(request.answers(timeout_s))
        write_whole(request.folder / TIME, _time_for_all(view, answers, from_time))
        workers = [_Followed(request.folder, answer["worker"]) for answer in answers]
        parts: dict[int, list[pa.Table]] = {}
        lasts = True
        while True:
            for worker in workers:
                worker.read(parts)
            upper = min([worker.upper for worker in workers])
            for time in sorted([time for time in parts if time < upper]):
                yield Answer(time, pa.concat_tables(parts.pop(time)))
            if upper == COMPLETE:
                return
            if not lasts:
                raise WorkerError(f"the group of process {group.launcher} has ended")
            lasts = request.lasts  # what it said last is read still
            request.pause()


class _Followed:
    """What a worker says of how a view changes, file by file."""

    def __init__(self, folder: Path, worker: int) -> None:
        self.upper = -1
        """All that was before is said."""
        self._folder, self._worker, self._files = folder, worker, 0

    def read(self, parts: dict[int, list["pa.Table"]]) -> None:
        """Put what it says by now, time by time, behind what others say of these times."""
        import pyarrow as pa

        while (path := self._folder / f"{self._worker}-{self._files}.arrow").exists():
            table = pa.ipc.open_file(pa.py_buffer(path.read_bytes())).read_all()
            path.unlink()
            self._files += 1
            _require_sound(table)
            told, row = orjson.loads(table.schema.metadata[b"told"]), 0
            table = table.replace_schema_metadata(None)
            for time, rows in told["parts"]:
                parts.setdefault(time, []).append(table.slice(row, rows))
                row += rows
            self.upper = COMPLETE if told["upper"] is None else told["upper"]


def _require_sound(table: "pa.Table") -> None:
    """The error with which a worker could not read the view, if it is one that is known here; else UsageError."""
    if table.schema.metadata and b"error" in table.schema.metadata:
        raise said(table.schema.metadata[b"error"].decode(), table.schema.metadata[b"type"].decode())


def _time_for_all(view: str, answers: list[dict[str, Any]], time: int | None) -> int:
    """The time, if all workers can read it, or will as soon as they know that it is finished; or the latest."""
    since = max([answer["since"] for answer in answers])
    uppers = [COMPLETE if answer["upper"] is None else answer["upper"] for answer in answers]
    if max([answer["latest"] for answer in answers]) < 0:
        raise ReadTimeError(f"{view!r} cannot be read yet: no time is finished")
    if time is None:
        late = [answer["worker"] for answer in answers if answer["latest"] < 0]
        if late:  # what the others have then may be a part of what an arrangement had that was imported
            workers = ", ".join(map(str, late))
            raise ReadTimeError(f"{view!r} cannot be read yet: no time is finished on worker {workers}; ask again")
        behind = [answer["latest"] for answer in answers if answer["upper"] is not None]
        return max(since, min(behind) if behind else max([answer["latest"] for answer in answers]))
    if time < since:
        raise ReadTimeError(
            f"{view!r} cannot be read at {time}: what was before {since} is forgotten; ask for a later time, or export "
            f"it with history="
        )
    if time >= max(uppers):
        raise ReadTimeError(f"{view!r} cannot be read at {time}: times are finished up to {max(uppers) - 1}")
    return time


def _question(view: str, key: Sequence[Any] | None) -> dict[str, Any]:
    """What is asked of a view; its key as JSON has it, and as text (of bytes: hex digits) what it has not, which the
    view's kinds say how to read."""
    if not is_text(view):
        raise UsageError(f"a view is asked for by its name, which is text, not {view!r}")
    return {"view": view, "key": None if key is None else list(map(_value_told, key))}


def _value_told(value: Any) -> Any:
    if isinstance(value, np.generic) and not isinstance(value, np.datetime64):
        value = value.item()
    is_beyond_json = isinstance(value, int | float) and not (-(2**63) <= value < 2**64)  # NaN too, which is null there
    if is_beyond_json or isinstance(value, Decimal | date | np.datetime64):
        return str(value)
    if value is None or isinstance(value, int | float) or is_text(value):
        return value
    if isinstance(value, bytes):
        return {"hex": value.hex()}
    raise UsageError(f"{value!r} is nothing to ask for as a key: give text, bytes, a number, a bool, a time or None")
