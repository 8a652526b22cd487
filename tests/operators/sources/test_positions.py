"""From the position of any piece on, a source gives the rows that followed it, each once and in order, with the floors
and places that they had. What must come is what the tests have written.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate, pairwise
from pathlib import Path
from shutil import rmtree
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.copies import in_a_copy
from tests.engine.helpers import build, simulated
from tests.errors import raises
from tests.long_form import examples
from tokenring.engine import MAX_TIME, GraphMismatchError, Schema, SchemaError, Scope, UsageError, Worker, execute
from tokenring.operators import (
    collect,
    from_generator,
    read_arrow,
    read_columns,
    read_csv,
    read_json_lines,
    read_parquet,
    read_staged,
)
from tokenring.operators.sources import lines
from tokenring.operators.sources.feeder import Piece, Pieces, feed
from tokenring.operators.staging import stage_files

Row = tuple[int, int, str | None]
SCHEMA = Schema("id at", name="string?")
ARROW = pa.schema({"id": pa.int64(), "at": pa.int64(), "name": pa.string()})


class Drawn(NamedTuple):
    """What is written, by files, and how it is cut."""

    files: list[list[Row]]
    batch_rows: int
    group_rows: int
    block_bytes: int
    newlines: int
    shares: int
    at_once: int = 1
    """How many blocks."""
    folder: Path = Path()

    def numbered(self, place: Callable[[int, int], str]) -> dict[str, Row]:
        """By place, which is told from a file's number and a row's in it."""
        return {place(file, at): row for file, rows in enumerate(self.files) for at, row in enumerate(rows)}

    def all_rows(self) -> list[Row]:
        return [row for rows in self.files for row in rows]


class Case(NamedTuple):
    """A source's declaration; what it must give, by place; and whether floors are exact, lower bounds, known of some
    pieces, or of none."""

    read: Callable[..., Any]
    arguments: Sequence[Any]
    options: dict[str, Any]
    written: dict[str, Row]
    floors: str = "none"


@st.composite
def drawn(draw: st.DrawFn) -> Drawn:
    """Several files, some of them empty; times in no order; texts that need quotes, and none."""
    texts = st.one_of(st.none(), st.text('aé",;\n \\', max_size=5))
    rows = [(at, *row) for at, row in enumerate(draw(st.lists(st.tuples(st.integers(0, 60), texts), max_size=40)))]
    sizes = draw(st.lists(st.sampled_from([0, 1, 3, 7, 15]), max_size=4))
    cuts = [0, *accumulate(sizes), len(rows)]
    files = [rows[start:stop] for start, stop in pairwise(cuts)]
    return Drawn(
        files,
        batch_rows=draw(st.integers(1, 9)),
        group_rows=draw(st.integers(1, 12)),
        block_bytes=draw(st.integers(1, 150)),
        newlines=draw(st.integers(1, 2)),
        shares=draw(st.integers(1, 3)),
        at_once=draw(st.integers(1, 4)),
    )


def table_of(rows: Sequence[Row]) -> pa.Table:
    return pa.Table.from_pylist([dict(zip(ARROW.names, row, strict=True)) for row in rows], ARROW)


def parquet(of: Drawn) -> Case:
    paths = [of.folder / f"{number}.parquet" for number in range(len(of.files))]
    for path, rows in zip(paths, of.files, strict=True):
        pq.write_table(table_of(rows), path, row_group_size=of.group_rows, use_dictionary=of.newlines == 1)
    options = {"batch_rows": of.batch_rows, "schema": SCHEMA, "time": "at"}
    written = of.numbered(lambda file, at: f"{paths[file]} row {at}")
    return Case(read_parquet, [paths], options, written, "exact")


def parquet_of_times(of: Drawn) -> Case:
    """Times are all that is read: of the other columns there are counts of rows alone."""
    case = parquet(of)
    return case._replace(
        options=case.options | {"schema": Schema("at")},
        written={place: (at,) for place, (_, at, _) in case.written.items()},  # type: ignore[misc]
    )


def parquet_at_one_time(of: Drawn) -> Case:
    case = parquet(of)
    return case._replace(options=case.options | {"time": 7}, floors="none")


def parquet_in_part_without_statistics(of: Drawn) -> Case:
    """Who goes on behind those row groups knows more."""
    case = parquet(of)
    pq.write_table(table_of(of.files[0]), case.arguments[0][0], row_group_size=of.group_rows, write_statistics=False)
    return case._replace(floors="some")


def arrow_files(of: Drawn) -> Case:
    paths = [of.folder / f"{number}.arrow" for number in range(len(of.files))]
    for path, rows in zip(paths, of.files, strict=True):
        with pa.ipc.new_file(path, ARROW) as file:
            file.write_table(table_of(rows), max_chunksize=of.group_rows)
    options = {"batch_rows": of.batch_rows, "schema": SCHEMA, "time": "at"}
    written = of.numbered(lambda file, at: f"{paths[file]} row {at}")
    return Case(read_arrow, [paths], options, written, "exact")


def arrow_table(of: Drawn) -> Case:
    options = {"batch_rows": of.batch_rows, "schema": SCHEMA, "time": "at"}
    return Case(read_arrow, [table_of(of.all_rows())], options, _by_row(of.all_rows()), "exact")


def _by_row(rows: Sequence[Row]) -> dict[str, Row]:
    return {f"row {number}": row for number, row in enumerate(rows)}


def raw_columns(of: Drawn) -> Case:
    rows = of.all_rows()
    files = {name: of.folder / f"{name}.i64" for name in ("id", "at")}
    for number, file in enumerate(files.values()):
        np.array([row[number] for row in rows], "<i8").tofile(file)
    floors = [min(at for _, at, _ in rows[number:]) for number in range(len(rows))]
    np.array(floors, "<i8").tofile(of.folder / "floor.i64")
    options = {"time": "at", "floor": of.folder / "floor.i64", "batch_rows": of.batch_rows}
    written = {f"{files['at']} row {number}": row[:2] for number, row in enumerate(rows)}
    return Case(read_columns, [Schema("id at"), files], options, written, "bounds")  # type: ignore[arg-type]


def staged(of: Drawn) -> Case:
    rows = of.all_rows()
    pq.write_table(table_of(rows), of.folder / "rows.parquet")
    stage_files(of.folder / "rows.parquet", of.folder / "staged", time="at")
    rows.sort(key=lambda row: row[1])
    written = {f"{of.folder / 'staged' / 'rows'} row {number}": row for number, row in enumerate(rows)}
    return Case(read_staged, [of.folder / "staged"], {"batch_rows": of.batch_rows}, written, "exact")


def json_lines(of: Drawn) -> Case:
    paths = [of.folder / f"{number}.jsonl" for number in range(len(of.files))]
    for path, rows in zip(paths, of.files, strict=True):
        lines = [orjson.dumps(dict(zip(SCHEMA.names, row, strict=True))) for row in rows]
        path.write_bytes((b"\n" * of.newlines).join(lines))
    written = of.numbered(lambda file, at: f"{paths[file]} line {at * of.newlines + 1}")
    return Case(read_json_lines, [paths, SCHEMA], {"block_bytes": of.block_bytes, "time": "at"}, written)


def csv(of: Drawn, *, whole: bool = False) -> Case:
    if not whole:
        flat = [[(number, at, name and name.replace("\n", " ")) for number, at, name in rows] for rows in of.files]
        of = of._replace(files=flat)
    paths = [of.folder / f"{number}.csv" for number in range(len(of.files))]
    for path, rows in zip(paths, of.files, strict=True):
        texts = ["" if name is None else '"' + name.replace('"', '""') + '"' for _, _, name in rows]
        lines = [f"{text},{number},{at}" for text, (number, at, _) in zip(texts, rows, strict=True)]
        path.write_text(("\n" * of.newlines).join(["name,id,at", *lines]), newline="")
    written = of.numbered(
        lambda file, at: f"{paths[file]} " + (f"row {at}" if whole else f"line {(at + 1) * of.newlines + 1}")
    )
    options = {"block_bytes": of.block_bytes, "time": "at", "quoted_newlines": whole}
    return Case(read_csv, [paths, SCHEMA], options, written)


def csv_with_newlines(of: Drawn) -> Case:
    return csv(of, whole=True)


def generator(of: Drawn) -> Case:
    def items(worker: int, peers: int) -> Iterator[dict[str, Any]]:
        for rows in of.files[worker::peers]:
            yield dict(zip(SCHEMA.names, zip(*rows, strict=True), strict=True)) if rows else table_of(rows).to_pydict()

    written = of.numbered(
        lambda item, at: f"item {item // of.shares} of worker {item % of.shares}'s generator, row {at}"
    )
    return Case(from_generator, [SCHEMA, items], {"time": "at"}, written)


IN_PROCESS = [
    parquet,
    parquet_of_times,
    parquet_at_one_time,
    parquet_in_part_without_statistics,
    arrow_files,
    arrow_table,
    raw_columns,
    staged,
    json_lines,
    generator,
]


@pytest.mark.parametrize("write", IN_PROCESS)
@settings(max_examples=examples(60))
@given(of=drawn())
def test_a_share_goes_on_where_any_piece_ended(write: Callable[[Drawn], Case], of: Drawn) -> None:
    _goes_on(write, of)


@pytest.mark.parametrize("write", [csv, csv_with_newlines])
def test_a_share_of_csv_goes_on(write: Callable[[Drawn], Case], tmp_path: Path) -> None:
    """In a process of its own: Arrow's reader starts a thread, which is not for the tests'."""

    @settings(max_examples=examples(60))
    @given(of=drawn())
    def try_all(of: Drawn) -> None:
        _goes_on(write, of)

    came = in_a_copy(try_all, ["positions"], tmp_path, tmp_path)
    assert came.returncode == 0, came.stderr


def _goes_on(write: Callable[[Drawn], Case], of: Drawn) -> None:
    large = {"BLOCK_BYTES": 1, "_AT_ONCE": of.at_once * of.block_bytes}
    with TemporaryDirectory() as folder, patch.multiple("tokenring.operators.sources.lines", **large):
        case = write(of._replace(folder=Path(folder)))
        pieces, _ = declared(case)
        found = {}
        for share in range(of.shares):
            whole = [*pieces(share, of.shares, None)]
            told = _told(whole, case)
            found |= dict(told)
            before = 0
            for piece in whole:
                before += piece.batch.rows
                again = [*pieces(share, of.shares, orjson.loads(orjson.dumps(piece.position)))]
                assert _told(again, case) == told[before:]
        assert found == case.written


def _told(pieces: Sequence[Piece], case: Case) -> list[tuple[str, Row]]:
    """Each row and its place. What is to come after each piece is what its floor says."""
    rows = [(piece.place(at), row) for piece in pieces for at, row in enumerate(_rows(piece))]
    at_time = 0 if len(next(iter(case.written.values()), ())) == 1 else 1
    after = 0
    for piece in pieces:
        after += piece.batch.rows
        least = min([row[at_time] for _, row in rows[after:]], default=MAX_TIME)
        assert piece.position is not None
        if piece.floor is None:
            assert case.floors in ("none", "some")
        elif case.floors == "bounds":
            assert piece.floor <= least
        else:
            assert case.floors in ("exact", "some")
            assert piece.floor == least
    return rows


def _rows(piece: Piece) -> list[Any]:
    batch = piece.batch
    return [*zip(*[batch[name].tolist() for name in batch.schema.names], strict=True)]


class Declared(NamedTuple):
    pieces: Pieces
    contents: Callable[[], Any]


def declared(case: Case) -> Declared:
    """What a source hands to `feed`; somebody looks at all of its columns."""
    with patch(f"{case.read.__module__}.feed", wraps=feed) as called, simulated() as group:
        build(group, lambda worker, scope: case.read(scope, *case.arguments, **case.options).sink("all", _nothing))
        return Declared(called.call_args.args[3], called.call_args.kwargs["contents"])


def _nothing(context: Any) -> Callable[..., None]:
    return lambda rows: [*rows] and None


ROWS = [(number, number * 37 % 100, f"n{number}") for number in range(80)]
MANY = Drawn([ROWS[:40], ROWS[40:]], batch_rows=3, group_rows=10, block_bytes=64, newlines=1, shares=1)


def test_parquet_goes_on_within_what_was_one_batch(tmp_path: Path) -> None:
    """A position is a row's, however large batches are."""
    case = parquet(MANY._replace(folder=tmp_path))
    fine, coarse = [
        declared(case._replace(options=case.options | {"batch_rows": rows})).pieces for rows in (MANY.batch_rows, 7)
    ]
    for piece in fine(0, 1, None):
        rest = [row for one in fine(0, 1, piece.position) for row in _rows(one)]
        assert [row for one in coarse(0, 1, piece.position) for row in _rows(one)] == rest
        _told([*coarse(0, 1, piece.position)], case)


