"""Saving: what one worker saves of its dataflow, and what it was given to go on from."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import orjson

from tokenring.engine import (
    COMPLETE,
    Batch,
    GraphError,
    InputHandle,
    OperatorBuilder,
    RecoveryError,
    Schema,
    Stream,
    Time,
)
from tokenring.engine.graph import OperatorSpec
from tokenring.engine.whole_files import sync
from tokenring.operators.migrate import Bins, Leaving, Offered, Table, require_movable, workers_of
from tokenring.operators.recovery.folder import JobFolder, Snapshot, read_table, write_json, write_table


class SavedSource(Protocol):
    """A source on one worker, which can be read again from where it was."""

    def stand(self) -> None:
        """Send nothing until `go_on`."""

    def go_on(self) -> None:
        """Send what comes."""

    def state(self) -> list[dict[str, Any]]:
        """Where each share of it is, in plain values of JSON: `share`, its number; `time`, before which it sends no
        more, None if it has ended; and what is the source's own."""

    def contents(self) -> Any:
        """What is read, in plain values of JSON: alike as long as it is the same."""


class SavedSink(Protocol):
    """A sink whose results appear with a snapshot."""

    folder: Path
    suffix: str

    def cut(self, number: int, before: int) -> list[str]:
        """Close, for snapshot `number`, the file that holds what came last; all files, under hidden names, that no
        snapshot up to `before`, which is whole, has."""


class SavedState:
    """What an operator keeps on one worker."""

    def __init__(self, saving: "Saving", name: str, spec: OperatorSpec, tables: Sequence[Table]) -> None:
        self.name, self.spec, self.tables = name, spec, tables
        self.operator = spec.name
        self.offered = Offered()
        self.due: Time = COMPLETE
        """The least time at which output is pending by what was put in."""
        self._saving = saving
        self._worker, self._peers = 0, 1

    def begin(self, worker: int, peers: int) -> None:
        """The operator is made: put in what belongs here of what was saved."""
        self._worker, self._peers = worker, peers
        require_movable(self.name, self.offered, self.tables)
        found = self._saving.tables_of(self.name, self.tables)
        if found is not None:
            self.due = self.offered.only(self.name).put_in(self._here(found))

    def _here(self, tables: Sequence[Batch]) -> list[Batch]:
        return [
            rows.filter(workers_of(rows, table.key, self._peers) == self._worker)
            for rows, table in zip(tables, self.tables, strict=True)
        ]

    def take_out(self) -> Sequence[Batch]:
        """All of it: what is kept here afterwards is nothing. An operator of all rows says on each worker that it has
        the one key there is; rows come to one of them."""
        taken = self.offered.only(self.name).take_out(Leaving(Bins(1), np.ones(1, bool)))
        here = zip(taken, self._here(taken), self.tables, strict=True)
        return [rows if table.is_anywhere else mine for rows, mine, table in here]


class SavedRows:
    """Tables that an operator keeps on one worker, and that are not put in there when the run goes on: whoever keeps
    them asks for what was saved."""

    def __init__(self, saving: "Saving", name: str, operator: str, tables: Sequence[Table]) -> None:
        self.name, self.operator, self.tables = name, operator, tables
        self.take_out: Callable[[], Sequence[Batch]]
        """Makes a batch for each table, in a copy of the worker at rest."""
        self._saving = saving

    @property
    def is_resumed(self) -> bool:
        """Whether the run goes on from a snapshot."""
        return self._saving.resumed is not None

    @property
    def peers(self) -> int:
        """How many workers the run had that is gone on with."""
        assert self._saving.resumed is not None, "the run goes on"
        return len(self._saving.resumed.manifest["workers"])

    def all(self, table: int) -> Batch:
        """What all workers saved of a table, which is not much; no rows where the run begins."""
        schema = self.tables[table].schema
        found = [self._saving.read(told, schema) for told in self._files(table)]
        return Batch.concatenate(found) if found else Batch(schema, {name: [] for name in schema.names})

    def share(self, table: int, worker: int, peers: int) -> Iterator[Batch]:
        """A worker's part of what all saved of a table."""
        for at, told in enumerate(self._files(table)):
            if at % peers == worker:
                yield self._saving.read(told, self.tables[table].schema)

    def _files(self, table: int) -> list[dict[str, Any]]:
        return [told for number, told in self._saving.files_of(self.name, self.tables) if number == table]


