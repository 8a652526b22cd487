"""A job's folder: its lock, its snapshots with their manifests, and the results that each of them lets appear.

A snapshot is a folder that gets its name once all its files, the manifest last, are on the disk. Results come out of a
run as files under hidden names; the manifest lists them, and only then do they get their names. Whoever comes upon a
manifest, after a crash also, does that again, which changes nothing where it was done.
"""

import fcntl
import filecmp
import hashlib
import os
import secrets
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote, unquote

import orjson

from tokenring.engine import RecoveryError, Time
from tokenring.engine.install import Code
from tokenring.engine.whole_files import sync
from tokenring.operators.recovery.refusals import in_one_line, refusal
from tokenring.operators.recovery.tables import problem_of

FORMAT = 4
"""Of manifests and tables that are written."""
_READ = (1, 2, 3, FORMAT)
"""Those that are read. The first says nothing of places and versions, and lists operators by name alone; up to the
second tables are whole; up to the third there is the program's dataflow alone."""
MANIFEST = "manifest.json"
_LAST = "last.json"  # the number of the newest manifest whose results have appeared, or begun to; where all lie
_INSERTED = "inserted.json"  # beside results that go into a table: the number of the newest ones that are in it
LOCK = "lock"
_OUTBOX = "outbox"
_DEAD_LETTERS = "dead-letters"
_FINISHED = "finished"
_BEGUN = "job.json"  # what is known of a job from its first start on
_NO_OTHERS = {_LAST, _OUTBOX, _DEAD_LETTERS, _FINISHED, "lost+found"}
"""What may stand in a job's folder before it is one: what is left of another job, and what file systems put there."""
_SNAPSHOT, _MAKING = "snapshot-", ".making-"
_LOCK_S = 10.0
_WHICH = "the number that the sink's row of tokenring_delivered has, or of a Delta table the version of its transaction"
_NOTHING_MAKES = "begin anew in another folder: no snapshot is there that makes them again"


def part_name(number: int, worker: int, which: int, suffix: str) -> str:
    """What a worker's results up to a snapshot are called; which: of several, where an earlier snapshot was not
    finished. Names sort as results came: those of updates are to be read in that order."""
    return f"part-{number:06d}-{worker:05d}{f'_{which:05d}' if which else ''}{suffix}"


def part_number(part: Path) -> int:
    """Of which snapshot results are, or, of those that appear as soon as times are finished, before which time; -1: of
    none."""
    number = part.name.split("-")[1]
    return int(number) if number.isdigit() else -1


def inserted_until(folder: Path) -> int:
    """Of which snapshot results in a folder were the last that went into a table; 0: none did."""
    try:
        return int(orjson.loads((folder / _INSERTED).read_bytes()))
    except FileNotFoundError:
        return 0
    except OSError as error:
        raise refusal(error, folder) from None
    except (ValueError, TypeError):
        raise RecoveryError(f"{folder / _INSERTED} is damaged: write {_WHICH} into it") from None


def say_inserted(folder: Path, number: int) -> None:
    """The results of a snapshot are in a table, and may go."""
    write_json(folder / _INSERTED, number)


def number_of(path: Path) -> int:
    """Which snapshot a folder is."""
    return int(path.name.removeprefix(_SNAPSHOT))


def have_folder(folder: Path) -> None:
    """Make a folder where there is none, with those around it, and bring to the disk that they are there."""
    missing = [each for each in (folder, *folder.parents) if not each.is_dir()]
    folder.mkdir(parents=True, exist_ok=True)
    for each in missing:
        sync(each.parent)


def require_there(folder: Path, job: Path) -> None:
    """RecoveryError where a folder in which results of a job have appeared is gone: a volume that is not mounted looks
    like that, and the rest would come elsewhere. Files in it are anybody's to take."""
    if not folder.is_dir() and not folder.is_relative_to(job):
        raise RecoveryError(
            f"{folder} is gone, a folder of results of the job in {job}: mount it, or put it back; or, if its files "
            f"were taken away on purpose, make an empty folder there"
        )


