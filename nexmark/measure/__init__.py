"""Measuring: latency histograms, hiccups of the machine, memory, and whether a rate is held."""

from tokenring.nexmark.measure.hiccups import hiccups_ms
from tokenring.nexmark.measure.latency import SPREAD, Histogram, bin_of
from tokenring.nexmark.measure.memory import anonymous_mb, group_mb, peak_rss_mb
from tokenring.nexmark.measure.verdict import DNF, LONGEST, UNDECIDED, Backlog, Verdict, judge, until_decided

__all__ = [
    "Backlog",
    "DNF",
    "Histogram",
    "LONGEST",
    "SPREAD",
    "UNDECIDED",
    "Verdict",
    "anonymous_mb",
    "bin_of",
    "group_mb",
    "hiccups_ms",
    "judge",
    "peak_rss_mb",
    "until_decided",
]