@pytest.mark.parametrize("write", [parquet, json_lines, csv])
def test_what_lies_before_a_position_is_not_read_again(write: Callable[[Drawn], Case], tmp_path: Path) -> None:
    """It could not be: there is damage now."""

    def try_all() -> None:
        lines._END_BYTES = 1  # type: ignore[misc]  # by the last ones a file is told from another
        case = write(MANY._replace(folder=tmp_path))
        pieces = declared(case).pieces
        whole = [*pieces(0, 1, None)]
        for after in (len(whole) // 4, len(whole) // 2, len(whole) * 3 // 4):
            rest = [row for piece in whole[after:] for row in _rows(piece)]
            place = whole[after].place(0)
            _damage_before(place)
            assert [row for piece in pieces(0, 1, whole[after - 1].position) for row in _rows(piece)] == rest
        with pytest.raises((UsageError, SchemaError)):
            [*pieces(0, 1, None)]

    came = in_a_copy(try_all, ["positions"], tmp_path, tmp_path)
    assert came.returncode == 0, came.stderr


def _damage_before(place: str) -> None:
    """All files before that of the place, and that one's rows before it, of Parquet the row groups."""
    path, what, number = place.rsplit(" ", 2)
    file, was = Path(path), os.stat(path)
    octets = bytearray(file.read_bytes())
    if what == "line":
        end = sum(map(len, bytes(octets).splitlines(keepends=True)[: int(number) - 1]))
        kept = octets.index(b"\n") if file.suffix == ".csv" else 0
    else:
        column = pq.read_metadata(file).row_group(int(number) // MANY.group_rows).column(0)
        end, kept = (column.dictionary_page_offset or column.data_page_offset), 4
    octets[kept:end] = _damaged(octets[kept:end])
    file.write_bytes(octets)
    os.utime(file, ns=(was.st_atime_ns, was.st_mtime_ns))
    for other in file.parent.glob(f"*{file.suffix}"):
        if other.name < file.name and what == "line":
            other.write_bytes(_damaged(other.read_bytes()))


def _damaged(octets: bytes | bytearray) -> bytes:
    """Where lines end, they still do."""
    return re.sub(rb"[^\n]", b"?", octets)


def test_contents_are_equal_until_what_is_read_changes(tmp_path: Path) -> None:
    def told(case: Case) -> Any:
        contents = declared(case).contents()
        assert orjson.loads(orjson.dumps(contents)) == contents
        return contents

    for write in (parquet, arrow_files, raw_columns, json_lines, csv, staged):
        folder = tmp_path / write.__name__
        folder.mkdir()
        of = MANY._replace(folder=folder)
        case = write(of)
        once = told(case)
        assert told(case) == once
        cut = "block_bytes" if "block_bytes" in case.options else "batch_rows"
        assert told(case._replace(options=case.options | {cut: 5})) != once
        changed = of._replace(files=[ROWS[:40], [(7, 7, "7"), *ROWS[41:]]])
        if write is staged:
            changed = changed._replace(folder=folder / "other")
            changed.folder.mkdir()
            assert told(staged(changed)) != once
        else:
            assert told(write(changed)) != once
            assert [path for path, *_ in once["files"]] == [str(path) for path in _paths(case)]
    table = arrow_table(MANY)
    assert told(table) == {"columns": ["id", "at", "name"], "rows": 80, "batch_rows": 3}
    assert told(generator(MANY))["function"].endswith("generator.<locals>.items")


OF_LINES = (json_lines, csv)


@pytest.mark.parametrize(
    ("write", "change"),
    [
        *((write, "another path") for write in (parquet, arrow_files, raw_columns, staged, *OF_LINES)),
        *((write, "other rows") for write in (parquet, arrow_files, raw_columns, staged)),
    ],
)
def test_workers_that_find_other_files_do_not_share_them(
    write: Callable[[Drawn], Case], change: str, tmp_path: Path
) -> None:
    """Each would leave out for the others what these do not know of."""
    one, other = tmp_path / "one", tmp_path / ("other" if change == "another path" else "one")
    one.mkdir()
    case = write(MANY._replace(folder=one))

    def program(worker: Worker) -> None:
        with worker.dataflow("files") as scope:
            if worker.index == 0:
                case.read(scope, *case.arguments, **case.options).sink("all", _nothing)
            worker.barrier()
            if worker.index == 1:
                rmtree(other, ignore_errors=True)
                other.mkdir()
                found = write(MANY._replace(folder=other, files=[ROWS, ROWS[40:]]))
                found.read(scope, *found.arguments, **found.options).sink("all", _nothing)

    with raises(GraphMismatchError, "number 2", str(one), str(other), f"of '{case.read.__name__}'", "the same files"):
        execute(program, workers=2)


@pytest.mark.parametrize("form", ["csv", "json"])
def test_files_that_grow_while_workers_begin(form: str, tmp_path: Path) -> None:
    """All that was in them is read once, what is appended at most once, also where one worker finds more blocks of them
    than another."""
    paths, schema = [tmp_path / f"{number}.log" for number in range(2)], Schema("id")
    line = '{"id": %d}\n' if form == "json" else "%d\n"

    def append(first: int, last: int) -> None:
        for path in paths:
            with path.open("a") as file:
                file.write("".join([line % number for number in range(first, last)]))

    append(0, 100)

    def program(worker: Worker) -> Any:
        with worker.dataflow("files") as scope:
            for turn in range(3):
                if turn == worker.index:
                    options: dict[str, Any] = {"time": 0, "block_bytes": 64}
                    if form == "json":
                        rows = collect(read_json_lines(scope, paths, schema, **options))
                    else:
                        rows = collect(read_csv(scope, paths, schema, header=False, **options))
                    append(100 * turn + 100, 100 * turn + 200)
                worker.barrier()
        worker.run()
        return rows.to_arrow().to_pylist()

    found = Counter(row["id"] for rows in execute(program, workers=3) for row in rows)
    assert all(found[number] == 2 for number in range(100))
    assert max(found.values()) == 2


@pytest.mark.parametrize("how", ["written anew", "shortened and grown", "put in its place"])
def test_a_file_of_lines_that_is_another_now(how: str, tmp_path: Path) -> None:
    """By its bytes, where the system gives it the number, the size and the time that it had."""
    path, other = tmp_path / "a.jsonl", tmp_path / "b.jsonl"
    path.write_text("".join([f'{{"id": {number}}}\n' for number in range(100, 900)]))
    scope = Scope("files")
    with patch(f"{feed.__module__}.{feed.__name__}"), patch("tokenring.operators.sources.json_lines.feed") as fed:
        read_json_lines(scope, path, Schema("id"))
    pieces = [*fed.call_args.args[3](0, 1, None)]
    assert sum(piece.batch.rows for piece in pieces) == 800
    was = os.stat(path)
    changed = path.read_text().replace("9", "8")
    if how == "put in its place":
        other.write_text(changed)
        os.replace(other, path)
    elif how == "written anew":
        path.unlink()
        path.write_text(changed)
    else:
        os.truncate(path, 10)
        path.write_text(changed)
    os.utime(path, ns=(was.st_atime_ns, was.st_mtime_ns))
    with raises(UsageError, str(path), "was replaced, or changed"):
        [*fed.call_args.args[3](0, 1, None)]


def _paths(case: Case) -> list[Path]:
    if case.read is read_columns:
        return [*case.arguments[1].values(), case.options["floor"]]
    return list(case.arguments[0])


def test_a_generator_that_has_become_shorter_is_named() -> None:
    left = [3]

    def items() -> Iterator[dict[str, Any]]:
        for number in range(left[0]):
            yield {"at": [number]}

    pieces = declared(Case(from_generator, [Schema("at"), items], {}, {})).pieces
    position = [piece.position for piece in pieces(0, 2, None)][-1]
    assert [*pieces(1, 2, None)] == [*pieces(0, 2, position)] == []
    left[0] = 2
    with raises(UsageError, "source 'from_generator'", "worker 0", "2 items", "yielded 3", "the same again"):
        [*pieces(0, 2, position)]
