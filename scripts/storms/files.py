"""Tampered files: a staged folder gives its true answer or an error; others what another reader sees in them."""

from __future__ import annotations

import json
import math
import shutil
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from scripts.storms.setting import Setting
from tests.random_programs.rows import with_one_nan
from tokenring.engine import BrokenInvariant, Schema, TokenRingError, Worker, execute
from tokenring.operators import collect, read_json_lines, read_parquet

SCHEMA = Schema("id", price="float64", name="string")
ROWS = {
    "id": [*range(297), 2**63 - 1, -(2**63), 1 - 2**63],
    "price": [*[i / 4 for i in range(296)], -0.0, 5e-324, -1.7e308, 2.0**53 + 2],
    "name": [*[f"naïve \\ {i % 7}" for i in range(297)], "", "long " * 250, "long " * 250 + "\u2028"],
}
NO_NUMBERS = [math.nan, -math.nan, math.inf, -math.inf]
"""Prices that JSON has not."""
NASTY = (b"\0", b"\n", b"NaN", b"null", b"1e400", b"\xff\xfe", b'"', b"{", b"}", b"99999999999999999999", b"-0", b"\\u")


def case(setting: Setting, random: Random) -> tuple[str, str]:
    """One file tampered with: what was done, and what was wrong."""
    return random.choice((_staged, _parquet, _json_lines))(setting, random)


def tampered(data: bytes, random: Random) -> tuple[str, bytes]:
    """What was done to the bytes, and what came of it."""
    at = random.randrange(len(data) + 1)
    kind = random.choice(("flip", "cut", "drop", "insert", "double", "zero", "swap"))
    length = random.choice((1, 1, 4, 100))
    piece = data[at : at + length]
    if kind == "flip" and piece:
        mask = bytes([random.randrange(1, 256)])
        return f"{kind} at {at}", data[:at] + bytes([piece[0] ^ mask[0]]) + data[at + 1 :]
    if kind == "cut":
        return f"cut at {at}", data[:at]
    if kind == "drop":
        return f"drop {length} at {at}", data[:at] + data[at + length :]
    if kind == "double":
        return f"double {length} at {at}", data[:at] + piece + data[at:]
    if kind == "zero":
        return f"zero {length} at {at}", data[:at] + bytes(len(piece)) + data[at + len(piece) :]
    if kind == "swap":
        other = random.randrange(len(data) + 1)
        return f"swap {at} with {other}", data[:at] + data[other : other + length] + data[at + length :]
    word = random.choice(NASTY)
    return f"insert {word!r} at {at}", data[:at] + word + data[at:]


def _staged(setting: Setting, random: Random) -> tuple[str, str]:
    folder = setting.new("events")
    shutil.copytree(setting.staged, folder)
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    victim = random.choice([folder / "manifest.json", random.choice(files)])
    what, data = tampered(victim.read_bytes(), random)
    if random.random() < 0.1:
        what = "removed"
        victim.unlink()
    else:
        victim.chmod(0o644)
        victim.write_bytes(data)
    query = random.choice(list(setting.answers))
    ending, result = setting.result(query, folder)
    shutil.rmtree(folder)
    wrong = ending.complaint()
    if not wrong and ending.status == 0 and result != setting.answers[query]:
        wrong = "a wrong answer is passed as right"
    return f"{query}, {victim.relative_to(folder)}: {what}", wrong


def _parquet(setting: Setting, random: Random) -> tuple[str, str]:
    file = setting.new("rows.parquet")
    compression = random.choice(("none", "snappy", "zstd"))
    table = pa.table(ROWS | {"price": ROWS["price"][4:] + NO_NUMBERS})
    pq.write_table(table, file, row_group_size=100, write_page_checksum=True, compression=compression)
    what, data = tampered(file.read_bytes(), random)
    file.write_bytes(data)
    try:
        seen: Any = pq.ParquetFile(file, page_checksum_verification=True).read(use_threads=False).to_pydict()
    except Exception:
        seen = None
    return f"Parquet, {compression}: {what}", _judged(setting, file, seen, read_parquet)


def _json_lines(setting: Setting, random: Random) -> tuple[str, str]:
    file = setting.new("rows.jsonl")
    lines = [dict(zip(ROWS, row, strict=True)) for row in zip(*ROWS.values(), strict=True)]
    what, data = tampered("".join([json.dumps(line, ensure_ascii=False) + "\n" for line in lines]).encode(), random)
    file.write_bytes(data)
    try:
        read = [json.loads(line) for line in data.decode().split("\n") if line.strip()]
        seen: Any = {name: [row[name] for row in read] for name in ROWS}
    except (ValueError, KeyError, TypeError):
        seen = None
    return f"JSON lines: {what}", _judged(setting, file, seen, lambda scope, path: read_json_lines(scope, path, SCHEMA))


def _judged(setting: Setting, file: Path, seen: Any, read: Any) -> str:
    """What is wrong with how a file was read, where another reader sees `seen` (None: it refuses)."""

    def program(worker: Worker) -> Any:
        with worker.dataflow() as scope:
            rows = collect(read(scope, file))
        worker.run()
        return rows.to_arrow().to_pydict()

    def run() -> None:
        try:
            (found,) = execute(program, workers=1)
        except (TokenRingError, BrokenInvariant) as error:
            print(f"refused: {type(error).__name__}: {error}")
            return
        is_same = seen is not None and {*seen} == {*found} and all([
            with_one_nan(found[name]) == with_one_nan(values) for name, values in seen.items()
        ])  # fmt: skip
        print("the same" if is_same else f"seen {str(seen)[:80]}, found {str(found)[:80]}")

    ending = setting.call(run)
    file.unlink()
    if ending.status != 0:
        return f"status {ending.status}: {ending.err[-300:]!r}"
    return "" if ending.out.startswith(("refused: ", "the same")) else ending.out[:300]
