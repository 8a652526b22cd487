"""The paper's experiments: each makes jobs, one for each point of its sweep."""

from tokenring.faces import later

with later(__name__):
    from tokenring.nexmark.bench.experiments.chain import jobs as chain_jobs
    from tokenring.nexmark.bench.experiments.idle import jobs as idle_jobs
    from tokenring.nexmark.bench.experiments.queries import jobs as query_jobs
    from tokenring.nexmark.bench.experiments.queries import require_events, staged_events
    from tokenring.nexmark.bench.experiments.scaling import jobs as scaling_jobs
    from tokenring.nexmark.bench.experiments.word_ring import WordMeasurements
    from tokenring.nexmark.bench.experiments.word_schedule import Schedule
    from tokenring.nexmark.bench.experiments.word_source import word_source as offered_words
    from tokenring.nexmark.bench.experiments.wordcount import jobs as wordcount_jobs

__all__ = [
    "Schedule",
    "WordMeasurements",
    "chain_jobs",
    "idle_jobs",
    "offered_words",
    "query_jobs",
    "require_events",
    "scaling_jobs",
    "staged_events",
    "wordcount_jobs",
]