def _require_own(made: Path, named: Path, has_begun: bool) -> None:
    """RecoveryError where a file has the name that another is to get. Where the results of that snapshot had begun to
    appear, the same content will do: in folders that were copied, from a backup say, the two names of a file are two
    files."""
    try:
        is_own = named.samefile(made) or (has_begun and filecmp.cmp(named, made, shallow=False))
    except FileNotFoundError:
        return
    if not is_own:
        raise RecoveryError(
            f"{named.parent} has a file of another job, {named.name}, where one of this job is to be: give each job a "
            f"folder of its own, and begin both anew"
        )


def write_json(path: Path, value: Any) -> None:
    """JSON that is on the disk, whole, before it has its name."""
    draft = path.with_name(f".{path.name}")
    draft.write_bytes(orjson.dumps(value, option=orjson.OPT_INDENT_2))
    sync(draft)
    draft.rename(path)
    sync(path.parent)


def outbox_of(job: Path, sink: str) -> Path:
    """Where a job has the results of a sink that takes them elsewhere."""
    return job / _OUTBOX / quote(sink, safe="")


def dead_letters_of(job: Path, operator: str) -> Path:
    """Where a job has the rows that an operator fails at, as files of Parquet."""
    name = quote(operator, safe=" ()=,")
    return job / _DEAD_LETTERS / (f"%2E{name[1:]}" if name.startswith(".") else name)


def finished_of(job: Path, sink: str) -> Path:
    """Where a job has what it knows of a sink that takes results as soon as their times are finished."""
    return job / _FINISHED / quote(sink, safe="")


def gives_up(folder: str | Path) -> str:
    """The operator whose dead letters lie there; "" if it is no such folder."""
    path = Path(folder)
    return unquote(path.name) if path.parent.name == _DEAD_LETTERS else ""


def dead_letters_in(job: Path) -> list[Path]:
    """The folders of all dead letters of a job."""
    return sorted((job / _DEAD_LETTERS).glob("[!.]*"))


def _sink_at(folder: str) -> str:
    """By which the sink is known whose results lie there."""
    path = Path(folder)
    return unquote(path.name) if path.parent.name == _OUTBOX else folder


def _counted(count: int, what: str) -> str:
    return f"{count:,} {what}{'s' * (count != 1)}"


def _sum_of(manifest: dict[str, Any]) -> str:
    return hashlib.blake2b(orjson.dumps(manifest, option=orjson.OPT_SORT_KEYS), digest_size=16).hexdigest()


def write_manifest(folder: Path, manifest: dict[str, Any]) -> dict[str, Any]:
    """The manifest of a snapshot, with a checksum of its own; what is read of it."""
    as_read: dict[str, Any] = orjson.loads(orjson.dumps(manifest))
    write_json(folder / MANIFEST, {**as_read, "sum": _sum_of(as_read)})
    return as_read


class _Last(NamedTuple):
    """`number`: of the newest snapshot whose results have appeared, or begun to; 0: none has. `is_all`: whether all of
    them have. `sinks`: of newer snapshots than the oldest, of whichever program, folders, suffixes, and the last
    snapshots with them. `back_at`: the snapshot to which somebody went back since; 0: nobody did."""

    number: int = 0
    is_all: bool = True
    sinks: Sequence[dict[str, Any]] = ()
    back_at: int = 0


