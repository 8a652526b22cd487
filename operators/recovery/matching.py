"""What of a snapshot a program goes on with, which need not be the program that it was made by.

An operator with state, or a source, is known by its name. Where several have one name, it is the place that tells them
apart: what their rows come of (places.py), or what a source reads. What is found again goes on, what is new begins with
nothing, and what would be lost is refused, unless the run was told that it may be.
"""

import shlex
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import orjson

from tokenring.engine import RecoveryError
from tokenring.operators.recovery.folder import Snapshot, gives_up
from tokenring.operators.recovery.saved import INPUT, Known, SavedRows, SavedSink, SavedState, told_of

SOURCE, OPERATOR = "source", "operator"


def match(
    known: Sequence[Known], saved: Mapping[str, str], may_go: Collection[str], is_exact: bool = False
) -> dict[str, list[str]]:
    """Find each in what was saved: ids with their places ("": not known). may_go: ids that need not be found. is_exact:
    whether one of another place is refused anyway, so that any will do. Returns the names of which it cannot be told
    whose is which, each with all ids that go by it."""
    left = dict(saved)

    def pair(ours: Sequence[Known], theirs: Sequence[str]) -> None:
        for one, found in zip(ours, theirs, strict=True):
            one.was = found
            del left[found]

    for one in known:
        if "#" in one.called and one.called in left:  # it was the second of several, and is called so now
            pair([one], [one.called])
    unclear = {}
    for name in dict.fromkeys([one.called for one in known]):
        ours = [one for one in known if one.called == name and not one.was]
        theirs = [found for found in left if called(found) == name]
        is_told = any([left[found] for found in theirs])
        if len(ours) == len(theirs) and (len(ours) == 1 or not is_told):
            pair(ours, theirs)
            continue
        for place in dict.fromkeys([one.place for one in ours]):
            here = [one for one in ours if one.place == place], [found for found in theirs if left.get(found) == place]
            if len(here[0]) == len(here[1]):
                pair(*here)
        ours = [one for one in ours if not one.was]
        theirs = [found for found in theirs if found in left]
        stay = [found for found in theirs if found not in may_go]
        if len(ours) == len(stay) and (is_exact or len(stay) == 1 < len(theirs)):
            pair(ours, stay)
        elif ours and stay:
            unclear[name] = [found for found in saved if called(found) == name]
    return unclear


def name_all(known: Iterable[Known], taken: set[str]) -> None:
    """Give each an id that is not taken: the one that it had, or its name, with a number behind it if there must be."""
    known = list(known)
    for one in known:
        if one.was:
            one.id = one.was
            taken.add(one.id)
    for one in known:  # before any gets a number: a program may call one "a#2"
        if not one.was and one.called not in taken:
            one.id = one.called
            taken.add(one.id)
    for one in known:
        number = 2
        while not one.id:
            if f"{one.called}#{number}" not in taken:
                one.id = f"{one.called}#{number}"
                taken.add(one.id)
            number += 1


def called(found: str) -> str:
    """What the program called what a snapshot knows by an id."""
    name, mark, number = found.rpartition("#")
    return name if mark and number.isdigit() else found


