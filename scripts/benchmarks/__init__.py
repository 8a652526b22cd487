"""Benchmarks, a verb a module; `scripts/benchmark` runs them, docs/performance.md says how to read them."""
