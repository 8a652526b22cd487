"""The data queues: columns arrive as sent, contiguous whatever the offset; full is a value and writes nothing
anywhere."""

from __future__ import annotations

from collections import defaultdict
from random import Random

import numpy as np
import pytest

from tests.errors import raises
from tests.shm.helpers import QueueEnd, private
from tokenring.shm.queues.data_queue import (
    HEADER_WORDS,
    INBOX_CHANNEL,
    INBOX_COLUMNS,
    INBOX_OFFSET,
    INBOX_QUEUE,
    INBOX_ROWS,
    INBOX_STAMP,
    INBOX_STRIDE,
    INBOX_WORDS,
    anything_waiting,
    commit_all,
    has_room,
    message_words,
    partition_for,
    queue_words,
    receive,
    release_all,
    route,
    send_for,
)

Message = tuple[int, int, int, list[list[int]]]  # sender, channel, stamp, columns


def send(end: QueueEnd, to: int, columns: list[list[int]], channel: int = 0, stamp: int = 0) -> bool:
    """Send whole columns to one worker."""
    arrays = tuple(np.array(column, np.int64) for column in columns)
    sent = bool(send_for(len(columns))(arrays, 0, len(columns[0]), end.outgoing, to, channel, stamp))
    commit_all(end.outgoing)
    return sent


def exchange(end: QueueEnd, columns: list[list[int]], key: int, channel: int = 0, stamp: int = 0) -> int:
    """Exchange whole columns by one of them."""
    arrays = tuple(np.array(column, np.int64) for column in columns)
    rows = len(columns[0])
    sent = partition_for(len(columns))(arrays, key, 0, rows, end.outgoing, end.routes, end.counts, channel, stamp)
    commit_all(end.outgoing)
    return int(sent)


def take(end: QueueEnd) -> list[Message]:
    """Give back what was taken before, and take what one receive gives."""
    release_all(end.incoming)
    found = []
    for entry in end.inbox[: receive(end.incoming, end.inbox) * INBOX_WORDS].reshape(-1, INBOX_WORDS).tolist():
        words = queue_words(end.segment, entry[INBOX_QUEUE], end.me, end.loopback)
        columns = []
        for column in range(entry[INBOX_COLUMNS]):
            at = entry[INBOX_OFFSET] + column * entry[INBOX_STRIDE]
            columns.append(words[at : at + entry[INBOX_ROWS]].tolist())
        found.append((entry[INBOX_QUEUE], entry[INBOX_CHANNEL], entry[INBOX_STAMP], columns))
    return found


def key_of(worker: int, workers: int) -> int:
    """A key that routes to `worker`."""
    return next(key for key in range(1000) if route(key, workers) == worker)


def test_a_message_arrives_as_it_was_sent() -> None:
    with private() as segment:
        first, second = QueueEnd(segment, 0), QueueEnd(segment, 1)
        assert send(first, 1, [[1, 2, 3], [-4, 2**63 - 1, -(2**63)]], channel=7, stamp=2**62 - 1)
        assert take(second) == [(0, 7, 2**62 - 1, [[1, 2, 3], [-4, 2**63 - 1, -(2**63)]])]
        assert take(second) == []
        assert take(first) == []


def test_a_message_to_oneself_goes_the_same_way() -> None:
    with private(workers=1) as segment:
        only = QueueEnd(segment, 0)
        assert exchange(only, [[5, 6]], key=0, stamp=3) == 1
        assert take(only) == [(0, 0, 3, [[5, 6]])]


@pytest.mark.parametrize("columns", [*range(1, 10), 14])
def test_any_number_of_columns(columns: int) -> None:
    with private() as segment:
        first, second = QueueEnd(segment, 0), QueueEnd(segment, 1)
        data = [[100 * column + row for row in range(9)] for column in range(columns)]
        assert send(first, 1, data)
        assert take(second) == [(0, 0, 0, data)]
        assert exchange(first, data, key=columns - 1) >= 1
        got = [message for message in take(second) + take(first)]
        rows = sorted(row for _, _, _, part in got for row in zip(*part, strict=True))
        assert rows == sorted(zip(*data, strict=True))


def test_zero_rows() -> None:
    with private() as segment:
        first, second = QueueEnd(segment, 0), QueueEnd(segment, 1)
        assert exchange(first, [[], []], key=0) == 0
        assert take(second) == []
        assert send(first, 1, [[], []], stamp=4)
        assert take(second) == [(0, 0, 4, [[], []])]


