"""The segment's layout: nothing overlaps, writers have lines of their own, sizes are checked."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.errors import raises
from tokenring.shm.errors import SegmentError
from tokenring.shm.memory import layout as words_of
from tokenring.shm.memory.layout import LINE_WORDS, MAX_WORKERS, RECORD_WORDS, Layout

layouts = st.builds(
    Layout,
    workers=st.integers(1, 9),
    ring_records=st.integers(6, 12).map(lambda bits: 1 << bits),
    queue_words=st.integers(8, 12).map(lambda bits: 1 << bits),
)


def _areas(layout: Layout) -> list[tuple[int, int, str]]:
    """Everything in the segment as (begin, end, name), in words."""
    areas = [(0, LINE_WORDS, "header"), (layout.stop, layout.stop + LINE_WORDS, "group")]
    areas.append((layout.parked, layout.parked + LINE_WORDS, "parked"))
    areas.append((layout.congested, layout.congested + LINE_WORDS, "congested"))
    areas += [(layout.worker(w), layout.worker(w) + LINE_WORDS, f"worker {w}") for w in range(layout.workers)]
    areas += [(layout.bell(w), layout.bell(w) + LINE_WORDS, f"bell {w}") for w in range(layout.workers)]
    areas.append((layout.ring_write_position, layout.ring_write_position + LINE_WORDS, "write position"))
    for worker in range(layout.workers):
        begin = layout.ring_read_position(worker)
        areas.append((begin, begin + LINE_WORDS, f"read position {worker}"))
    records = layout.ring_records_offset
    areas.append((records, records + layout.ring_records * RECORD_WORDS, "records"))
    for sender in range(layout.workers):
        for receiver in range(layout.workers):
            if sender != receiver:
                begin = layout.queue(sender, receiver)
                areas.append((begin, begin + 2 * LINE_WORDS + layout.queue_words, f"queue {sender} -> {receiver}"))
    return sorted(areas)


@given(layouts)
def test_areas_cover_the_segment_without_overlap(layout: Layout) -> None:
    areas = _areas(layout)
    assert areas[0][0] == 0
    for (_, end, name), (begin, _, following) in pairwise(areas):
        assert end == begin, f"{name} ends at {end}, {following} begins at {begin}"
    assert areas[-1][1] == layout.total_words
    assert layout.total_bytes == 8 * layout.total_words
    assert all(begin % LINE_WORDS == 0 for begin, _, _ in areas), "areas start on lines of their own"


@given(layouts)
def test_the_queues_to_one_worker_lie_together(layout: Layout) -> None:
    for receiver in range(layout.workers):
        senders = [sender for sender in range(layout.workers) if sender != receiver]
        begins = [layout.queue(sender, receiver) for sender in senders]
        assert all(layout.queues_to(receiver) <= begin < layout.queues_to(receiver + 1) for begin in begins)


def test_words_of_a_line_are_distinct_and_fit() -> None:
    for prefix in ("HEADER_", "WORKER_"):
        places = [value for name, value in vars(words_of).items() if name.startswith(prefix)]
        assert len(set(places)) == len(places) > 1
        assert max(places) < LINE_WORDS


@given(layouts, layouts)
def test_digests_differ_where_layouts_do(left: Layout, right: Layout) -> None:
    assert (left.digest == right.digest) == (left == right)
    assert 0 <= left.digest < 2**63


@pytest.mark.parametrize(
    ("sizes", "named"),
    [
        ((0, 64, 256), "workers"),
        ((MAX_WORKERS + 1, 64, 256), "workers"),
        ((2, 100, 256), "ring_records"),
        ((2, 64, 300), "queue_words"),
        ((2, 32, 256), "64 records"),
        ((2, 64, 128), "256 words"),
        ((2, 0, 256), "ring_records"),
        ((2, -64, 256), "ring_records"),
    ],
)
def test_sizes_that_cannot_work(sizes: tuple[int, int, int], named: str) -> None:
    with raises(SegmentError, named):
        Layout(*sizes)


@pytest.mark.parametrize(("sender", "receiver"), [(0, 0), (0, 2), (2, 0), (-1, 0)])
def test_there_is_no_queue_to_oneself_or_to_strangers(sender: int, receiver: int) -> None:
    with raises(SegmentError, f"worker {sender}", f"worker {receiver}"):
        Layout(2, 64, 256).queue(sender, receiver)
