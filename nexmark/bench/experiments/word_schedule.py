"""When each word is due and which time it carries: integer arithmetic alone, the same in Python and in kernels.

Word k of the whole stream is due k * ps_per_word // 1000 ns after the start and carries that instant rounded down to a
multiple of 2**quantum_log2. Worker i's j-th word is word j * peers + i.
"""

from dataclasses import dataclass
from functools import cached_property

from tokenring.engine import WORDS, int64, kernel, void
from tokenring.engine.compiled import Words
from tokenring.nexmark.measure import SPREAD, bin_of


@kernel(int64(int64, int64, int64, int64))
def due_at(word: int, worker: int, peers: int, ps_per_word: int) -> int:
    """When a worker's `word` is due, ns."""
    return (word * peers + worker) * ps_per_word // 1000


@kernel(int64(int64, int64, int64, int64))
def due_until(now_ns: int, worker: int, peers: int, ps_per_word: int) -> int:
    """How many of a worker's words are due at now_ns or before; now_ns: what is beyond a month is taken as that."""
    now_ns = min(now_ns, 1 << 52)
    return (((now_ns + 1) * 1000 - 1) // ps_per_word - worker) // peers + 1


@kernel(void(WORDS, int64, int64, int64, int64, int64))
def stamp(times: Words, first: int, worker: int, peers: int, ps_per_word: int, quantum_log2: int) -> None:
    """Write the times of a worker's words from its `first` on. times: int64 (words,), ns."""
    for i in range(len(times)):
        due_ns = due_at(first + i, worker, peers, ps_per_word)
        times[i] = due_ns >> quantum_log2 << quantum_log2


@kernel(void(WORDS, WORDS, WORDS, WORDS, int64, int64, int64, int64, int64, int64, int64))
def record_words(
    bins: Words, extremes: Words, after_bins: Words, after_extremes: Words, now_ns: int, first: int, last: int,
    worker: int, peers: int, ps_per_word: int, quantum_log2: int,
) -> None:  # fmt: skip
    """Add the latencies of a worker's words first..last, done at now_ns: since each was due, and (`after`) since the
    last word that carries the same time was due, before which no frontier can pass that time."""
    count = last - first + 1
    spread = min(count, SPREAD)
    for i in range(spread):
        word = first if spread == 1 else first + (last - first) * i // (spread - 1)
        weight = count * (i + 1) // spread - count * i // spread
        due_ns = due_at(word, worker, peers, ps_per_word)
        quantum_end_ns = ((due_ns >> quantum_log2) + 1) << quantum_log2
        last_due_ns = (quantum_end_ns * 1000 - 1) // ps_per_word * ps_per_word // 1000
        bins[bin_of(now_ns - due_ns)] += weight
        after_bins[bin_of(now_ns - last_due_ns)] += weight
        extremes[0] += weight * (now_ns - due_ns)
        after_extremes[0] += weight * (now_ns - last_due_ns)
        extremes[1] = max(extremes[1], now_ns - due_ns)
        after_extremes[1] = max(after_extremes[1], now_ns - last_due_ns)


@dataclass(frozen=True)
class Schedule:
    """One worker's words. rate: words a second over all workers, at most 10^12; words: over all workers."""

    rate: float
    quantum_log2: int
    words: int
    worker: int
    peers: int
    distinct: int = 1 << 12
    """Words that differ: by default so few that the count is not a test of the machine's caches."""
    all_first: bool = False
    """Whether each of them comes once before any comes again, so that state has its size early on."""

    @cached_property
    def ps_per_word(self) -> int:
        """Picoseconds between two words of the whole stream."""
        return max(1, round(1e12 / self.rate))

    @property
    def share(self) -> int:
        """How many words are this worker's."""
        return len(range(self.worker, self.words, self.peers))

    def due_ns(self, word: int) -> int:
        """When this worker's `word` is due."""
        return due_at(word, self.worker, self.peers, self.ps_per_word)

    def time_of(self, word: int) -> int:
        """The time that this worker's `word` carries."""
        return self.due_ns(word) >> self.quantum_log2 << self.quantum_log2

    def due_by(self, now_ns: int) -> int:
        """How many of this worker's words are due at now_ns or before."""
        return due_until(now_ns, self.worker, self.peers, self.ps_per_word)
