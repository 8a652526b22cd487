"""The engines that the benchmarks measure beside ours, each in a process of its own, over the same staged columns."""

from tokenring.faces import later

with later(__name__):
    from scripts.benchmarks.references.answers import Case, fingerprint, hashed, require_equal, require_equal_results
    from scripts.benchmarks.references.reference import Reference, require_installed
