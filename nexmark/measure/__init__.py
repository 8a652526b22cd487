"""Measuring: latency histograms, hiccups of the machine, memory, and whether a rate is held."""

from tokenring.faces import later

with later(__name__):
    from tokenring.nexmark.measure.hiccups import hiccups_ms
    from tokenring.nexmark.measure.latency import BINS, SPREAD, Histogram, bin_of, record
    from tokenring.nexmark.measure.looks import Looks, LooksState, has_looked, look
    from tokenring.nexmark.measure.memory import anonymous_mb, group_mb, peak_rss_mb
    from tokenring.nexmark.measure.verdict import DNF, UNDECIDED, Backlog, Verdict, judge, until_decided
