"""State that moves while the stream goes on: the latency of it by plan, of counts by key and of NEXMark's queries."""

from tokenring.faces import later

with later(__name__):
    from tokenring.nexmark.bench.migration.experiment import MIGRATION, measured_key_count