def test_columns_begin_on_cache_lines_and_messages_know_their_size() -> None:
    assert message_words(0, 3) == HEADER_WORDS
    assert message_words(1, 3) == HEADER_WORDS + 3 * 8
    assert message_words(8, 3) == HEADER_WORDS + 3 * 8
    assert message_words(9, 3) == HEADER_WORDS + 3 * 16
    with private() as segment:
        first, second = QueueEnd(segment, 0), QueueEnd(segment, 1)
        send(first, 1, [[1] * 3] * 2)
        send(first, 1, [[1] * 3] * 2)
        receive(second.incoming, second.inbox)
        offsets = second.inbox.reshape(-1, INBOX_WORDS)[:2, INBOX_OFFSET]
        assert all(offset % 8 == 0 for offset in offsets.tolist())


@pytest.mark.parametrize("seed", range(5))
def test_wrapping_with_skips_keeps_columns_contiguous(seed: int) -> None:
    rng = Random(seed)
    with private(queue_words=256) as segment:
        first, second = QueueEnd(segment, 0), QueueEnd(segment, 1)
        sent: list[Message] = []
        got: list[Message] = []
        refused = 0
        while len(sent) < 400:
            rows, columns = rng.randint(1, 20), rng.randint(1, 4)
            data = [[rng.randrange(-(2**62), 2**62) for _ in range(rows)] for _ in range(columns)]
            if send(first, 1, data, len(sent), 2 * len(sent)):
                sent.append((0, len(sent), 2 * len(sent), data))
            else:
                refused += 1
                got += take(second)
            if rng.random() < 0.3:
                got += take(second)
        while more := take(second):
            got += more
        assert got == sent
        assert refused > 20


def test_bytes_stay_until_they_are_released() -> None:
    with private(queue_words=256) as segment:
        first, second = QueueEnd(segment, 0), QueueEnd(segment, 1)
        while send(first, 1, [[7] * 24]):
            pass
        receive(second.incoming, second.inbox)
        words = queue_words(segment, 0, 1, second.loopback)
        at = int(second.inbox[INBOX_OFFSET])
        assert not send(first, 1, [[8] * 24]), "what was received is still being looked at"
        assert words[at : at + 24].tolist() == [7] * 24
        release_all(second.incoming)
        assert send(first, 1, [[8] * 24])


def test_views_are_read_only() -> None:
    with private() as segment:
        second = QueueEnd(segment, 1)
        for sender in (0, 1):
            with raises(ValueError, "read-only"):
                queue_words(segment, sender, 1, second.loopback)[0] = 1


def test_full_is_a_value_and_atomic_over_destinations() -> None:
    with private(workers=3, queue_words=256) as segment:
        ends = [QueueEnd(segment, worker) for worker in range(3)]
        keys = [key_of(worker, 3) for worker in range(3)]
        while exchange(ends[0], [[keys[2]] * 24], key=0) > 0:
            pass  # only the queue to worker 2 is full
        take(ends[2]), take(ends[1]), take(ends[0])
        assert exchange(ends[0], [keys * 8], key=0) == -1
        assert not anything_waiting(ends[0].incoming)
        assert not anything_waiting(ends[1].incoming), "worker 1 had room, but got nothing"
        release_all(ends[2].incoming)
        assert exchange(ends[0], [keys * 8], key=0) == 3
        assert [take(end)[0][3] for end in ends] == [[[key] * 8] for key in keys]


def test_a_message_of_a_quarter_queue_always_fits_in_the_end() -> None:
    """The largest that the engine sends: at every offset, once the receiver has caught up, there is room for it."""
    with private(queue_words=256) as segment:
        first, second = QueueEnd(segment, 0), QueueEnd(segment, 1)
        quarter = 256 // 4 - HEADER_WORDS
        for _ in range(40):
            assert send(first, 1, [[1]])
            while take(second):
                pass
            assert has_room(first.outgoing[1], 64)
            assert send(first, 1, [[2] * quarter])
            while take(second):
                pass


def test_one_busy_peer_does_not_starve_the_others() -> None:
    with private(workers=3, queue_words=1024) as segment:
        ends = [QueueEnd(segment, worker, messages=4) for worker in range(3)]
        for _ in range(20):
            assert send(ends[0], 2, [[1]])
        assert send(ends[1], 2, [[2]])
        assert [message[0] for message in take(ends[2])] == [0, 0, 0, 0, 1]


