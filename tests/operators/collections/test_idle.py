"""While nothing is added: merges go on until nothing is left of what cancels, and then nothing is done."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tokenring as tr
from tokenring.engine import COMPLETE
from tokenring.operators.collections.updates import ALL, Sealed, Spine, is_merged, merge_at

ROWS = 60_000
MS = 1_000_000


def table(keys: Any, time: Any, times: int) -> np.ndarray:
    return Sealed.of(np.stack([keys, np.broadcast_to(time, len(keys)), np.full(len(keys), times)])).words


def spine_of(*tables: np.ndarray, since: int) -> Spine:
    spine = Spine(1, 1)
    spine.new_reader(ALL)
    for each in tables:
        spine.add(each)
    spine.readers[0]["since"] = since
    return spine


def idle(spine: Spine, now_ns: int = 1) -> int:
    """Wait until nothing is to be done; when that was."""
    for _ in range(100_000):
        due_ns = merge_at(spine.address, now_ns)
        if not due_ns:
            return now_ns
        now_ns = max(now_ns, due_ns)
    raise AssertionError("there is always something to do")


KEYS = np.arange(20_000)
MADE = {
    "at once": [table(KEYS, 0, 1), table(KEYS, 1, -1)],
    "in small pieces": [table(KEYS, 0, 1), *[table(KEYS[at::200], at, -1) for at in range(200)]],
    "the most in one": [table(KEYS, 0, 1), table(KEYS[:15_000], 1, -1), table(KEYS[15_000:], 2, -1)],
    "within a batch": [Sealed.of(np.concatenate([table(KEYS, KEYS % 7, 1), table(KEYS, 7, -1)], axis=1)).words],
}


@pytest.mark.parametrize("tables", MADE.values(), ids=MADE)
def test_nothing_is_left_of_rows_that_were_all_taken_away(tables: list[np.ndarray]) -> None:
    spine = spine_of(*tables, since=300)
    idle(spine)
    assert (spine.rows, spine.count, spine.kept_bytes) == (0, 0, 0)


def test_merges_are_in_pieces_and_then_nobody_asks() -> None:
    spine = spine_of(table(KEYS, 0, 1), table(KEYS[:9], 1, 1), since=300)
    done = idle(spine)
    assert (spine.count, spine.rows) == (2, len(KEYS) + 9), "not for so few"
    assert is_merged(spine.address)
    spine.add(table(KEYS, 2, -1))
    assert not is_merged(spine.address)
    pieces, before = 0, spine.count
    while spine.count == before:
        done = merge_at(spine.address, done)
        pieces += 1
    assert pieces > 5
    idle(spine, done)
    assert spine.rows == 9 and is_merged(spine.address)


def test_what_readers_tell_apart_stays_and_is_asked_for_ever_less_often() -> None:
    spine = spine_of(table(KEYS, 0, 1), table(KEYS, 1, -1), since=0)
    now_ns, waits = 1, []
    while now_ns < 30_000 * MS:
        due_ns = merge_at(spine.address, now_ns)
        waits.append(due_ns - now_ns)
        now_ns = due_ns
    assert spine.rows == 2 * len(KEYS)
    assert waits[-1] >= 1_000 * MS and len(waits) < 2_000
    spine.readers[0]["since"] = 1
    idle(spine, now_ns)
    assert spine.rows == 0


def test_additions_that_a_reader_has_not_taken_stay_apart() -> None:
    spine = Spine(1, 1)
    spine.new_reader(1)
    spine.add(table(KEYS, 0, 1))
    spine.add(table(KEYS, 1, -1))
    spine.readers["taken"][0], spine.readers["since"][0] = 1, 5
    now_ns = 1
    while now_ns < 3_000 * MS:
        now_ns = merge_at(spine.address, now_ns)
    assert spine.count == 2
    spine.readers[0]["taken"] = 2
    idle(spine, now_ns)
    assert spine.count == 0


def test_what_nobody_asks_for_any_more_goes() -> None:
    spine = spine_of(table(KEYS, 0, 1), since=COMPLETE)
    idle(spine)
    assert spine.count == 0


@pytest.mark.parametrize("by_key", [False, True])
@pytest.mark.parametrize("workers", [1, 2])
def test_a_view_without_rows_takes_no_memory_though_none_comes(workers: int, by_key: bool) -> None:
    def program(worker: tr.Worker) -> tuple[int, int]:
        with worker.dataflow() as scope:
            handle: Any
            handle, rows = scope.new_collection(tr.Schema("k v"), key="k" if by_key else None)
            view = rows.arrange("k").export("rows")
        keys = np.arange(worker.index, ROWS, worker.peers)
        (handle.upsert if by_key else handle.insert)({"k": keys, "v": keys})
        handle.advance_to(1)
        worker.step_while(lambda: view.upper < 1)
        most = view.facts["rows"]
        for piece in np.array_split(keys, 10):
            handle.delete({"k": piece}) if by_key else handle.remove({"k": piece, "v": piece})
            handle.advance_to(handle.time + 1)
            worker.step()
        worker.step_while(lambda: view.upper < 11)
        worker.step_while(lambda: view.facts["rows"] > 0)
        assert view.facts["bytes"] == 0
        handle.close()
        worker.run()
        return most, view.facts["rows"]

    parts = tr.execute(program, workers=workers)
    assert sum(most for most, _ in parts) == ROWS and not any(left for _, left in parts)
