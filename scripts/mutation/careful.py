"""Changes that somebody thought of: each a mistake that a careful person makes, and that single tokens do not show."""

from __future__ import annotations

from pathlib import Path

from scripts.mutation.mutant import Mutant

# (file, text, what it becomes, what is wrong then)
_QUERIES = (
    ("q1", 'col("price") * 89 //', '(col("price") * 89 + (col("price") < 0).cast("int64") * 99) //',
     "cut off, not rounded down"),
    ("q1", "* 89 // 100", "* 88 // 100", "another rate"),
    ("q2", "ONE_IN = 123", "ONE_IN = 122", "another remainder"),
    ("q3", '("OR", "ID", "CA")', '("OR", "ID")', "a state less"),
    ("q3", "CATEGORY = 10", "CATEGORY = 11", "another category"),
    ("q4", 'threshold="reserve"', 'threshold="date_time"', "another least price"),
    ("q5", ', window=Tumbling("ended", 1)', "", "interim bests are sent"),
    ("q5", "60 * SECOND, SECOND", "61 * SECOND, SECOND", "windows of 61 s"),
    ("q5", "60 * SECOND, SECOND", "60 * SECOND, 2 * SECOND", "every two seconds"),
    ("q5", ', ties="auction"', "", "ties by arrival"),
    ("q5", 'counts["bids"] == ', 'counts["bids"] > ', "ties left out early"),
    ("q6", 'order="expires id"', 'order="expires"', "closing at once: by arrival"),
    ("q6", 'order="expires id"', 'order="id expires"', "by id first"),
    ("q6", "rows=10", "rows=11", "the last eleven"),
    ("q6", "rows=10", "rows=9", "the last nine"),
    ("q7", "10 * SECOND", "20 * SECOND", "windows of 20 s"),
    ("q7", 'Max("price")', 'Max("date_time")', "the last"),
    ("q8", "12 * HOUR - 1", "12 * HOUR", "an inclusive bound"),
    ("q8", "12 * HOUR - 1", "11 * HOUR - 1", "eleven hours"),
    ("q8", "upper=12 * HOUR - 1", "lower=1, upper=12 * HOUR - 1", "not at the same time"),
    ("q8", "upper=12 * HOUR - 1", "lower=-1, upper=12 * HOUR - 1", "a moment before"),
    ("q9", 'ties="bid_time event"', 'ties="bid_time"', "equal times by arrival"),
    ("q9", 'ties="bid_time event"', 'ties="event"', "equal prices by event alone"),
    ("q9", ', col("expires"))', ', col("expires") - 1)', "not at the end"),
    ("q9", 'between(col("date_time"),', 'between(col("date_time") + 1,', "not at the start"),
    ("q11", "10 * SECOND", "10 * SECOND + 1", "a session goes on at exactly ten seconds"),
    ("q11", "10 * SECOND", "10 * SECOND - 1", "a session ends too soon"),
    ("q12", "10 * SECOND", "20 * SECOND", "windows of 20 s"),
    ("q12", 'col("arrived") // _WIDTH_NS * _WIDTH_NS', 'col("arrived") * 0', "no windows at all"),
    ("q12", 'col("arrived") // _WIDTH_NS * _WIDTH_NS', 'col("arrived")', "each message a window"),
    ("q13", '% KEYS]', '% (KEYS - 1)]', "another key"),
    ("q14", "hour >= 8", "hour > 8", "day begins at 9"),
    ("q14", "hour <= 18", "hour < 18", "day ends at 18"),
    ("q14", "hour <= 6", "hour < 6", "night ends at 6"),
    ("q14", "hour >= 20", "hour > 20", "night begins at 21"),
    ("q14", "price > LEAST * 1000", "price > (LEAST + 1) * 1000", "a higher least price"),
    ("q14", "price < MOST * 1000", "price < (MOST + 1) * 1000", "a higher greatest price"),
    ("q14", 'count_of("c")', 'lower().count_of("c")', "capital letters too"),
    ("q14", ".fill_null(0)", ".fill_null(1)", "missing texts have one"),
    ("q16", "// MINUTE % (DAY // MINUTE)", "// MINUTE % (DAY // MINUTE + 1)", "minutes of longer days"),
    ("q17", 'col("sum_price") //',
     '(col("sum_price") + (col("sum_price") < 0).cast("int64") * (col("total_bids") - 1)) //',
     "an average cut off"),
    ("q18", ', ties="event"', "", "equal times by arrival"),
    ("q19", 'ties="date_time event"', 'ties="date_time"', "equal times by arrival"),
    ("q19", 'ties="date_time event"', 'ties="event"', "equal prices by event alone"),
    ("q19", "k=10", "k=11", "eleven bids"),
    ("q20", 'col("category") == CATEGORY', 'col("category") >= CATEGORY', "higher categories too"),
    ("q21", "(?:&|^)", "(?:[&?]|^)", "behind a question mark too"),
    ("q21", "(?:&|^)", "(?:&)", "not at the start"),
    ("q21", "([^&]*)", "([^&]+)", "empty numbers are none"),
    ("q21", ".lower()", "", "only small letters"),
    ("q22", "(4, 5, 6)", "(3, 4, 5)", "other parts"),
    ("ranks", "< 10_000", "<= 10_000", "rank 1 with its bound"),
    ("ranks", "(col(\"price\") < 1_000_000)", "(col(\"price\") <= 1_000_000)", "rank 2 with its bound"),
)  # fmt: skip
_BELOW = (
    ("engine/data/channel.py", "self._going_round.append((self._onward.push, time, batch))",
     "self._onward.push(time, batch)", "a feedback edge hands on at once"),
    ("engine/progress/change_log.py", "(capacity - 1) * CHANGE_BYTES", "capacity * CHANGE_BYTES",
     "the log's limit off by one"),
    ("engine/progress/change_log.py",
     "if offset >= self.limit", "if offset > self.limit", "room is made a change late"),
    ("engine/progress/change_log.py", "if log[i + _DELTA] > 0:", "if log[i + _DELTA] < 0:", "decrements first"),
    ("engine/tokens/token.py", "if offset >= log.limit:\n            log.make_room()\n\n    def _downgrade",
     "if offset > log.limit:\n            log.make_room()\n\n    def _downgrade", "room is made a change late"),
    ("shm/queues/progress_ring.py", "store_release(\n        records", "store_word(\n        records",
     "a batch published plainly"),
    ("shm/queues/progress_ring.py", "range(count - 1, -1, -1)", "range(count)", "records filled from the first"),
    ("shm/queues/progress_ring.py",
     "store_release(at, ring[RING_READ_POSITION])", "store_word(at, ring[RING_READ_POSITION])",
     "slots given back plainly"),
    ("shm/queues/progress_ring.py", "if load_acquire(record + 8 * SEQUENCE)", "if load_word(record + 8 * SEQUENCE)",
     "a sequence read plainly"),
    ("shm/queues/progress_ring.py", "- ring[RING_GATE] > capacity:\n            ring",
     "- ring[RING_GATE] >= capacity:\n            ring",
     "the gate refreshed a slot early"),
    ("shm/queues/progress_ring.py", "ring[RING_GATE] > capacity:\n                return -1",
     "ring[RING_GATE] > capacity + 1:\n                return -1", "the slowest reader is lapped by one"),
    ("shm/queues/data_queue.py", "store_release(\n                outgoing", "store_word(\n                outgoing",
     "messages published plainly"),
    ("shm/queues/data_queue.py", "store_release(outgoing[worker, BELL", "store_word(outgoing[worker, BELL",
     "a bell rung plainly"),
    ("shm/queues/data_queue.py", "heard = load_acquire(", "heard = load_word(", "a bell heard plainly"),
    ("shm/queues/data_queue.py", "position * MAX_WORKERS + outgoing[worker, SIGN]", "position",
     "two senders ring the same value"),
    ("shm/queues/data_queue.py", "heard = UNHEARD", "pass", "what did not fit the inbox is taken for heard"),
    ("shm/queues/data_queue.py",
     "write = load_acquire(queue[WRITE_ADDRESS])", "write = load_word(queue[WRITE_ADDRESS])",
     "a position read plainly"),
    ("shm/queues/data_queue.py", "queue[READ_POSITION] = load_acquire", "queue[READ_POSITION] = load_word",
     "room found plainly"),
    ("shm/queues/data_queue.py",
     "needed = words if offset + words <= capacity", "needed = words if offset + words < capacity",
     "a skip where none is needed"),
    ("shm/queues/data_queue.py", "    if offset + words > capacity:\n        header",
     "    if offset + words >= capacity:\n        header",
     "a message that just fits is skipped"),
    ("shm/queues/flags.py", "& bit != 0", "& bit != 0 or True", "several wake one sleeper"),
    ("shm/queues/flags.py", "(worker | 63) + 1", "(worker | 63) + 2", "the first of the next word is passed over"),
    ("shm/queues/flags.py", "+ FLAGS_IN_WORD - 1", "", "the last word, not full, is not looked at"),
    ("shm/queues/parking.py", "fence()  # SYNC parking: parker", "pass  # SYNC parking: parker",
     "no fence before the last look"),
    ("shm/queues/parking.py", "fence()  # SYNC parking: waker", "pass  # SYNC parking: waker",
     "no fence before looking for sleepers"),
)  # fmt: skip


def careful(root: Path) -> list[Mutant]:
    """They as mutants. ValueError for one whose text is not there once: it has to follow the file."""
    found = []
    named = [(f"nexmark/queries/{name}.py", *rest) for name, *rest in _QUERIES]
    for file, before, after, what in [*named, *_BELOW]:
        source = (root / file).read_bytes()
        if source.count(before.encode()) != 1:
            raise ValueError(f"{file} says {before!r} {source.count(before.encode())} times, not once")
        found.append(Mutant(file, source.index(before.encode()), before, after, what))
    return found