def test_exchange_sends_each_key_to_its_owner_and_keeps_the_order() -> None:
    rng = Random(3)
    with private(workers=3, queue_words=4096) as segment:
        ends = [QueueEnd(segment, worker) for worker in range(3)]
        keys = [rng.choice([rng.randrange(-50, 50), rng.randrange(-(2**63), 2**63)]) for _ in range(300)]
        assert exchange(ends[1], [keys, list(range(300))], key=0) == 3
        parts: defaultdict[int, list[tuple[int, int]]] = defaultdict(list)
        for row, key in enumerate(keys):
            parts[route(key, 3)].append((key, row))
        for worker, end in enumerate(ends):
            ((sender, _, _, (got_keys, got_rows)),) = take(end)
            assert sender == 1
            assert list(zip(got_keys, got_rows, strict=True)) == parts[worker]


@pytest.mark.parametrize("workers", [1, 2, 3, 7, 64])
def test_routes_are_spread_and_within_bounds(workers: int) -> None:
    shares = np.bincount([route(key, workers) for key in range(-3000, 3000)], minlength=workers)
    assert len(shares) == workers
    assert shares.min() > 0.5 * 6000 / workers


def test_part_of_the_rows() -> None:
    with private(workers=1) as segment:
        only = QueueEnd(segment, 0)
        column = np.arange(10, dtype=np.int64)
        assert partition_for(1)((column,), 0, 3, 6, only.outgoing, only.routes, only.counts, 0, 0) == 1
        assert send_for(1)((column,), 8, 10, only.outgoing, 0, 0, 0)
        assert take(only) == [], "nothing is seen before it is committed"
        commit_all(only.outgoing)
        assert [message[3] for message in take(only)] == [[[3, 4, 5]], [[8, 9]]]


def test_read_only_columns_can_be_sent_on() -> None:
    with private(workers=1) as segment:
        only = QueueEnd(segment, 0)
        column = np.arange(4, dtype=np.int64)
        column.setflags(write=False)
        assert send_for(2)((column, np.zeros(4, np.int64)), 0, 4, only.outgoing, 0, 0, 0)
        commit_all(only.outgoing)
        assert take(only)[0][3] == [[0, 1, 2, 3], [0, 0, 0, 0]]


def test_anything_waiting() -> None:
    with private() as segment:
        first, second = QueueEnd(segment, 0), QueueEnd(segment, 1)
        assert not anything_waiting(second.incoming)
        send(first, 1, [[1]])
        assert anything_waiting(second.incoming)
        assert not anything_waiting(first.incoming)
        take(second)
        assert not anything_waiting(second.incoming)


def test_what_one_receive_leaves_is_still_waiting() -> None:
    """Nobody rings for it again."""
    with private() as segment:
        first, second = QueueEnd(segment, 0), QueueEnd(segment, 1, messages=2)
        for stamp in range(5):
            assert send(first, 1, [[stamp]], stamp=stamp)
        seen = []
        while anything_waiting(second.incoming):
            seen += [stamp for _, _, stamp, _ in take(second)]
        assert seen == [0, 1, 2, 3, 4]


def test_each_sender_rings_another_value() -> None:
    """Two who have sent as many words to one receiver are two: hearing the one is not hearing the other."""
    with private(workers=3) as segment:
        ends = [QueueEnd(segment, worker) for worker in range(3)]
        for number in range(3):
            for sender in (0, 1):
                assert send(ends[sender], 2, [[number]])
                assert anything_waiting(ends[2].incoming)
                assert [message[0] for message in take(ends[2])] == [sender]
                assert not anything_waiting(ends[2].incoming)


def test_messages_come_from_the_first_and_the_last_of_many_workers() -> None:
    with private(workers=130, queue_words=256) as segment:
        ends = {worker: QueueEnd(segment, worker) for worker in (0, 64, 129)}
        for sender, receiver in [(0, 129), (129, 0), (64, 0), (64, 129)]:
            assert send(ends[sender], receiver, [[sender]])
            assert take(ends[receiver]) == [(sender, 0, 0, [[sender]])]
        assert not any(anything_waiting(end.incoming) for end in ends.values())