class Changes:
    """How a program differs from the one that a snapshot was made by: what is new, and what would be lost."""

    def __init__(self, snapshot: Snapshot | None, may_go: Collection[str], taken: Collection[str]) -> None:
        """taken: ids that nothing new gets, those of inputs that the program feeds."""
        self._snapshot, self._may_go = snapshot, may_go
        self._taken = {*taken}
        self._new: list[str] = []
        self._gone: list[str] = []
        self._lost: list[str] = []
        self._names: list[str] = []
        """What is to be said to let go what would be lost."""
        self._unclear: list[str] = []

    def find(
        self, what: str, known: Sequence[Known], saved: Mapping[str, str], why_not: Callable[[Known], str]
    ) -> None:
        """Find each in what was saved, and name it. why_not: of what was found, why it is of no use; "" if it is."""
        for name, ids in match(known, saved, self._may_go, what == SOURCE).items():
            self._unclear.append(
                f"{what}s called {name!r} do not come of what they came of, and which of them goes on as "
                f"{' or '.join(map(repr, ids))} cannot be told: give each this as its name=, new ones another, and say "
                f"--drop of one that is gone"
            )
        for name in [name for name in saved if name not in {one.was for one in known}]:
            self._is_lost(f"{what} {name!r}", name)
        new = [one for one in known if not one.was]
        for one in known:
            if one.was and (why := why_not(one)):
                self._is_lost(f"{what} {one.was!r}, which {why}", one.was)
                one.was = ""
            elif one.was and what == SOURCE:
                for part in gone_partitions(saved[one.was], one.place):
                    self._is_lost(f"partition {part!r} of source {one.was!r}", f"{one.was}/{part}")
        name_all(known, self._taken)
        self._new += [f"{what} {one.id!r}" for one in new]

    def find_sinks(self, sinks: Sequence[SavedSink], finished: Mapping[str, Mapping[str, str]]) -> None:
        """The same of sinks, which are known from the first. finished: those that wait for no snapshot, and their
        columns."""
        there = [] if self._snapshot is None else self._snapshot.sinks
        known = {sink.known: sink for sink in sinks if not gives_up(sink.folder)}
        were = {was["known"]: was for was in there if not gives_up(was["folder"])}
        other = [name for name in known if name in were and known[name].suffix != were[name]["suffix"]]
        self._find_sinks(
            {name: {} if name in other else sink.columns for name, sink in known.items()},
            {name: was["columns"] for name, was in were.items()},
        )
        for name in other:
            has, gets = were[name]["suffix"], known[name].suffix
            self._is_lost(f"sink {name!r}, which has files *{has}, and would get *{gets} as well", name)
        told = {} if self._snapshot is None else self._snapshot.finished_sinks
        if told is not None:
            self._find_sinks(finished, told, " with commit='finished'")

    def _find_sinks(
        self, known: Mapping[str, Mapping[str, str]], were: Mapping[str, Mapping[str, str]], how: str = ""
    ) -> None:
        """Sinks by which they are known, with their columns, none where these may be any."""
        for name in [name for name in were if name not in known]:
            self._is_lost(f"sink {name!r}{how}", name)
        for name, columns in known.items():
            was = were.get(name, {})
            if columns and was and columns != was:
                self._is_lost(f"sink {name!r}{how}, which {_told_apart(_parts(columns), _parts(was), _WRITES)}", name)
        self._new += [f"sink {name!r}{how}" for name in known if name not in were]

    def _is_lost(self, what: str, name: str) -> None:
        """Something of the snapshot would be lost."""
        if name in self._may_go:
            self._gone.append(what)
        else:
            self._lost.append(what)
            self._names.append(name)

    def told(self) -> str:
        """What differs, in a line; "" if nothing does. RecoveryError for what would be lost."""
        if self._snapshot is None:
            return ""
        where = f"snapshot {self._snapshot.number} of {self._snapshot.folder.parent}"
        new = f"; new in this program: {', '.join(self._new)}" if self._new else ""
        if self._unclear:
            raise RecoveryError(f"this program differs from that of {where}: {'; '.join(self._unclear)}{new}")
        if self._lost:
            options = " ".join([f"--drop {shlex.quote(name)}" for name in self._names])
            given = ", ".join(map(repr, self._names))
            raise RecoveryError(
                f"this program would lose what {where} has of {'; '.join(self._lost)}. Bring that back; or give its "
                f"name= to what is called otherwise now; or let it go: {options}, or Recovery(..., drop=[{given}]){new}"
            )
        said = [*[f"{what} is new" for what in self._new], *[f"{what} is let go" for what in self._gone]]
        return f"this program differs from that of {where}: {'; '.join(said)}" if said else ""


_PARTITIONS = "partitions"


def other_contents(were: Mapping[str, str], known: Known) -> str:
    """How what a source reads has changed, but for its partitions; "" if it has not."""
    was, now = orjson.loads(were[known.was]), orjson.loads(known.place)
    if isinstance(was, dict) and isinstance(now, dict) and _PARTITIONS in was and _PARTITIONS in now:
        was[_PARTITIONS] = now[_PARTITIONS]
    return "" if was == now else f"has changed ({_difference(was, now)})"


