"""Saving: what one worker saves of its dataflow, and what it was given to go on from."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import orjson

from tokenring.engine import (
    COMPLETE,
    MAX_TIME,
    Batch,
    GraphError,
    InputHandle,
    Notify,
    OperatorBuilder,
    RecoveryError,
    Schema,
    Stream,
    Time,
)
from tokenring.engine.graph import OperatorSpec, Source
from tokenring.engine.whole_files import remove_leftovers, sync
from tokenring.operators.migrate import Bins, Leaving, Offered, Table, require_movable, workers_of
from tokenring.operators.recovery.folder import JobFolder, Snapshot, read_table, write_json, write_table
from tokenring.operators.recovery.matching import Changes, Known, called
from tokenring.operators.recovery.places import Edge, place_of

_INPUT = "input "  # begins the ids of inputs that the program feeds: of them nothing is saved but times
CHANGED = "tokenring: the program has changed"
"""Begins what a worker reports of that, in words."""


class SavedSource(Protocol):
    """A source on one worker, which can be read again from where it was."""

    known: Known

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
    known: str
    """By which it is told of: its folder, or, of one that the job has in its own, by a name."""
    into: str
    """The table that its rows go into; "" if they stay in files."""

    def cut(self, number: int, before: int) -> list[str]:
        """Close, for snapshot `number`, the file that holds what came last; all files, under hidden names, that no
        snapshot up to `before`, which is whole, has."""


class SavedState:
    """What an operator keeps on one worker."""

    leaves = False

    def __init__(self, saving: "Saving", spec: OperatorSpec, tables: Sequence[Table], pends: bool) -> None:
        self.known, self.spec, self.tables = Known(spec.name), spec, tables
        self.operator = spec.name
        self.finishes = pends or spec.notify is not Notify.NEVER
        """Whether it has done with what is before a time once that is finished."""
        self.sources: list[Known] = []
        """Those whose rows come to it, and the inputs that the program feeds."""
        self.offered = Offered()
        self.due: Time = COMPLETE
        """The least time at which output is pending by what was put in."""
        self._saving = saving
        self._worker, self._peers = 0, 1

    def begin(self, worker: int, peers: int) -> None:
        """The operator is made: put in what belongs here of what was saved."""
        self._worker, self._peers = worker, peers
        require_movable(self.operator, self.offered, self.tables)
        found = self._saving.tables_of(self.known, self.tables)
        if found is not None:
            self.due = self.offered.only(self.operator).put_in(self._here(found))

    def edges(self) -> list[Edge]:
        """What it reads."""
        return [Edge(each.origin, each.stage, repr(each.pact)) for each in self.spec.inputs]

    def _here(self, tables: Sequence[Batch]) -> list[Batch]:
        return [
            rows.filter(workers_of(rows, table.key, self._peers) == self._worker)
            for rows, table in zip(tables, self.tables, strict=True)
        ]

    def take_out(self) -> Sequence[Batch]:
        """All of it: what is kept here afterwards is nothing. An operator of all rows says on each worker that it has
        the one key there is; rows come to one of them."""
        taken = self.offered.only(self.operator).take_out(Leaving(Bins(1), np.ones(1, bool)))
        here = zip(taken, self._here(taken), self.tables, strict=True)
        return [rows if table.is_anywhere else mine for rows, mine, table in here]


class SavedRows:
    """Tables that an operator keeps on one worker, and that are not put in there when the run goes on: whoever keeps
    them asks for what was saved."""

    def __init__(
        self, saving: "Saving", operator: str, tables: Sequence[Table], stream: Stream | None, leaves: bool
    ) -> None:
        self.known, self.operator, self.tables = Known(operator), operator, tables
        self.leaves = leaves
        """Whether it is about what has left what is made again: of use where it is made of the same alone."""
        self.take_out: Callable[[], Sequence[Batch]]
        """Makes a batch for each table, in a copy of the worker at rest."""
        self.since: Callable[[], Time] | None = None
        """From when on the rows that were taken out can be told apart by their times, where that is not always so."""
        self.spec = None if stream is None else stream.scope.graph.operators[stream.source.operator]
        self.finishes = leaves
        self.sources: list[Known] = []
        """See SavedState."""
        self._saving, self._stream = saving, stream

    def edges(self) -> list[Edge]:
        """The stream that it is about, if it is about one."""
        return [] if self._stream is None else [Edge(self._stream.source, self._stream.stage)]

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
        """What all workers saved of a table, which is not much; no rows where nothing was saved of it. To be asked once
        all is declared, as all that was saved."""
        schema = self.tables[table].schema
        found = [self._saving.read(told, schema) for told in self._files(table)]
        return Batch.concatenate(found) if found else Batch(schema, {name: [] for name in schema.names})

    def share(self, table: int, worker: int, peers: int) -> Iterator[Batch]:
        """A worker's part of what all saved of a table."""
        for at, told in enumerate(self._files(table)):
            if at % peers == worker:
                yield self._saving.read(told, self.tables[table].schema)

    def _files(self, table: int) -> list[dict[str, Any]]:
        return [told for told in self._saving.files_of(self.known) if told["table"] == table]


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
        self.may_go: Collection[str] = ()
        """What of the snapshot may be lost, by name."""
        self.tells = False
        """Whether this worker is the one that says what all would."""
        self.accounted: list[OperatorSpec] = []
        """The operators that have said what they keep."""
        self.at_end: list[Callable[[], None]] = []
        """Called when all is declared, to declare more."""
        self.when_found: list[Callable[[], None]] = []
        """Called once it is known what was saved of all that is declared."""
        self.made_again: list[OperatorSpec] = []
        """Those among them that keep what they are sent once more when the run goes on: all that has come."""
        self.entries: set[int] = set()
        """The operators, by number, behind which all is made again."""
        self.exits: set[int] = set()
        """Those behind which it is no more: what they sent before a death comes no second time."""
        self.says: dict[int, str] = {}
        """Of operators, by number, what tells them from others better than their names do."""
        self.patches: set[int] = set()
        """Operators that are there only where the run goes on, and send what their first input has."""
        self.states: list[SavedState | SavedRows] = []
        self.rights: list[Stream] = []
        """What brings operators the right to send what was pending."""
        self.sources: list[SavedSource] = []
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
        self._arrivals: dict[Source, SavedRows] = {}
        self._numbers: dict[Known, int] = {}
        """Of sources, by which the graph has them."""

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
            self._match()
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

    def source(self, name: str, source: SavedSource) -> Known:
        """The source that is declared next: by which it is known, once all is declared."""
        self.sources.append(source)
        known = Known(name)
        self._numbers[known] = len(self._scope.graph.operators)
        return known

    def state(self, spec: OperatorSpec, tables: Sequence[Table], pends: bool) -> SavedState:
        """One more operator with state is declared. pends: whether output may be pending by it."""
        state = SavedState(self, spec, tables, pends)
        self.states.append(state)
        return state

    def rows(
        self, operator: str, tables: Sequence[Table], stream: Stream | None = None, leaves: bool = False
    ) -> SavedRows:
        """One more operator is declared that sees to its tables itself. stream, leaves: see SavedRows."""
        rows = SavedRows(self, operator, tables, stream, leaves)
        self.states.append(rows)
        return rows

    def arrives(self, rows: SavedRows, stream: Stream) -> None:
        """Behind this stream lies what is made of the rows that are saved, whatever was done before they came."""
        self._arrivals[stream.source] = rows

    def sink(self, name: str, into: str) -> str:
        """By which a sink whose files lie in the job's folder is known: as it was, or by a name that no other has."""
        there = [] if self.resumed is None else self.resumed.sinks
        taken = {sink.known for sink in self.sinks.values()}
        was = [one["known"] for one in there if called(one["known"]) == name and one["into"] in (into, None)]
        taken |= {one["known"] for one in there if one["known"] not in was}
        number = count(2)
        found = next((one for one in was if one not in taken), name)
        while found in taken:
            found = f"{name}#{next(number)}"
        return found

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

    def tables_of(self, known: Known, tables: Sequence[Table]) -> list[Batch] | None:
        """What all workers saved of an operator; None where nothing was."""
        if not known.was:
            return None
        found: list[list[Batch]] = [[] for _ in tables]
        for told in self.files_of(known):
            found[told["table"]].append(self.read(told, tables[told["table"]].schema))
        return [
            Batch.concatenate(some) if some else Batch(table.schema, {name: [] for name in table.schema.names})
            for some, table in zip(found, tables, strict=True)
        ]

    def files_of(self, known: Known) -> list[dict[str, Any]]:
        """The files of an operator's tables; none where nothing was saved of it."""
        files = [] if self.resumed is None else self.resumed.files
        return [told for told in files if told.get("operator") == known.was]

    def read(self, told: dict[str, Any], schema: Schema) -> Batch:
        """The rows of one of these files."""
        assert self.resumed is not None, "the run goes on from it"
        return read_table(self.resumed.folder, told, schema)

    @property
    def forgotten(self) -> Time:
        """Before which times are not told apart any more, of some rows that were saved."""
        workers = [] if self.resumed is None else self.resumed.manifest["workers"]
        were = [one.get("since", {"": self.resumed_at}) for one in workers]
        return max([since for of_rows in were for since in of_rows.values()], default=0)

    def shares_of(self, known: Known) -> dict[int, dict[str, Any]]:
        """Where each share of a source was; empty where it begins."""
        return self._shares(known.was)

    def _shares(self, source: str) -> dict[int, dict[str, Any]]:
        workers = [] if self.resumed is None else self.resumed.manifest["workers"]
        found = [told["state"] for worker in workers for told in worker["shares"] if told["source"] == source]
        return {state["share"]: state for state in found}

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

    def _match(self) -> None:
        """All is declared: find it in the snapshot that the run goes on from, and give it the names by which the next
        ones know it. RecoveryError for what would be lost."""
        snapshot, changes = self.resumed, Changes(self.resumed, self.may_go)
        self._find_sources()
        for source in self.sources:
            source.known.place = _text(source.contents())
        were = {} if snapshot is None else {name: _text(one) for name, one in snapshot.contents.items()}
        changes.find("source", [source.known for source in self.sources], were, partial(_other_contents, were))
        stay = {name for name in were if name not in self.may_go}
        told = {} if snapshot is None else snapshot.operators
        for leaves in (False, True):  # what has left is told by what has come in
            states = {state.known: state for state in self.states if state.leaves == leaves}
            for known, state in states.items():
                known.place = self._place_of(state)
            places = {name: one["place"] for name, one in told.items() if one["leaves"] == leaves}
            why_not = lambda one: _other_state(states[one], told[one.was], stay)  # noqa: B023, E731
            changes.find("operator", [*states], places, why_not)
        changes.find_sinks(list(self.sinks.values()))
        said = changes.told()
        for begin in self.when_found:
            begin()
        if snapshot is not None and said and self.tells:
            self.report([CHANGED, said])
            for folder in {sink["folder"] for sink in snapshot.sinks} - self.sinks.keys():
                remove_leftovers(Path(folder))

    def _place_of(self, state: SavedState | SavedRows) -> str:
        """What tells an operator from others of its name."""
        ends = {source: rows.known.id for source, rows in self._arrivals.items()} if state.leaves else {}
        about = f"{[(_spec(table.schema), table.version) for table in state.tables]}"
        return place_of(self._scope.graph, state.edges(), about, self.says, self.patches, ends)

    def _find_sources(self) -> None:
        """Say of all that is saved which sources' rows come to it."""
        graph = self._scope.graph
        for number, spec in enumerate(graph.operators):
            if spec.manual is not None:
                self._numbers[Known(spec.name, id=f"{_INPUT}{spec.name}", was=f"{_INPUT}{spec.name}")] = number
        for known, number in self._numbers.items():
            behind = {id(graph.operators[target.operator]) for target in graph.inputs_behind(number)} | {
                id(graph.operators[number])
            }
            for state in self.states:
                if id(state.spec) in behind:
                    state.sources.append(known)

    def begins_at(self, known: Known) -> Time:
        """Before which the rows of a source that is new in a run that goes on are late: operators behind it have done
        with what was earlier, and some of it would be told twice, and some not at all."""
        bounds = [0]
        for state in self.states:
            if state.known.was and state.finishes and known in state.sources:
                assert self.resumed is not None, "the run goes on"
                if isinstance(state, SavedRows):
                    bounds.append(int(state.all(0)["until"].max()))
                else:
                    bounds.append(self._finished_at(self.resumed.operators[state.known.was]["sources"]))
        return min(max(bounds), MAX_TIME)

    def _finished_at(self, sources: Sequence[str]) -> Time:
        """The time before which sources, and inputs, had sent all."""
        shares = [share for name in sources for share in self._shares(name).values()]
        times = [share["time"] for share in shares] + [
            time for name in sources for time in self._input_times(name.removeprefix(_INPUT))
        ]
        still_open = [time for time in times if time is not None]
        return min(still_open) if still_open else 1 + max([share["greatest"] for share in shares], default=-1)

    def _input_times(self, name: str) -> list[Time]:
        """Where an input that the program feeds was, on each worker on which it was open."""
        workers = [] if self.resumed is None else self.resumed.manifest["workers"]
        return [one["inputs"][name] for one in workers if name in one["inputs"]]

    # A snapshot

    def stand(self) -> None:
        """Let sources, and the program, send nothing, and operators whose state is of no key keep nothing."""
        self.keep_program(True)
        for source in self.sources:
            source.stand()
        for word, activate in self._emptied:
            word[0] = 1
            activate()

    def go_on(self) -> None:
        """Let them send what comes, and keep it."""
        for word, _ in self._emptied:
            word[0] = 0
        self.keep_program(False)
        for source in self.sources:
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
        told = [] if self.resumed is None else self.resumed.operators.values()
        had = {name for one in told for name in one["sources"]}
        for known in self._numbers:
            if known.id.startswith(_INPUT):
                handle = self._scope.graph.operators[self._numbers[known]].manual
                were = self._input_times(known.called)
                handle.advance_to(min(were) if were else 0 if known.id in had else self.begins_at(known))

    def write(self, folder: Path, worker: int, parts: Sequence[dict[str, str]]) -> None:
        """Write all state to the folder of a snapshot: this process is a copy of the worker, and ends then."""
        tables = []
        for at, state in enumerate(self.states):
            for number, rows in enumerate(state.take_out()):
                if rows.rows:
                    told = write_table(folder / f"worker{worker}-state{at}-{number}.arrow", rows)
                    tables.append({"operator": state.known.id, "table": number, "columns": _spec(rows.schema)} | told)
        shares = [{"source": source.known.id, "state": state} for source in self.sources for state in source.state()]
        for part in parts:
            sync(part["made"])
        told = {
            "tables": tables,
            "shares": shares,
            "parts": list(parts),
            "contents": {source.known.id: source.contents() for source in self.sources},
            "program": {name: value() for name, value in self.program.items()},
            "since": {rows.known.id: rows.since() for rows in self._arrivals.values() if rows.since is not None},
            "inputs": {name: handle.time for name, handle in self._inputs() if not handle.closed},
            "operators": {state.known.id: _told(state) for state in self.states},
            "sinks": [
                {"folder": str(sink.folder), "suffix": sink.suffix, "known": sink.known, "into": sink.into}
                for sink in self.sinks.values()
            ],
        }
        write_json(folder / f"worker{worker}.json", told)