@dataclass(frozen=True)
class Snapshot:
    """A snapshot that is whole."""

    folder: Path
    manifest: dict[str, Any]

    @property
    def number(self) -> int:
        """From 1, without gaps but for those that were not finished."""
        number: int = self.manifest["number"]
        return number

    @property
    def is_end(self) -> bool:
        """Whether the job was finished with it: there is nothing to go on from."""
        return bool(self.manifest["finished"])

    @property
    def _more(self) -> dict[str, dict[str, Any]]:
        more: dict[str, dict[str, Any]] = self.manifest.get("more", {})
        return more

    @property
    def dataflows(self) -> dict[str, "Snapshot"]:
        """What it has of each dataflow, by the name by which it was installed; "": the program's."""
        found = {}
        for name, told in {"": {}, **self._more}.items():
            sinks = [sink for sink in self.manifest["sinks"] if sink.get("dataflow", "") == name]
            found[name] = Snapshot(self.folder, {**self.manifest, **told, "sinks": sinks, "more": {}})
        return found

    @property
    def installed(self) -> dict[str, Code]:
        """The dataflows that were installed, in order, and what declares each."""
        return {name: Code(*told["code"]) for name, told in self._more.items()}

    @property
    def time(self) -> Time:
        """Before which all has come of the rows of this dataflow; 0 where it does not say."""
        return int(self.manifest["time"] or 0)

    @property
    def forgotten(self) -> Time:
        """Before which times are not told apart any more, of some rows of this dataflow."""
        were = [one.get("since", {"": self.time}) for one in self.manifest["workers"]]
        return max([since for of_rows in were for since in of_rows.values()], default=0)

    @property
    def files(self) -> list[dict[str, Any]]:
        """What the manifest says of each table's file of this dataflow."""
        return [table for worker in self.manifest["workers"] for table in worker["tables"]]

    @property
    def operators(self) -> dict[str, dict[str, Any]]:
        """Of each operator of this dataflow, by the id it has here, its place and tables, whether it is of what has
        left, and the sources whose rows come to it."""
        told = self.manifest["operators"]
        if isinstance(told, dict):
            return told
        sources, found = list(self.contents), dict[str, dict[str, Any]]()
        for name in told:
            found[name] = {"place": "", "leaves": False, "sources": sources, "tables": []}
        for file in self.files:
            table = {"table": file["table"], "columns": file["columns"], "key": None, "version": None}
            if table not in found[file["operator"]]["tables"]:
                found[file["operator"]]["tables"].append(table)
            found[file["operator"]]["leaves"] |= file["columns"] == {"until": "int64"}
        return found

    @property
    def contents(self) -> dict[str, Any]:
        """What each source of this dataflow read, by the id it has here."""
        workers = self.manifest["workers"]
        return dict(workers[0]["contents"]) if workers else {}

    @property
    def sinks(self) -> list[dict[str, Any]]:
        """Of each sink its folder, the suffix of its files, by which it is known, the table its rows go into, "" if
        they stay in files, None if not told, and its files' columns, {} if they may be any, or are not told."""
        untold: dict[str, Any] = {"into": None, "columns": {}}
        return [{"known": _sink_at(sink["folder"])} | untold | sink for sink in self.manifest["sinks"]]

    @property
    def finished_sinks(self) -> dict[str, dict[str, str]] | None:
        """By which the sinks of this dataflow are known that take results as soon as times are finished, with their
        columns, as in `sinks`; None if that is not told."""
        told = self.manifest.get("finished_sinks")
        return {known: {} for known in told} if isinstance(told, list) else told

    @property
    def all_files(self) -> list[dict[str, Any]]:
        """What the manifest says of each table's file."""
        return [file for one in self.dataflows.values() for file in one.files]

    @property
    def rows(self) -> int:
        """Of all tables."""
        return sum(file["rows"] for file in self.all_files)

    @property
    def bytes(self) -> int:
        """Of all tables, with what they share with other snapshots."""
        return self.new_bytes + sum(one["bytes"] for file in self.all_files for one in file.get("before", ()))

    @property
    def new_bytes(self) -> int:
        """Of the files that were written for it."""
        return sum(file["bytes"] for file in self.all_files)

    def read(self, peers: int) -> list[int]:
        """How many rows the sources of each worker had sent since the job began; 0 where so many workers say nothing of
        it."""
        told = [one.get("read", 0) for one in self.manifest["workers"]]
        return told if len(told) == peers else [0] * peers

    @property
    def fed(self) -> list[tuple[dict[str, Any], dict[str, Any]]]:
        """Of the workers whose programs feed inputs, or save something, the times of those, and that."""
        told = [(one["inputs"], one.get("program", {})) for one in self.manifest["workers"]]
        return [each for each in told if any(each)]

    @property
    def given_up(self) -> set[str]:
        """The operators that left out rows which they failed at."""
        return {gives_up(sink["folder"]) for sink in self.manifest["sinks"]} - {""}

    def problem(self) -> str:
        """What is wrong with its files; "" if nothing is."""
        return next(filter(None, (problem_of(self.folder, file) for file in self.all_files)), "")