def gone_partitions(was: str, now: str) -> list[str]:
    """Those that a source had and has no more."""
    before, after = orjson.loads(was), orjson.loads(now)
    if not isinstance(before, dict) or _PARTITIONS not in before:
        return []
    return [one for one in before[_PARTITIONS] if one not in after[_PARTITIONS]]


def other_state(state: SavedState | SavedRows, was: Mapping[str, Any], stay: Collection[str]) -> str:
    """Why what was saved of an operator is of no use to it; "" if it is. stay: the sources that are to be there still.
    """
    sources = [known.was or known.id for known in state.sources]
    if not {*sources} & {*was["sources"]} and (gone := [name for name in was["sources"] if name in stay]):
        return f"has rows of {_listed(sources)}, and had some of {_listed(gone)}"
    if state.leaves and was["place"] not in ("", state.known.place):
        return "is made by other operators, so that what was told before is not what they would have told"
    now = told_of(state)["tables"]
    for one in was["tables"]:
        other = now[one["table"]] if one["table"] < len(now) else {"columns": {}, "key": [], "version": ""}
        differ = [what for what in ("version", "columns", "key") if one[what] is not None and one[what] != other[what]]
        for what in [what for what in differ if one[what] and other[what]] or differ:
            return _told_apart(_parts(other[what] or ""), _parts(one[what] or ""))
    return ""


_KEEPS, _WRITES = ("keeps", "kept"), ("writes", "wrote")


def _told_apart(now: Sequence[str], was: Sequence[str], verbs: tuple[str, str] = _KEEPS) -> str:
    """How parts of what is kept differ, without those that are the same."""
    does, did = verbs
    more, less = [part for part in now if part not in was], [part for part in was if part not in now]
    if more and less:
        return f"{does} ({'; '.join(more)}), and {did} ({'; '.join(less)})"
    if more or less:
        return f"{does if more else did} ({'; '.join(more or less)}) as well"
    return f"{does} ({'; '.join(now)}), and {did} ({'; '.join(was)})"


def _parts(told: Collection[str]) -> list[str]:
    """Those of a version, or columns, with their kinds if those are told: as the program calls them, without those that
    it does not know."""
    if isinstance(told, str):
        return told.replace("'", "").replace("·unnamed ", "").split("; ")
    called = {name: name.removeprefix("row ") for name in told if "·" not in name}
    kinds = told if isinstance(told, Mapping) else {}
    return [f"{shown}: {kinds[name]}" if kinds else shown for name, shown in called.items()]


def _listed(sources: Sequence[str]) -> str:
    return " and ".join([repr(name.removeprefix(INPUT)) for name in sources]) or "no source"


def _difference(was: Any, now: Any) -> str:
    """Of what is read, the first thing that differs."""
    if isinstance(was, dict) and isinstance(now, dict):
        for name in {**was, **now}:
            if was.get(name) != now.get(name):
                return f"{name}: {_difference(was.get(name), now.get(name))}"
    if _are_files(was) and _are_files(now):
        return _difference_of_files(was, now)
    return f"{now!r}, and it was {was!r}"


def _instant(ns: int) -> str:
    return f"{np.datetime64(ns, 'ns')} UTC"


def _are_files(facts: Any) -> bool:
    """Whether these are paths, bytes and times of files: see `facts_of` in operators/sources/files.py."""
    return isinstance(facts, list) and all(isinstance(each, list) and len(each) == 3 for each in facts)


def _difference_of_files(was: list[Any], now: list[Any]) -> str:
    """Of files, the first that is another."""
    before, after = ({path: facts for path, *facts in files} for files in (was, now))
    for path in before:
        if path not in after:
            return f"{path} is gone"
    for path in after:
        if path not in before:
            return f"{path} is new"
    for path, (size, changed_ns) in after.items():
        size_before, changed_before_ns = before[path]
        if size != size_before:
            return f"{path} has {size:,} bytes, and had {size_before:,}"
        if changed_ns != changed_before_ns:
            return f"{path} is of {_instant(changed_ns)}, and was of {_instant(changed_before_ns)}"
    return "in another order"