def _text(contents: Any) -> str:
    return orjson.dumps(contents, option=orjson.OPT_SORT_KEYS).decode()


def _other_contents(were: Mapping[str, str], known: Known) -> str:
    """How what a source reads has changed; "" if it has not."""
    was, now = were[known.was], known.place
    return "" if was == now else f"has changed ({_difference(orjson.loads(was), orjson.loads(now))})"


def _other_state(state: SavedState | SavedRows, was: Mapping[str, Any], stay: Collection[str]) -> str:
    """Why what was saved of an operator is of no use to it; "" if it is. stay: the sources that are to be there still.
    """
    sources = [known.was or known.id for known in state.sources]
    if not {*sources} & {*was["sources"]} and (gone := [name for name in was["sources"] if name in stay]):
        return f"has rows of {_listed(sources)}, and had some of {_listed(gone)}"
    if state.leaves and was["place"] not in ("", state.known.place):
        return "is made by other operators, so that what was told before is not what they would have told"
    now = _told(state)["tables"]
    for one in was["tables"]:
        other = now[one["table"]] if one["table"] < len(now) else {"columns": {}, "key": [], "version": ""}
        differ = [what for what in ("version", "columns", "key") if one[what] is not None and one[what] != other[what]]
        for what in [what for what in differ if one[what] and other[what]] or differ:
            return f"keeps ({other[what] or ''}), and kept ({one[what] or ''})".replace("'", "")
    return ""


def _listed(sources: Sequence[str]) -> str:
    return " and ".join([repr(name.removeprefix(_INPUT)) for name in sources]) or "no source"


def _told(state: SavedState | SavedRows) -> dict[str, Any]:
    """What snapshots say of an operator."""
    tables = [
        {"table": number, "columns": _spec(table.schema), "key": list(table.key), "version": table.version}
        for number, table in enumerate(state.tables)
    ]
    sources = [known.id for known in state.sources]
    return {"place": state.known.place, "leaves": state.leaves, "sources": sources, "tables": tables}


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
