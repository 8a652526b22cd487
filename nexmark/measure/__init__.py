"""Measuring: latency histograms, hiccups of the machine, memory, and whether a rate is held."""

from tokenring.faces import later

with later(__name__):
    from tokenring.nexmark.measure.hiccups import hiccups_ms
    from tokenring.nexmark.measure.latency import BINS, SPREAD, Histogram, bin_of, record
    from tokenring.nexmark.measure.looks import Looks, LooksState, has_looked, look
    from tokenring.nexmark.measure.memory import anonymous_mb, group_mb, peak_rss_mb
    from tokenring.nexmark.measure.verdict import DNF, UNDECIDED, Backlog, Verdict, judge, until_decided

__all__ = [
    "BINS",
    "Backlog",
    "DNF",
    "Histogram",
    "Looks",
    "LooksState",
    "SPREAD",
    "UNDECIDED",
    "Verdict",
    "anonymous_mb",
    "bin_of",
    "group_mb",
    "has_looked",
    "hiccups_ms",
    "judge",
    "look",
    "peak_rss_mb",
    "record",
    "until_decided",
]
