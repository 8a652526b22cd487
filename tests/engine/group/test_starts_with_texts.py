"""Texts where workers are started afresh: what is mapped into one's text space, the others do not have."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tokenring as tr
from tokenring.engine import Batch, Config, Schema, Worker, execute
from tokenring.operators import collect, exchange
from tokenring.shm.memory import text_space

TEXTS = Schema("id", name="string?")
NAMES = ["", "Ann", None, "Zoë", *(f"name {number} " * number for number in range(40))]
WORKERS = 2


def mapped(folder: str, worker: Worker) -> Batch:
    """The same names for each worker, out of a file that lies elsewhere in each."""
    own = Batch(TEXTS, {"id": range(len(NAMES)), "name": NAMES})
    space = text_space()
    assert space is not None
    octets = own.heaps[1]
    assert octets is not None
    for name in ["names", "others"][:: 1 if worker.index else -1]:
        file = Path(folder) / f"{name}-{worker.index}"
        file.write_bytes(octets.tobytes() if name == "names" else b"?" * len(octets))
        found = space.map_file(file, file.stat().st_size)
        if name == "names":
            heap = found.octets
    return Batch.wrap(TEXTS, own.columns, own.rows, (None, heap))


def crossing(worker: Worker, folder: str) -> list[tuple[int, str | None]]:
    batch = mapped(folder, worker)
    with worker.dataflow("texts") as scope:
        handle, stream = scope.new_input(TEXTS)
        kept = collect(exchange(exchange(stream, "id"), "name"))
    handle.send(batch)
    handle.close()
    worker.run()
    columns = kept.columns()
    return list(zip(columns["id"].tolist(), columns["name"].tolist(), strict=True))


@pytest.mark.parametrize("start", ["fork", "spawn"])
def test_texts_of_files_cross_whole(start: str, tmp_path: Path) -> None:
    program = partial(crossing, folder=str(tmp_path))
    got = execute(program, config=Config(workers=WORKERS, pin=False, start=start))
    rows = [row for part in got for row in part]
    assert sorted(rows, key=repr) == sorted(WORKERS * list(enumerate(NAMES)), key=repr)
    assert all(got), "each has some"
    first, second = ({name for _, name in part} for part in got)
    assert first.isdisjoint(second)


def pipeline(scope: tr.Scope, folder: str) -> tr.Collected:
    bids = scope.read_parquet(folder)
    counts = bids.filter(tr.col("name") != "Ann").aggregate(
        "name", n=tr.Count(), last=tr.Max("id"), words=tr.CountDistinct("word"), emit="final"
    )
    return bids.join(counts, on="name", columns=("id", "word", "right.n", "right.words")).collect()


def test_texts_as_keys_and_as_values(tmp_path: Path) -> None:
    numbers = np.arange(600)
    names = [f"name {number % 7} of seven and long" if number % 7 else "Ann" for number in numbers.tolist()]
    words = [None if number % 5 == 0 else "é" * (number % 11) for number in numbers.tolist()]
    table = pa.table({"id": numbers, "name": names, "word": words})
    for part in range(3):
        pq.write_table(table.slice(200 * part, 200), tmp_path / f"part-{part}.parquet")
    found = tr.run(partial(pipeline, folder=str(tmp_path)), config=Config(workers=WORKERS, pin=False, start="spawn"))
    of_names: dict[str, list[str | None]] = {}
    for name, word in zip(names, words, strict=True):
        of_names.setdefault(name, []).append(word)
    assert sorted(map(repr, found.to_pylist())) == sorted(
        repr({"id": number, "word": word, "n": len(of_names[name]), "words": len({*of_names[name]} - {None})})
        for number, name, word in zip(numbers.tolist(), names, words, strict=True)
        if name != "Ann"
    )