@dataclass
class _Held:
    """What whoever holds a job's folder knows of it: its lock, the job, and the newest snapshot."""

    lock: int
    begun: tuple[str, int] | None = None
    newest: Snapshot | None = None


class JobFolder:
    """The folder of one job; see `Recovery`."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(os.path.abspath(path))
        self._held: _Held | None = None

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold it for one run. RecoveryError where another run does, it cannot be written, or is no job's but has other
        things in it. Where that makes it, and the run is refused before anything comes of it, it goes again."""
        is_made = not self.path.exists()
        with in_one_line(self.path):
            have_folder(self.path)
            self._require_no_other()
            lock = os.open(self.path / LOCK, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            self._wait_for(lock)
            with in_one_line(self.path):
                os.listdir(self.path)  # globs are silent where that is not allowed
                self.begin(0).rmdir()  # what is found out only at the end has all been done for nothing
                os.ftruncate(lock, 0)
                os.pwrite(lock, str(os.getpid()).encode(), 0)
            self._held = _Held(lock)
            yield
        except BaseException:
            if is_made:
                self._remove_unused()
            raise
        finally:
            self._held = None
            os.close(lock)

    def _remove_unused(self) -> None:
        """Remove it if nothing is in it but what a start makes."""
        with suppress(OSError):  # it went meanwhile, say
            if {LOCK, _BEGUN}.issuperset(os.listdir(self.path)):
                for name in (_BEGUN, LOCK):
                    (self.path / name).unlink(missing_ok=True)
                self.path.rmdir()

    def _is_job(self, names: Sequence[str]) -> bool:
        """Whether it is a job's, with these names in it."""
        return LOCK in names or bool(self._numbered())

    def _require_no_other(self) -> None:
        """RecoveryError for a folder of something else."""
        names = os.listdir(self.path)
        others = [name for name in names if name[0] != "." and name not in _NO_OTHERS]
        if others and not self._is_job(names):
            raise RecoveryError(
                f"{self.path} holds other things ({min(others)}), and a job has a folder of its own: name one that is "
                f"new or empty"
            )

    def require_held(self) -> None:
        """RecoveryError where it is not there any more, or is another one, while this process holds it."""
        assert self._held is not None, "whoever asks holds it"
        try:
            is_there = os.path.samestat(os.stat(self.path / LOCK), os.fstat(self._held.lock))
        except (FileNotFoundError, NotADirectoryError):
            is_there = False
        except OSError:  # whoever writes there is refused
            return
        if not is_there:
            raise self._gone(self._held)

    def _gone(self, held: _Held) -> RecoveryError:
        """What to raise where it is not there any more."""
        newest = held.newest
        sinks = [] if newest is None else [one for one in newest.sinks if not gives_up(one["folder"])]
        places = [f"table {one['into']!r}" if one["into"] else one["folder"] for one in sinks]
        there = "No snapshot has been taken yet"
        if newest is not None:
            there = f"Results up to snapshot {newest.number} have appeared, in {', '.join(places) or 'no sink'}"
        return RecoveryError(
            f"the files of the job in {self.path} went (removed, moved, or others put in their place) while the run "
            f"went on: put them back, and run it again. {there}. If the files are lost, remove what its sinks have, "
            f"and begin anew in another folder"
        )

    @property
    def holder(self) -> int:
        """The process whose run holds it now; 0: none does."""
        try:
            lock = os.open(self.path / LOCK, os.O_RDONLY)
        except FileNotFoundError:
            return 0
        except OSError as error:
            raise RecoveryError(f"{self.path / LOCK} cannot be read: {error.strerror}") from None
        try:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
            return 0
        except BlockingIOError:
            return int(os.read(lock, 32) or 0)
        finally:
            os.close(lock)

    def begun(self, peers: int) -> tuple[str, int]:
        """Of a job without a snapshot, by which it is known outside of its folder, and how many shares sources are read
        in: as many as the workers of its first start, which are `peers` if this is it. For whoever holds the folder."""
        assert self._held is not None, "whoever asks holds it"
        path, known = self.path / _BEGUN, self._held.begun
        try:
            told = orjson.loads(path.read_bytes())
            found = str(told["job"]), int(told["shares"])
        except FileNotFoundError:
            if known is not None:
                raise self._gone(self._held) from None
            write_json(path, {"job": secrets.token_hex(8), "shares": peers})
            return self.begun(peers)
        except OSError as error:
            raise refusal(error, path) from None
        except (ValueError, KeyError, TypeError):
            raise RecoveryError(f"{path} is damaged: begin anew in another folder") from None
        if known not in (None, found):
            raise self._gone(self._held)
        self._held.begun = found
        return found

    def require(self) -> None:
        """RecoveryError unless it is there, and a job's."""
        try:
            names = os.listdir(self.path)
        except OSError as error:
            raise RecoveryError(f"{self.path} cannot be read: {error.strerror}") from None
        if not self._is_job(names):
            what = "holds other things" if names else "is empty"
            raise RecoveryError(f"{self.path} {what}: no run has kept its snapshots there")

    def _wait_for(self, lock: int) -> None:
        """Those who die with a run need a moment to."""
        deadline = time.monotonic() + _LOCK_S
        while True:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return
            except BlockingIOError:
                if time.monotonic() > deadline:
                    raise RecoveryError(
                        f"another run keeps its snapshots in {self.path}: end it, or choose another folder"
                    ) from None
                time.sleep(0.02)

    def _numbered(self) -> list[Path]:
        """The folders of snapshots, the newest first."""
        found = [path for path in self.path.glob(f"{_SNAPSHOT}*") if path.name.removeprefix(_SNAPSHOT).isdigit()]
        return sorted(found, key=number_of, reverse=True)

    def all(self) -> list[tuple[Path, Snapshot | None, str]]:
        """All snapshots, the newest first: where each is; None and what is wrong where it cannot be used."""
        found = [(path, *self._read(path)) for path in self._numbered()]
        return [one for one in found if one[0].exists()]  # a run that holds the folder removes old ones

    def taken(self, number: int) -> Snapshot | None:
        """A snapshot as its manifest has it, whatever has become of its files; None where it is not there."""
        return self._told(self.path / f"{_SNAPSHOT}{number:06d}")[0]

    def _read(self, path: Path) -> tuple[Snapshot | None, str]:
        snapshot, problem = self._told(path)
        problem = problem if snapshot is None else snapshot.problem()
        return (None, problem) if problem else (snapshot, "")

    def _told(self, path: Path) -> tuple[Snapshot | None, str]:
        try:
            manifest = orjson.loads((path / MANIFEST).read_bytes())
            if manifest["format"] not in _READ:
                formats = f"{', '.join(map(str, _READ[:-1]))} and {FORMAT}"
                return None, f"{path} has format {manifest['format']}, and this version reads formats {formats}"
            if manifest.pop("sum") != _sum_of(manifest):
                return None, f"{path / MANIFEST} is not what was written: its checksum differs"
            self._have_moved(manifest, [*manifest["sinks"], *manifest["parts"]])
            return Snapshot(path, manifest), ""
        except PermissionError as error:  # it is no damage, for which others would be used, and this one be put aside
            raise refusal(error, path) from None
        except OSError as error:
            return None, f"{path / MANIFEST} cannot be read: {error.strerror}"
        except (ValueError, KeyError, TypeError):
            return None, f"{path / MANIFEST} is damaged"

    def _have_moved(self, told: dict[str, Any], places: Sequence[dict[str, str]]) -> None:
        """The folder may have been elsewhere when this was told: what was in it is where it is now."""
        was = told.get("path", "")
        if was not in ("", os.fspath(self.path)):
            for place in places:
                for name in ("folder", "made"):
                    if Path(place.get(name, "")).is_relative_to(was):
                        place[name] = os.fspath(self.path / Path(place[name]).relative_to(was))

    def newest(self) -> Snapshot | None:
        """The newest snapshot that is whole, after saying of newer ones why they are not used; None where there is none
        and nothing has come of the job yet. RecoveryError where something has."""
        problems: list[str] = []
        broken: list[Path] = []
        made = 0 if self._held is None or self._held.newest is None else self._held.newest.number
        for path, snapshot, problem in self.all():
            if snapshot is not None:
                told = self._last()
                was = max(told.number, made)
                if not problems and snapshot.number < was and snapshot.number != told.back_at:
                    problems.append(f"snapshot {was} of {self.path}, whose results have appeared, is gone")
                for said in problems:
                    print(f"tokenring: {said}; snapshot {snapshot.number} is used instead", file=sys.stderr)
                self._retract(snapshot)
                for one in broken:
                    one.rename(one.with_name(f"broken-{one.name}"))
                if self._held is not None:
                    self._held.newest = snapshot
                return snapshot
            problems.append(problem)
            broken.append(path)
        last = max(self.last, made)
        if problems or last:
            why = "; ".join(problems) or "its snapshots are gone"
            raise RecoveryError(
                f"{self.path}: results up to snapshot {last} have appeared, and no snapshot can be used: {why}. To "
                f"begin anew, remove the folder, and the results"
            )
        return None

    @property
    def last(self) -> int:
        """The number of the newest snapshot whose results have appeared, or begun to; 0: none has."""
        return self._last().number

    def _last(self) -> _Last:
        try:
            told = orjson.loads((self.path / _LAST).read_bytes())
            sinks = list(told.get("sinks", []))
            self._have_moved(told, sinks)
            return _Last(int(told["number"]), bool(told["all"]), sinks, int(told.get("back_at", 0)))
        except FileNotFoundError:
            return _Last()
        except OSError as error:
            raise refusal(error, self.path) from None
        except (ValueError, KeyError, TypeError, AttributeError):
            raise RecoveryError(
                f"{self.path / _LAST} is damaged. If the newest snapshot is there still, remove that file: results "
                f"that have not appeared do, and others come no second time. Else begin anew in another folder"
            ) from None

    def _say_last(self, snapshot: Snapshot, is_all: bool) -> None:
        """The results of a snapshot have appeared, or begin to."""
        if not (numbered := self._numbered()):
            assert self._held is not None, "whoever delivers holds it"
            raise self._gone(self._held)
        oldest = number_of(numbered[-1])
        sinks = {sink["folder"]: sink for sink in self._last().sinks if sink["number"] > oldest}
        for sink in snapshot.sinks:
            sinks[sink["folder"]] = {"folder": sink["folder"], "suffix": sink["suffix"], "number": snapshot.number}
        self._write_last(_Last(snapshot.number, is_all, list(sinks.values())))

    def _write_last(self, last: _Last) -> None:
        told = {"number": last.number, "all": last.is_all, "sinks": last.sinks, "back_at": last.back_at}
        write_json(self.path / _LAST, {"path": os.fspath(self.path), **told})

    def had_results_in(self, folder: Path) -> bool:
        """Whether a sink of this job, of whichever program, had its results there not long ago; see `_Last`."""
        return os.fspath(folder) in {sink["folder"] for sink in self._last().sinks}

    def _sinks_of(self, snapshot: Snapshot) -> list[dict[str, Any]]:
        """The sinks that have results of a snapshot, or of newer ones."""
        found = [*snapshot.sinks, *self._last().sinks]
        return list({sink["folder"]: sink for sink in found}.values())

    @property
    def whole(self) -> int:
        """The number of the newest snapshot whose results have all appeared; 0: none has."""
        last = self._last()
        return last.number if last.is_all else last.number - 1

    @property
    def appeared(self) -> int:
        """The number of the newest snapshot whose results are there; 0: none are."""
        there = self._numbered()
        return min(self.last, number_of(there[0])) if there else self.last

    def _retract(self, snapshot: Snapshot) -> int:
        """Take back results of newer snapshots, which come again: those cannot be used. Returns how many files."""
        self._require_retractable(snapshot)
        removed, changed = 0, set[Path]()
        for sink in self._sinks_of(snapshot):
            folder = Path(sink["folder"])
            for path in folder.glob(f"part-*{sink['suffix']}") if folder.is_dir() else ():
                if part_number(path) > snapshot.number:
                    path.unlink()
                    changed.add(folder)
                    removed += 1
        for folder in changed:
            sync(folder)
        return removed

    def _require_retractable(self, snapshot: Snapshot) -> None:
        """RecoveryError where results of newer snapshots are in a table, which gives none back, or may be."""
        last = self._last()
        for sink in self._sinks_of(snapshot):
            folder = Path(sink["folder"])
            if snapshot.number < last.number and self._goes_elsewhere(folder) and not folder.is_dir():
                raise RecoveryError(
                    f"{self.path} cannot go on from snapshot {snapshot.number}: {folder} is gone, which says what of "
                    f"later results is in a table: put it back, or {self._anew(folder)}"
                )
            if (inserted := inserted_until(folder)) > snapshot.number:
                raise RecoveryError(
                    f"{self.path} cannot go on from snapshot {snapshot.number}: results up to snapshot {inserted} are "
                    f"in a table. Put that back to what it was at snapshot {snapshot.number}, in a database with the "
                    f"sink's row of tokenring_delivered, and write {snapshot.number} into {folder / _INSERTED}; or "
                    f"begin anew in another folder"
                )

    def go_back(self, number: int) -> str:
        """Remove what is newer than a snapshot: snapshots, and the results that appeared with them. Returns what that
        was, in words. RecoveryError where there is no such snapshot that is whole, or a run holds the folder."""
        self.require()
        with self.locked(), in_one_line(self.path):
            target = self.snapshot(number)
            self._require_retractable(target)
            self._require_deliverable(target)
            newer = [path for path in self._numbered() if number_of(path) > number]
            for path in newer:  # the newest first: a snapshot stays from which a run goes on, and takes back the rest
                self._remove(path)
            files = self._retract(target)
            self._write_last(self._last()._replace(back_at=number))
        return (
            f"{self.path} is back at snapshot {number}: {_counted(len(newer), 'newer snapshot')} and "
            f"{_counted(files, 'file')} of results removed"
        )

    def snapshot(self, number: int = 0) -> Snapshot:
        """The snapshot of that number; 0: the newest one that is whole. RecoveryError where there is none."""
        all_there = self.all()
        for path, snapshot, problem in all_there:
            if number_of(path) == number and problem:
                raise RecoveryError(f"snapshot {number} cannot be used: {problem}")
            if snapshot is not None and number in (0, snapshot.number):
                return snapshot
        there = ", ".join(str(number_of(path)) for path, _, _ in all_there) or "none"
        what = f"snapshot {number}" if number else "snapshot that is whole"
        raise RecoveryError(f"{self.path} has no {what}; there are: {there}")

    def begin(self, number: int) -> Path:
        """A folder for a snapshot while it is made; those that others began are removed."""
        self._remove_begun()
        return Path(tempfile.mkdtemp(prefix=f"{_MAKING}{number:06d}-", dir=self.path))

    def _remove_begun(self) -> None:
        for made in self.path.glob(f"{_MAKING}*"):
            shutil.rmtree(made, ignore_errors=True)

    def finish(self, made: Path, manifest: dict[str, Any]) -> Snapshot:
        """All files of a snapshot are on the disk: it is one from now on, and its results are to be delivered. They are
        brought to the disk first, under the names that the manifest has for them."""
        results = [Path(part["made"]) for part in manifest["parts"]]
        for path in (*results, *{path.parent for path in results}):
            sync(path)
        parts = self.path.glob(f"{_OUTBOX}/*/part-*")
        waiting = [{"folder": os.fspath(part.parent), "name": part.name} for part in parts]
        told = {"format": FORMAT, "path": os.fspath(self.path), "waiting": waiting}
        manifest = write_manifest(made, told | manifest)
        folder = self.path / f"{_SNAPSHOT}{manifest['number']:06d}"
        made.rename(folder)
        sync(self.path)
        snapshot = Snapshot(folder, manifest)
        if self._held is not None:
            self._held.newest = snapshot
        return snapshot

    def deliver(self, snapshot: Snapshot) -> None:
        """Let the results of a snapshot appear that have not. RecoveryError for one that is nowhere."""
        parts = snapshot.manifest["parts"]
        if self._require_deliverable(snapshot):  # whoever has them may take them elsewhere
            return
        folders = {sink["folder"] for sink in snapshot.manifest["sinks"]}
        for was in self._last().sinks:  # but for folders that this snapshot is the first with, or began to make
            if was["number"] < snapshot.number and was["folder"] in folders:
                require_there(Path(was["folder"]), self.path)
        has_begun = self._last()[:2] == (snapshot.number, False)
        for part in parts:  # before it is said that this began: what is there now may then be taken for its own
            _require_own(Path(part["made"]), Path(part["folder"]) / part["name"], has_begun)
        self._say_last(snapshot, False)
        for sink in snapshot.manifest["sinks"]:
            have_folder(Path(sink["folder"]))
        for part in parts:
            made, named = Path(part["made"]), Path(part["folder"]) / part["name"]
            try:
                os.link(made, named)
            except FileExistsError:
                _require_own(made, named, has_begun)
            except FileNotFoundError:
                if not named.exists() and snapshot.number > inserted_until(named.parent):
                    raise RecoveryError(
                        f"{named}, results up to snapshot {snapshot.number} of {self.path}, is gone, and so is "
                        f"{made}, where it was before it got its name: to begin anew, remove both folders"
                    ) from None
        for folder in {part["folder"] for part in parts}:
            sync(folder)
        for part in parts:
            Path(part["made"]).unlink(missing_ok=True)
        self._say_last(snapshot, True)

    def _require_deliverable(self, snapshot: Snapshot) -> bool:
        """Whether the results of a snapshot have all appeared. RecoveryError for those that wait, and are gone."""
        have_appeared = self._last()[:2] >= (snapshot.number, True)
        self._require_waiting(snapshot.manifest.get("waiting", []))
        self._require_waiting(snapshot.manifest["parts"] if have_appeared else [])
        return have_appeared

    def _goes_elsewhere(self, folder: Path) -> bool:
        """Whether results there are to go into a table."""
        return folder.is_relative_to(self.path / _OUTBOX)

    def _anew(self, folder: Path) -> str:
        """How to go on where what is told beside results that go into a table is lost."""
        return (
            f"write {_WHICH} (0 if there is none) into {folder / _INSERTED}, made anew, and start again; or begin anew "
            f"in another folder if not all rows of that snapshot are in"
        )

    def _require_waiting(self, parts: Sequence[dict[str, str]]) -> None:
        """RecoveryError for results that are to go into a table, have not, and are gone: whoever goes on without them
        would lose them."""
        for part in parts:
            folder, named = Path(part["folder"]), Path(part["folder"]) / part["name"]
            number, inserted = part_number(named), inserted_until(folder)
            if self._goes_elsewhere(folder) and number > inserted and not named.exists():
                makes = [one for one in map(number_of, self._numbered()) if inserted <= one < number]
                cure = f"go on from snapshot {makes[0]}, which makes them again (`--from`)" if makes else _NOTHING_MAKES
                if not (folder / _INSERTED).exists():
                    cure = self._anew(folder)
                raise RecoveryError(
                    f"{named} is gone, results up to snapshot {number} that are to go into the table of "
                    f"{unquote(folder.name)!r}: put it back; or {cure}"
                )

    def prune(self, keep: int) -> list[Path]:
        """Remove all snapshots but the `keep` newest ones; what was removed."""
        removed = self._numbered()[keep:]
        for path in removed:
            self._remove(path)
        return removed

    def prune_whole(self, keep: int) -> list[int]:
        """Remove all that is older than the `keep` newest snapshots that are whole; the numbers of what was removed.
        RecoveryError where none is whole, or a run holds the folder, which prunes by itself."""
        self.require()
        if self.holder:
            raise RecoveryError(f"process {self.holder} runs the job in {self.path}, and removes old snapshots itself")
        with self.locked(), in_one_line(self.path):
            self.snapshot()
            kept = [snapshot.number for _, snapshot, _ in self.all() if snapshot is not None][:keep]
            removed = [path for path in self._numbered() if number_of(path) < kept[-1]]
            for path in removed:
                self._remove(path)
        return [number_of(path) for path in removed]

    def _remove(self, path: Path) -> None:
        gone = path.with_name(f"{_MAKING}{path.name}")  # whoever is killed in the middle leaves no half of one
        path.rename(gone)
        sync(self.path)
        shutil.rmtree(gone, ignore_errors=True)
