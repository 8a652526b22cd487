"""Saving: what one worker saves of one dataflow, and what it was given to go on from."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson

from tokenring.engine import MAX_TIME, Batch, GraphError, InputHandle, Pact, Schema, Stream, Time
from tokenring.engine.graph import OperatorSpec, Source
from tokenring.engine.whole_files import remove_leftovers
from tokenring.operators.migrate import Placement, Table, has_bins
from tokenring.operators.recovery.builder import MovingBuilder, RecoveringBuilder
from tokenring.operators.recovery.folder import Snapshot
from tokenring.operators.recovery.matching import OPERATOR, SOURCE, Changes, called, other_contents, other_state
from tokenring.operators.recovery.places import place_of
from tokenring.operators.recovery.saved import (
    INPUT,
    Known,
    SavedRows,
    SavedSink,
    SavedSource,
    SavedState,
    spec_of,
    told_of,
)
from tokenring.operators.recovery.tables import read_table, write_changes, write_table

if TYPE_CHECKING:
    from tokenring.operators.recovery.of_worker import WorkerSaving

CHANGED = "tokenring: the program has changed"
"""Begins what a worker reports of that, in words."""
LEAVE_OUT = "tokenring: these can leave out rows"
"""Begins what a worker reports of operators, by the names that errors give them."""


class Saving:
    """What one worker saves of one dataflow."""

    def __init__(self, of_worker: "WorkerSaving", scope: Any, resumed: Snapshot | None, name: str = "") -> None:
        """scope: of the dataflow, which is to be declared. resumed: what the run goes on from of it. name: by which it
        was installed; "": it is the program's."""
        self.name = name
        self.of_worker = of_worker
        self.is_built = False
        self.resumed = resumed
        self.shares, self.job, self.folder = of_worker.shares, of_worker.job, of_worker.folder
        self.given_up, self.dead_letters = of_worker.given_up, of_worker.dead_letters
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
        """Operators that are there only where the run goes on, or state moves, and send what their first input has."""
        self.pacts: dict[int, Pact] = {}
        """Of inputs, by id, what the program said, where rows go by bins instead."""
        self.states: list[SavedState | SavedRows] = []
        self.rights: list[Stream] = []
        """What brings operators the right to send what was pending."""
        self.sources: list[SavedSource] = []
        self.sinks: dict[str, SavedSink] = {}
        self.at_any_times: set[int] = set()
        """The operators, by number, whose messages have other times in each run: see `sends_at_any_times`."""
        self.leave_out: set[str] = set()
        """The operators, as errors call them, that leave out late rows, if they fail at them."""
        self.finished: dict[str, Mapping[str, str]] = {}
        """The sinks that take results as soon as their times are finished, each with its columns: see SavedSink."""
        self._emptied: list[tuple[memoryview, Callable[[], None]]] = []
        self._resting: list[Callable[[], bool]] = []
        self._scope = scope
        self._arrivals: dict[Source, SavedRows] = {}
        self._numbers: dict[Known, int] = {}
        """Of sources, by which the graph has them."""
        moves = has_bins(scope)
        self.placement: Placement | None = scope.kept(Placement) if moves else None
        """Where its state is in bins that move."""
        self.accounted += scope.graph.operators  # what sees to that
        scope.saving, scope.builder_class = self, MovingBuilder if moves else RecoveringBuilder

    @property
    def resumed_at(self) -> Time:
        """The time before which all has come of what the run goes on from; 0: it begins."""
        return 0 if self.resumed is None else self.resumed.time

    def require_saved(self) -> None:
        """The dataflow is declared. GraphError for operators, inputs and sources that say nothing of what they keep;
        RecoveryError for a dataflow that is not the one that the run goes on with."""
        for declare in self.at_end:
            declare()
        graph, accounted = self._scope.graph, set(map(id, self.accounted))
        again = self._made_again()
        unknown = [
            spec for spec in graph.operators if spec.relay is None and id(spec) not in accounted
        ]
        if self.of_worker.program or self.name:  # whoever installs says that nobody could feed it
            unknown = [spec for spec in unknown if spec.manual is None]
        self._require_exits(again)
        self._require_names()
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
                told.append(f"operator {spec.name!r} is in a loop, in which nothing may be kept from time to time")
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

    def _require_names(self) -> None:
        """GraphError for inputs of one name, by which snapshots know where each was."""
        names = [name for name, _ in self._inputs()]
        for name in [name for name in names if names.count(name) > 1]:
            raise GraphError(
                f"dataflow {self._scope.graph.name!r} cannot be saved: {names.count(name)} inputs are called {name!r}, "
                f"and by its name a snapshot knows where each was: give each a name= of its own"
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

    def sink(self, name: str, into: str, finished: bool) -> str:
        """By which a sink whose files lie in the job's folder is known: as it was, or by a name that no other has.
        finished: it takes results of finished times, of which snapshots know nothing, so its name is all that tells."""
        name = f"{self.name}/{name}" if self.name else name
        if finished:
            return f"{name} {into}"
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

    def shares_of(self, known: Known) -> dict[int | str, dict[str, Any]]:
        """Where each share of a source was, by name; empty where it begins."""
        return self._shares(known.was)

    def _shares(self, source: str) -> dict[int | str, dict[str, Any]]:
        workers = [] if self.resumed is None else self.resumed.manifest["workers"]
        found = [told["state"] for worker in workers for told in worker["shares"] if told["source"] == source]
        return {state["share"]: state for state in found}

    def _match(self) -> None:
        """All is declared: find it in the snapshot that the run goes on from, and give it the names by which the next
        ones know it. RecoveryError for what would be lost."""
        self._find_sources()
        inputs = {known.id for known in self._numbers if known.id}
        snapshot, changes = self.resumed, Changes(self.resumed, self.of_worker.may_go, inputs)
        for source in self.sources:
            source.known.place = _text(source.contents())
        were = {} if snapshot is None else {name: _text(one) for name, one in snapshot.contents.items()}
        changes.find(SOURCE, [source.known for source in self.sources], were, partial(other_contents, were))
        stay = {name for name in were if name not in self.of_worker.may_go}
        told = {} if snapshot is None else snapshot.operators
        for leaves in (False, True):  # what has left is told by what has come in
            states = {state.known: state for state in self.states if state.leaves == leaves}
            for known, state in states.items():
                known.place = self._place_of(state)
            places = {name: one["place"] for name, one in told.items() if one["leaves"] == leaves}
            why_not = lambda one: other_state(states[one], told[one.was], stay)  # noqa: B023, E731
            changes.find(OPERATOR, [*states], places, why_not)
        changes.find_sinks(list(self.sinks.values()), self.finished)
        said = changes.told()
        for begin in self.when_found:
            begin()
        if snapshot is not None and said and self.of_worker.worker.index == 0:
            self.of_worker.report([CHANGED, said])
            for folder in {sink["folder"] for sink in snapshot.sinks} - self.sinks.keys():
                remove_leftovers(Path(folder))
        stages = {stage.label for stage in self._scope.graph.stages if stage.rejects in (None, self.dead_letters)}
        self.of_worker.report([LEAVE_OUT, sorted(stages | self.leave_out)])

    def _place_of(self, state: SavedState | SavedRows) -> str:
        """What tells an operator from others of its name."""
        ends = {source: rows.known.id for source, rows in self._arrivals.items()} if state.leaves else {}
        about = f"{[(spec_of(table.schema), table.version) for table in state.tables]}"
        return place_of(self._scope.graph, state.edges(), about, self.says, self.patches, ends, self.pacts)

    def _find_sources(self) -> None:
        """Say of all that is saved which sources' rows come to it."""
        graph = self._scope.graph
        for number, spec in enumerate(graph.operators):
            if spec.manual is not None:
                self._numbers[Known(spec.name, id=f"{INPUT}{spec.name}", was=f"{INPUT}{spec.name}")] = number
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
            time for name in sources for time in self._input_times(name.removeprefix(INPUT))
        ]
        still_open = [time for time in times if time is not None]
        return min(still_open) if still_open else 1 + max([share["greatest"] for share in shares], default=-1)

    def _input_times(self, name: str) -> list[Time]:
        """Where an input that the program feeds was, on each worker on which it was open."""
        workers = [] if self.resumed is None else self.resumed.manifest["workers"]
        return [one["inputs"][name] for one in workers if name in one["inputs"]]

    # A snapshot

    def stand(self) -> None:
        """Let sources send nothing, and operators whose state is of no key keep nothing."""
        for source in self.sources:
            source.stand()
        for word, activate in self._emptied:
            word[0] = 1
            activate()

    def go_on(self) -> None:
        """Let them send what comes, and keep it."""
        for word, _ in self._emptied:
            word[0] = 0
        for source in self.sources:
            source.go_on()

    def _inputs(self) -> list[tuple[str, InputHandle]]:
        """The inputs that the program feeds, by name."""
        manual = [(spec.name, spec.manual) for spec in self._scope.graph.operators]
        return [(name, handle) for name, handle in manual if handle is not None]

    def built(self) -> None:
        """The dataflow is built: inputs that the program feeds are at the least time that one of a worker was at."""
        from tokenring.engine.explain import left_open  # noqa: F401 - copies look by it, and are not to load it each

        self.is_built = True
        told = [] if self.resumed is None else self.resumed.operators.values()
        had = {name for one in told for name in one["sources"]}
        for known, number in self._numbers.items():
            handle = self._scope.graph.operators[number].manual
            if handle is not None:
                were = self._input_times(known.called)
                handle.advance_to(min(were) if were else 0 if known.id in had else self.begins_at(known))

    def write(self, path: Path, worker: int, before: Snapshot | None) -> dict[str, Any]:
        """Write all state to files whose names begin with `path`; what a manifest says of it. before: what the snapshot
        before has of this dataflow, of which only what has changed is written."""
        workers = [] if before is None else before.manifest["workers"]
        were = {
            (told["operator"], told["table"], _text(told["columns"])): told
            for told in (workers[worker]["tables"] if worker < len(workers) else ())
        }
        tables = []
        for at, state in enumerate(self.states):
            for table, rows in enumerate(state.take_out()):
                if rows.rows:
                    about = {"operator": state.known.id, "table": table, "columns": spec_of(rows.schema)}
                    was = were.get((state.known.id, table, _text(about["columns"])))
                    file, told = path.with_name(f"{path.name}{at}-{table}.arrow"), None
                    if before is not None and was is not None:
                        told = write_changes(file, rows, before.folder, was)
                    tables.append(about | (told or write_table(file, rows)))
        shares = [{"source": source.known.id, "state": state} for source in self.sources for state in source.state()]
        return {
            "tables": tables,
            "shares": shares,
            "contents": {source.known.id: source.contents() for source in self.sources},
            "names": {source.known.id: [*source.names] for source in self.sources},
            "since": {rows.known.id: rows.since() for rows in self._arrivals.values() if rows.since is not None},
            "inputs": {name: handle.time for name, handle in self._inputs() if not handle.closed},
            "operators": {state.known.id: told_of(state) for state in self.states},
            "sinks": [said_of(sink) for sink in self.sinks.values()],
            "finished_sinks": self.finished,
        }


def _text(contents: Any) -> str:
    return orjson.dumps(contents, option=orjson.OPT_SORT_KEYS).decode()


def said_of(sink: SavedSink) -> dict[str, Any]:
    """What a manifest says of a sink."""
    return {
        "folder": str(sink.folder), "suffix": sink.suffix, "known": sink.known, "into": sink.into,
        "columns": sink.columns,
    }  # fmt: skip
