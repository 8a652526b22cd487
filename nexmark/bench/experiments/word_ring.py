"""The words of a word source, made beforehand, and what it sees while it sends them."""

import numpy as np

from tokenring.nexmark.bench.experiments.word_schedule import Schedule
from tokenring.nexmark.measure import Histogram
from tokenring.nexmark.run import Measurements

RING_WORDS = 1 << 20


class WordMeasurements(Measurements):
    """What one worker's source saw. `histogram` runs from the instant a word is due; `after_quantum` from the instant
    the last word that carries the same time is due."""

    def __init__(self, from_ns: int = 0) -> None:
        super().__init__(from_ns)
        self.after_quantum = Histogram()


def ring_of_words(schedule: Schedule, most: int) -> np.ndarray:
    """A worker's words, over and over: int64 (RING_WORDS + most,), so that `most` are at hand from any of the first on.
    """
    generator = np.random.default_rng((7, schedule.worker))
    ring = generator.integers(0, schedule.distinct, RING_WORDS + most)
    if schedule.all_first:
        mine = np.arange(schedule.worker, schedule.distinct, schedule.peers)[:RING_WORDS]
        ring[: len(mine)] = generator.permutation(mine)
    return ring