class Saving:
    """What one worker saves."""

    def __init__(self) -> None:
        self.is_built = False
        self.resumed: Snapshot | None = None
        self.shares = 1
        """How many shares sources are read in: as many as there were workers when the job began."""
        self.job: str
        """By which the job is known outside of its folder."""
        self.folder: JobFolder
        self.accounted: list[OperatorSpec] = []
        """The operators that have said what they keep."""
        self.at_end: list[Callable[[], None]] = []
        """Called when all is declared, to declare more."""
        self.made_again: list[OperatorSpec] = []
        """Those among them that keep what they are sent once more when the run goes on: all that has come."""
        self.entries: set[int] = set()
        """The operators, by number, behind which all is made again."""
        self.exits: set[int] = set()
        """Those behind which it is no more: what they sent before a death comes no second time."""
        self.states: list[SavedState | SavedRows] = []
        self.rights: list[Stream] = []
        """What brings operators the right to send what was pending."""
        self.sources: dict[str, SavedSource] = {}
        self.sinks: dict[str, SavedSink] = {}
        self.program: dict[str, Callable[[], Any]] = {}
        """What the program saves of its own, by name."""
        self.builder_class: type[OperatorBuilder[Any]]
        """What its operators are declared by."""
        self.report: Callable[[Any], None]
        """Tells the launcher something."""
        self.keep_program: Callable[[bool], None]
        """Lets no step of the program's return, or does again."""
        self._emptied: list[tuple[memoryview, Callable[[], None]]] = []
        self._resting: list[Callable[[], bool]] = []
        self._scope: Any = None
        self._names: dict[str, int] = {}

    @property
    def resumed_at(self) -> Time:
        """The time before which all has come of what the run goes on from; 0: it begins."""
        time = None if self.resumed is None else self.resumed.manifest["time"]
        return 0 if time is None else int(time)

    def begin(self, scope: Any) -> None:
        """A dataflow is to be declared, and saved. GraphError for a second one."""
        if self._scope is not None:
            raise GraphError(
                f"dataflow {scope.graph.name!r}: a run with recovery= has one dataflow, and "
                f"{self._scope.graph.name!r} is declared already; declare both in one, or run without recovery="
            )
        self._scope = scope
        scope.saving, scope.builder_class = self, self.builder_class

    def require_saved(self) -> None:
        """The dataflow is declared. GraphError for operators, inputs and sources that say nothing of what they keep;
        RecoveryError for a dataflow that is not the one that the run goes on with."""
        for declare in self.at_end:
            declare()
        graph, accounted = self._scope.graph, set(map(id, self.accounted))
        again = self._made_again()
        unknown = [
            spec
            for number, spec in enumerate(graph.operators)
            if spec.relay is None and (id(spec) not in accounted or (spec.depth > 1 and number not in again))
        ]
        if self.program:
            unknown = [spec for spec in unknown if spec.manual is None]
        self._require_exits(again)
        if not unknown:
            self.require_program()
            return
        told = []
        for spec in unknown:
            if spec.manual is not None:
                told.append(
                    f"input {spec.name!r} is fed by the program, which saves nothing: first say "
                    f"worker.save(name, function)"
                )
            elif spec.depth > 1:
                told.append(f"operator {spec.name!r} is in a loop, of which nothing is saved")
            elif not spec.inputs:
                told.append(f"source {spec.name!r} cannot be read again from where it was")
            else:
                told.append(f"operator {spec.name!r} does not say what it keeps")
        raise GraphError(
            f"dataflow {graph.name!r} cannot be saved: {'; '.join(told)}. Sources are to be files (read_parquet, "
            f"read_csv, ...) or from_generator; an operator of your own says state_moves(builder, tables) and offers "
            f"its state, or state_moves(builder) if it keeps nothing; else run without recovery="
        )

    def _made_again(self) -> set[int]:
        """The operators, by number, that rows come to which are sent once more when the run goes on."""
        readers: dict[int, list[int]] = {}
        for origin, target in self._scope.graph.edges():
            readers.setdefault(origin.operator, []).append(target.operator)
        found: set[int] = set()
        to_do = list(self.entries)
        while to_do:
            number = to_do.pop()
            new = [] if number in self.exits else [one for one in readers.get(number, ()) if one not in found]
            found.update(new)
            to_do += new
        return found

    def _require_exits(self, again: set[int]) -> None:
        """GraphError where what is made again comes to operators that have it already."""
        operators, known = self._scope.graph.operators, set(map(id, self.made_again))
        kept = {id(state.spec) for state in self.states if isinstance(state, SavedState)}
        for spec in [operators[number] for number in sorted(again)]:
            if id(spec) not in known and spec.relay is None and (id(spec) in kept or not spec.outputs):
                raise GraphError(
                    f"operator {spec.name!r} takes the updates of a collection, all of which come once more after a "
                    f"death: let it have changes() of the collection, or to_upserts(key); or run without recovery="
                )

    @property
    def dataflow(self) -> Any:
        """The scope of the dataflow."""
        return self._scope

    def unique(self, name: str) -> str:
        """By which an operator is known in snapshots: its name, with a number behind it from the second one on."""
        self._names[name] = number = self._names.get(name, 0) + 1
        return name if number == 1 else f"{name}#{number}"

    def state(self, spec: OperatorSpec, tables: Sequence[Table]) -> SavedState:
        """One more operator with state is declared."""
        state = SavedState(self, self.unique(spec.name), spec, tables)
        self.states.append(state)
        return state

    def rows(self, operator: str, tables: Sequence[Table]) -> SavedRows:
        """One more operator is declared that sees to its tables itself."""
        rows = SavedRows(self, self.unique(operator), operator, tables)
        self.states.append(rows)
        return rows

    def rests_empty(self, word: memoryview, activate: Callable[[], None]) -> None:
        """An operator has been made that keeps nothing while `word[0]` is not 0. activate: lets it run."""
        self._emptied.append((word, activate))

    def rests_when(self, is_so: Callable[[], bool]) -> None:
        """The dataflow rests only where this says so: of what keeps rows back for a time."""
        self._resting.append(is_so)

    @property
    def rests(self) -> bool:
        """Whether nothing is kept back that is to go on by itself."""
        return all([is_so() for is_so in self._resting])

    # What was saved

    def tables_of(self, operator: str, tables: Sequence[Table]) -> list[Batch] | None:
        """What all workers saved of an operator; None where the run begins. RecoveryError for other columns."""
        if self.resumed is None:
            return None
        found: list[list[Batch]] = [[] for _ in tables]
        for number, told in self.files_of(operator, tables):
            found[number].append(self.read(told, tables[number].schema))
        return [
            Batch.concatenate(some) if some else Batch(table.schema, {name: [] for name in table.schema.names})
            for some, table in zip(found, tables, strict=True)
        ]

    def files_of(self, operator: str, tables: Sequence[Table]) -> list[tuple[int, dict[str, Any]]]:
        """The files of an operator's tables, each with its table's number; none where the run begins. RecoveryError for
        other columns."""
        found = []
        for told in () if self.resumed is None else self.resumed.files:
            if told.get("operator") == operator:
                schema = tables[told["table"]].schema if told["table"] < len(tables) else None
                if schema is None or _spec(schema) != told["columns"]:
                    raise RecoveryError(
                        f"operator {operator!r}: its state was saved as {told['columns']}, and this program keeps "
                        f"{None if schema is None else _spec(schema)}: run the program that it was saved by, or begin "
                        f"anew in another folder"
                    )
                found.append((told["table"], told))
        return found

    def read(self, told: dict[str, Any], schema: Schema) -> Batch:
        """The rows of one of these files."""
        assert self.resumed is not None, "the run goes on from it"
        return read_table(self.resumed.folder, told, schema)

    def shares_of(self, source: str) -> dict[int, dict[str, Any]]:
        """Where each share of a source was; empty where the run begins."""
        workers = [] if self.resumed is None else self.resumed.manifest["workers"]
        found = [told["state"] for worker in workers for told in worker["shares"] if told["source"] == source]
        return {state["share"]: state for state in found}

    def require_contents(self, source: str, contents: Any) -> None:
        """RecoveryError for a source that is not what it was."""
        if self.resumed is None:
            return
        was, contents = self.resumed.manifest["workers"][0]["contents"].get(source), _as_saved(contents)
        if was != contents:
            raise RecoveryError(
                f"source {source!r} has changed since snapshot {self.resumed.number} of {self.resumed.folder.parent}: "
                f"{_difference(was, contents)}; bring back what it read, or begin anew in another folder"
            )

    def program_was(self, worker: int, peers: int) -> dict[str, Any] | None:
        """What the program saved of its own on a worker; None where the run begins. RecoveryError where it saved
        something on another number of workers: nobody but the program could say whose it is now."""
        if self.resumed is None:
            return None
        workers = self.resumed.manifest["workers"]
        if len(workers) != peers and any([one["program"] for one in workers]):
            raise RecoveryError(
                f"the program saved what is its own (worker.save) on {len(workers)} workers, not {peers}: "
                f"run it with workers={len(workers)}, or begin anew in another folder"
            )
        was: dict[str, Any] = workers[worker]["program"] if worker < len(workers) else {}
        return was

    def require_program(self) -> None:
        """RecoveryError where something was saved of operators, sources or sinks that the program does not have, or the
        other way round."""
        if self.resumed is None:
            return
        manifest, folder = self.resumed.manifest, self.resumed.folder.parent
        for what, was, now in (
            ("operator", manifest["operators"], [state.name for state in self.states]),
            ("source", list(manifest["workers"][0]["contents"]), list(self.sources)),
            ("folder of results", [sink["folder"] for sink in manifest["sinks"]], self._folders()),
        ):
            for name in was:
                if name not in now:
                    raise RecoveryError(
                        f"{folder} has the state of {what} {name!r}, which this program does not have: run the program "
                        f"that it was saved by, or begin anew in another folder"
                    )
            for name in now:
                if name not in was:
                    raise RecoveryError(
                        f"{what} {name!r} is not in snapshot {self.resumed.number} of {folder}, which was made by "
                        f"another program: run that, or begin anew in another folder"
                    )

    # A snapshot

    def stand(self) -> None:
        """Let sources, and the program, send nothing, and operators whose state is of no key keep nothing."""
        self.keep_program(True)
        for source in self.sources.values():
            source.stand()
        for word, activate in self._emptied:
            word[0] = 1
            activate()

    def go_on(self) -> None:
        """Let them send what comes, and keep it."""
        for word, _ in self._emptied:
            word[0] = 0
        self.keep_program(False)
        for source in self.sources.values():
            source.go_on()

    def cut(self, number: int, before: int) -> list[dict[str, str]]:
        """Close the sinks' files: what they are; see SavedSink."""
        return [
            {"made": made, "folder": str(sink.folder), "suffix": sink.suffix}
            for sink in self.sinks.values()
            for made in sink.cut(number, before)
        ]

    def _inputs(self) -> list[tuple[str, InputHandle]]:
        """The inputs that the program feeds, by name."""
        manual = [(spec.name, spec.manual) for spec in self._scope.graph.operators]
        return [(name, handle) for name, handle in manual if handle is not None]

    def built(self) -> None:
        """The dataflow is built: inputs that the program feeds are at the least time that one of a worker was at."""
        self.is_built = True
        if self.resumed is None:
            return
        for name, handle in self._inputs():
            were = [one["inputs"].get(name) for one in self.resumed.manifest["workers"]]
            handle.advance_to(min([time for time in were if time is not None], default=0))

    def _folders(self) -> list[str]:
        return [str(sink.folder) for sink in self.sinks.values()]

    def write(self, folder: Path, worker: int, parts: Sequence[dict[str, str]]) -> None:
        """Write all state to the folder of a snapshot: this process is a copy of the worker, and ends then."""
        tables = []
        for at, state in enumerate(self.states):
            for number, rows in enumerate(state.take_out()):
                if rows.rows:
                    told = write_table(folder / f"worker{worker}-state{at}-{number}.arrow", rows)
                    tables.append({"operator": state.name, "table": number, "columns": _spec(rows.schema)} | told)
        shares = [{"source": name, "state": state} for name, source in self.sources.items() for state in source.state()]
        for part in parts:
            sync(part["made"])
        told = {
            "tables": tables,
            "shares": shares,
            "parts": list(parts),
            "contents": {name: source.contents() for name, source in self.sources.items()},
            "program": {name: value() for name, value in self.program.items()},
            "inputs": {name: handle.time for name, handle in self._inputs() if not handle.closed},
            "operators": [state.name for state in self.states],
            "sinks": [{"folder": str(sink.folder), "suffix": sink.suffix} for sink in self.sinks.values()],
        }
        write_json(folder / f"worker{worker}.json", told)


def _as_saved(value: Any) -> Any:
    return orjson.loads(orjson.dumps(value))


def _spec(schema: Schema) -> dict[str, str]:
    return {name: str(kind) for name, kind in zip(schema.names, schema.kinds, strict=True)}


def _difference(was: Any, now: Any) -> str:
    """Of what is read, the first thing that differs."""
    if isinstance(was, dict) and isinstance(now, dict):
        for name in {**was, **now}:
            if was.get(name) != now.get(name):
                return f"{name}: {_difference(was.get(name), now.get(name))}"
    if isinstance(was, list) and isinstance(now, list):
        for one, other in zip(was, now, strict=False):
            if one != other:
                return _difference(one, other) if isinstance(one, list) and one[:1] != other[:1] else f"{other}"
        return f"{len(now)} things are read, and {len(was)} were"
    return f"{now!r}, and it was {was!r}"
