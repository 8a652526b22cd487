"""The paper's experiments, and that of bounded regions: what each sweeps, measures and shows."""

from tokenring.faces import later

with later(__name__):
    from tokenring.nexmark.bench.experiments.chain import CHAIN
    from tokenring.nexmark.bench.experiments.flow import BOUNDS, FLOW
    from tokenring.nexmark.bench.experiments.idle import IDLE
    from tokenring.nexmark.bench.experiments.mechanisms import SOURCES
    from tokenring.nexmark.bench.experiments.nexmark import NEXMARK, require_events, staged_events
    from tokenring.nexmark.bench.experiments.word_schedule import Schedule
    from tokenring.nexmark.bench.experiments.word_source import WordMeasurements
    from tokenring.nexmark.bench.experiments.word_source import word_source as offered_words
    from tokenring.nexmark.bench.experiments.wordcount import SCALING, WORDCOUNT
