"""Which tests are asked about a file: those about it, so that a mutant takes seconds and not the whole suite."""

from __future__ import annotations

import re
from pathlib import Path

_QUERIES = "tests/nexmark/queries/test_queries.py"
_HARD = "(edges or elsewhere)"  # events that are generated notice less, and take longer
_EMITTED = "tests/shm/memory/test_emitted_order.py"
_CONTRACTS = "tests/operators/test_contracts.py"
_REJECTED = "tests/operators/collections/test_rejected_rows.py"
_MODELS = ("tests/engine/safety/test_safety.py", "tests/engine/running/test_coming_and_going.py")
_BENCHMARKS = tuple([f"tests/test_benchmark_{some}.py" for some in (
    "all", "collections", "earlier", "engine", "parts", "references", "road", "state",
    "worth",
)])  # fmt: skip
_COMPILED = ("tests/engine/native", "tests/engine/data", "tests/engine/running",
    "tests/operators/rows", "tests/operators/sources", "tests/operators/flow")  # fmt: skip
_STEPPED = tuple([f"tests/engine/{room}" for room in (  # whose tests start few processes
    "columns", "cores", "data", "declare", "graph", "native", "progress", "running", "safety", "times", "tokens",
    "worker",
)])  # fmt: skip

# The first pattern that a file's path begins with says which.
TESTS: dict[str, tuple[str, ...]] = {
    "shm/queues/data_queue": ("tests/shm/queues/test_data_queue.py", _EMITTED, "tests/engine/data/test_channels.py"),
    "shm/queues/progress_ring": ("tests/shm/queues/test_progress_ring.py",
        _EMITTED, "tests/engine/safety/test_safety.py"),
    "shm/queues/parking": ("tests/shm/queues/test_parking.py", _EMITTED),
    "shm/memory/atomics": ("tests/shm/memory/test_atomics.py",),
    "shm/queues/text": ("tests/engine/data/test_text_channels.py", "tests/engine/columns/test_batch.py"),
    "shm/": ("tests/shm",),
    "engine/progress/change_log": ("tests/engine/progress/test_change_log.py", "tests/engine/tokens/test_tokens.py"),
    "engine/tokens/": ("tests/engine/tokens", "tests/engine/progress/test_change_log.py"),
    "engine/data/channel": ("tests/engine/declare/test_going_round.py", "tests/engine/data/test_channels.py"),
    "engine/progress/counts": ("tests/engine/progress/test_tracker.py",
        "tests/engine/worker/test_checked_progress.py", *_MODELS),
    "engine/progress/many_times": ("tests/engine/progress/test_tracker.py",
        "tests/engine/progress/test_many_times.py", *_MODELS),
    "engine/progress/nested": ("tests/engine/progress/test_nested_tracker.py",
        "tests/engine/declare/test_loop_frontiers.py", *_MODELS),
    "engine/progress/propagation": ("tests/engine/progress/test_tracker.py",
        "tests/engine/running/test_scheduling.py", *_MODELS),
    "engine/columns/text": ("tests/engine/columns/test_batch.py", "tests/engine/data/test_text_channels.py"),
    "engine/data/text": ("tests/engine/columns/test_batch.py", "tests/engine/data/test_text_channels.py"),
    "engine/columns/strings": ("tests/engine/columns/test_batch.py", "tests/engine/data/test_text_channels.py"),
    "engine/data/burst": ("tests/engine/data/test_burst.py", "tests/engine/data/test_channels.py"),
    "engine/progress/exchange": ("tests/engine/worker/test_checked_progress.py",
        "tests/engine/worker/test_waiting.py", *_MODELS),
    "engine/progress/along_edges": ("tests/engine/progress/test_tracker.py", *_MODELS),
    "engine/graph/edges": ("tests/engine/progress/test_tracker.py", *_MODELS),
    "engine/progress/waking": ("tests/engine/progress/test_tracker.py",
        "tests/engine/running/test_scheduling.py", *_MODELS),
    "engine/progress/pool": ("tests/engine/progress/test_tracker.py", "tests/engine/progress/test_many_times.py"),
    "engine/data/sifted": (_REJECTED,),
    "engine/native/messages": (*_COMPILED, _REJECTED),
    "engine/native/memory": ("tests/engine/data/test_burst.py", "tests/engine/native"),
    "engine/native/rights": (*_COMPILED, "tests/engine/safety"),
    "engine/native/crossing": (*_COMPILED, "tests/engine/safety"),
    "engine/native/signals": ("tests/engine/data/test_signals.py", "tests/operators/mechanisms"),
    "engine/native/edges": ("tests/operators/rows/test_compiled_stages.py", "tests/engine/native"),
    "engine/running/under_way": ("tests/operators/flow", "tests/operators/sources"),
    "engine/running/probe_group": ("tests/engine/running/test_input_and_probe_groups.py",),
    "engine/ask": ("tests/engine/ask", "tests/engine/explain", "tests/engine/install"),
    "engine/background": ("tests/engine/background",),
    "engine/bridge/labels": ("tests/engine/ask/test_running_now.py", "tests/tools/profile"),
    "engine/bridge": (*_COMPILED, "tests/engine/progress/test_finished.py"),
    "engine/native": (*_COMPILED, "tests/engine/ask/test_running_now.py"),
    "engine/budget": ("tests/engine/budget",),
    "engine/explain": ("tests/engine/explain", "tests/engine/ask", "tests/tools/commands"),
    "engine/group": ("tests/engine/group", "tests/crash"),
    "engine/install": ("tests/engine/install", "tests/engine/ask", "tests/engine/explain"),
    "engine/graph/graph": (*_STEPPED, "tests/operators/migrate/test_moving.py"),
    "engine/declare/part": ("tests/operators/flow",),
    "engine/declare/scope": ("tests/engine/declare", "tests/engine/graph"),
    "engine/worker/dozing": ("tests/operators/migrate/test_idle.py",),
    "engine/worker/build": (*_STEPPED, "tests/engine/install"),
    "engine/": _STEPPED,
    "operators/folds": ("tests/operators/folds", _CONTRACTS, "tests/operators/aggregates",
        "tests/operators/state/test_reserved.py"),
    "operators/running": (_CONTRACTS, "tests/operators/running", "tests/operators/aggregates"),
    "operators/aggregates/window_rows": (_CONTRACTS, "tests/operators/aggregates", "tests/operators/ranking",
        "tests/operators/migrate"),
    "operators/aggregates": (_CONTRACTS, "tests/operators/aggregates", "tests/operators/paper/test_arrange.py"),
    "operators/ranking": (_CONTRACTS, "tests/operators/ranking", "tests/operators/aggregates"),
    "operators/sessions": (_CONTRACTS, "tests/operators/aggregates"),
    "operators/time/clock_table": ("tests/operators/time/test_zones.py",),
    "operators/joins/compiled/keeping": (_CONTRACTS, "tests/operators/joins", "tests/operators/migrate/test_moving.py"),
    "operators/joins/compiled/rights": ("tests/operators/joins", "tests/random_programs"),
    "operators/expressions/stages": ("tests/operators/rows/test_text_stages.py",
        "tests/operators/rows/test_compiled_stages.py"),
    "operators/expressions": ("tests/operators/expressions",),
    "operators/joins": (_CONTRACTS, "tests/operators/joins"),
    "operators/graphs": ("tests/operators/graphs",),
    "operators/state/heap": ("tests/operators/aggregates/test_sessions.py", "tests/operators/joins"),
    "operators/paper/timing_wheel": ("tests/operators/paper/test_timing_wheel.py",),
    "operators/paper/intervals": ("tests/operators/paper/test_best_offers.py",),
    "operators/state/keys_kernels": ("tests/operators/state/test_keys.py",),
    "operators/state/cells": ("tests/operators/state/test_keys.py",),
    "operators/paper/average_of_last": ("tests/operators/paper/test_average_of_last.py",),
    "operators/paper/running_average": ("tests/operators/paper/test_averages.py",),
    "operators/paper/arrange": ("tests/operators/paper/test_arrange.py",),
    "operators/state/row_store": ("tests/operators/joins", "tests/operators/aggregates/test_windows.py"),
    "operators/rows/known_streams": (
        "tests/operators/staging/test_unique_columns.py",
        "tests/operators/joins/test_partners.py",
    ),
    "operators/rows/key_columns": ("tests/operators/aggregates/test_keys_by_expressions.py",),
    "operators/rows/projection": ("tests/operators/rows", "tests/operators/expressions/test_names_of_columns.py",
        "tests/operators/test_structure.py"),
    "operators/rows": ("tests/operators/rows", "tests/operators/test_structure.py"),
    "operators/flow": ("tests/operators/flow",),
    "operators/sinks/for_each": ("tests/operators/recovery/test_rows_that_wait.py", "tests/operators/sinks"),
    "operators/sinks": ("tests/operators/sinks",),
    "operators/sources": ("tests/operators/sources",),
    "operators/collections/sharing": ("tests/operators/collections", "tests/tools/commands/test_query.py"),
    "operators/collections": ("tests/operators/collections",),
    "operators/migrate/answering": ("tests/operators/leaving/test_given_up.py", "tests/tools/commands/test_migrate.py"),
    "operators/migrate": ("tests/operators/migrate", "tests/tools/commands/test_migrate.py",
        "tests/operators/recovery/test_bins.py"),
    "operators/capture": ("tests/operators/capture",),
    "operators/fluent": ("tests/operators/fluent", "tests/operators/test_structure.py"),
    "operators/leaving": ("tests/operators/leaving", "tests/operators/migrate"),
    "operators/mechanisms/emit": ("tests/operators/aggregates/test_emit.py",),
    "operators/mechanisms": ("tests/operators/mechanisms", _CONTRACTS, "tests/nexmark/run/test_mechanisms.py"),
    "operators/paper": ("tests/operators/paper", "tests/nexmark/bench/experiments"),
    "operators/recovery": ("tests/operators/recovery", "tests/operators/sinks", "tests/tools/commands"),
    "operators/staging": ("tests/operators/staging", "tests/operators/sources", "tests/operators/capture"),
    "operators/state/moving/rows_by_time": ("tests/operators/test_structure.py", "tests/operators/sinks",
        "tests/operators/migrate", "tests/operators/recovery/test_rows_that_wait.py",
        "tests/operators/recovery/test_databases_by_key.py"),
    "operators/state/moving": ("tests/operators/migrate", "tests/operators/state"),
    "operators/state": ("tests/operators/state", _CONTRACTS, "tests/operators/aggregates", "tests/operators/joins"),
    "operators/time/finished": ("tests/operators/mechanisms/test_rounds.py", "tests/operators/joins/test_look_up.py"),
    "operators/time/delay": ("tests/operators/test_structure.py", "tests/operators/migrate",
        "tests/operators/recovery/test_rows_that_wait.py"),
    "operators/time": ("tests/operators/time", _CONTRACTS, "tests/operators/aggregates", "tests/operators/joins"),
    "operators/": ("tests/operators",),
    "nexmark/queries/q12": ("tests/nexmark/queries/test_processing_time.py",),
    "nexmark/queries/ranks": (_QUERIES, "-k", f"(q15- or q16- or q17-) and {_HARD}"),
    "nexmark/queries/query": (_QUERIES,),
    "nexmark/bench/experiments/word": ("tests/nexmark/bench/experiments/test_word_source.py",),
    "nexmark/run/cursors": ("tests/nexmark/run/test_source.py",),
    "nexmark/run/feed": ("tests/nexmark/run/test_source.py",),
    "nexmark/measure/latency": ("tests/nexmark/measure/test_latency.py",),
    "nexmark/oracle/row_hash": ("tests/nexmark/oracle/test_compare.py",),
    "nexmark/bench/experiments": ("tests/nexmark/bench",),
    "nexmark/bench": ("tests/nexmark/bench", *_BENCHMARKS),
    "nexmark/commands/run_spark": ("tests/nexmark/scale_out",),
    "nexmark/commands": ("tests/nexmark/commands",),
    "nexmark/events": ("tests/nexmark/events", "tests/nexmark/oracle", _QUERIES),
    "nexmark/measure": ("tests/nexmark/measure", "tests/nexmark/run"),
    "nexmark/oracle": ("tests/nexmark/oracle", "tests/nexmark/run/test_answers.py"),
    "nexmark/run/on_behalf": ("tests/nexmark/scale_out/test_engine.py", "tests/nexmark/commands/test_run.py"),
    "nexmark/run": ("tests/nexmark/run", "tests/nexmark/commands"),
    "nexmark/scale_out/stage": ("tests/spark",),
    "nexmark/scale_out": ("tests/nexmark/scale_out", "tests/nexmark/test_scale.py"),
    "nexmark/staging": ("tests/nexmark/staging",),
    "nexmark/": ("tests/nexmark",),
}  # fmt: skip


def tests_of(file: str) -> tuple[str, ...]:
    """pytest's arguments for the tests about a file."""
    query = re.fullmatch(r"nexmark/queries/(q\d+)\.py", file)
    if query and query[1] != "q12":
        return (_QUERIES, "-k", f"{query[1]}- and {_HARD}")
    return next(tests for beginning, tests in TESTS.items() if file.startswith(beginning))


def in_turn(file: str, root: Path) -> tuple[tuple[str, ...], ...]:
    """The same, as it is asked: first those that mirror the file's room, which notice most, and soon, then the rest."""
    tests, room = tests_of(file), f"tests/{Path(file).parent}"
    is_part = tests != (room,) and any([f"{room}/".startswith(f"{one}/") for one in tests])
    if not is_part or not (root / room).is_dir():
        return (tests,)
    return (room,), (*[one for one in tests if one != room], f"--ignore={room}")
