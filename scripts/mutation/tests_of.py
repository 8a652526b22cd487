"""Which tests are asked about a file: those about it, so that a mutant takes seconds and not the whole suite."""

from __future__ import annotations

import re

_QUERIES = "tests/nexmark/test_queries.py"
_HARD = "(edges or elsewhere)"  # events that are generated notice less, and take longer
_EMITTED = "tests/shm/test_emitted_order.py"
_MODELS = ("tests/engine/test_safety.py", "tests/engine/test_coming_and_going.py")

# The first pattern that a file's path begins with says which.
TESTS: dict[str, tuple[str, ...]] = {
    "shm/data_queue": ("tests/shm/test_data_queue.py", _EMITTED, "tests/engine/test_channels.py"),
    "shm/progress_ring": ("tests/shm/test_progress_ring.py", _EMITTED, "tests/engine/test_safety.py"),
    "shm/parking": ("tests/shm/test_parking.py", _EMITTED),
    "shm/atomics": ("tests/shm/test_atomics.py",),
    "shm/text": ("tests/engine/test_text_channels.py", "tests/engine/test_batch.py"),
    "shm/": ("tests/shm",),
    "engine/change_batch": ("tests/engine/test_change_batch.py", "tests/engine/test_tokens.py"),
    "engine/tokens": ("tests/engine/test_tokens.py", "tests/engine/test_change_batch.py"),
    "engine/channel": ("tests/engine/test_going_round.py", "tests/engine/test_channels.py"),
    "engine/counts": ("tests/engine/test_tracker.py", "tests/engine/test_checked_progress.py", *_MODELS),
    "engine/many_times": ("tests/engine/test_tracker.py", "tests/engine/test_many_times.py", *_MODELS),
    "engine/nested": ("tests/engine/test_nested_tracker.py", "tests/engine/test_loop_frontiers.py", *_MODELS),
    "engine/propagation": ("tests/engine/test_tracker.py", "tests/engine/test_scheduling.py", *_MODELS),
    "engine/text": ("tests/engine/test_batch.py", "tests/engine/test_text_channels.py"),
    "engine/burst": ("tests/engine/test_burst.py", "tests/engine/test_channels.py"),
    "engine/progress_channel": ("tests/engine/test_checked_progress.py", "tests/engine/test_waiting.py", *_MODELS),
    "engine/along_edges": ("tests/engine/test_tracker.py", *_MODELS),
    "engine/edges": ("tests/engine/test_tracker.py", *_MODELS),
    "engine/waking": ("tests/engine/test_tracker.py", "tests/engine/test_scheduling.py", *_MODELS),
    "engine/pool": ("tests/engine/test_tracker.py", "tests/engine/test_many_times.py"),
    "engine/probe_group": ("tests/engine/test_groups.py",),
    "engine/": ("tests/engine",),
    "operators/aggregates": ("tests/operators/aggregates", "tests/operators/test_arrange.py"),
    "operators/expressions": (
        "tests/operators/test_expression_blocks.py", "tests/operators/test_text_blocks.py",
        "tests/operators/test_expressions.py",
    ),
    "operators/joins": ("tests/operators/joins",),
    "operators/graphs": ("tests/operators/graphs",),
    "operators/heap": ("tests/operators/test_best_offers.py", "tests/operators/joins"),
    "operators/intervals": ("tests/operators/test_best_offers.py",),
    "operators/keys_kernels": ("tests/operators/test_keys.py",),
    "operators/hash_index": ("tests/operators/test_sinks_and_index.py", "tests/operators/test_keys.py"),
    "operators/average_of_last": ("tests/operators/test_average_of_last.py",),
    "operators/running_average": ("tests/operators/test_averages.py",),
    "operators/arrange": ("tests/operators/test_arrange.py",),
    "operators/row_store": ("tests/operators/joins", "tests/operators/aggregates/test_windows.py"),
    "operators/where": ("tests/operators/test_stateless.py",),
    "operators/": ("tests/operators",),
    "nexmark/queries/q12": ("tests/nexmark/test_processing_time.py",),
    "nexmark/queries/ranks": (_QUERIES, "-k", f"(q15- or q16- or q17-) and {_HARD}"),
    "nexmark/queries/query": (_QUERIES,),
    "nexmark/bench/word": ("tests/nexmark/bench/test_word_source.py",),
    "nexmark/cursors": ("tests/nexmark/test_source.py",),
    "nexmark/latency": ("tests/nexmark/test_latency.py",),
    "nexmark/row_hash": ("tests/nexmark/test_compare.py",),
    "nexmark/": ("tests/nexmark",),
}  # fmt: skip


def tests_of(file: str) -> tuple[str, ...]:
    """pytest's arguments for the tests about a file."""
    query = re.fullmatch(r"nexmark/queries/(q\d+)\.py", file)
    if query and query[1] != "q12":
        return (_QUERIES, "-k", f"{query[1]}- and {_HARD}")
    return next(tests for beginning, tests in TESTS.items() if file.startswith(beginning))
