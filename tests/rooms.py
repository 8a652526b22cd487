"""The rooms of each package, in their order, and which room a module is in."""

from __future__ import annotations

from tests.imports import PACKAGES, read_tree

# Rooms, each importing those before it and no others, type-only imports counted. Files that lie beside rooms (errors)
# may be imported by all, and by their full names; rooms by their names alone.
ROOMS = {
    "shm": ("kernels", "kernels.making", "memory", "queues"),
    "engine": (
        *("times", "columns", "texts", "graph", "progress", "tokens", "native", "data", "running", "bridge", "explain"),
        *("declare", "cores", "budget", "worker", "ask", "install", "group", "background"),
    ),
    "operators": (
        *("migrate", "recovery", "leaving", "state.cells", "state", "state.moving", "expressions.machine"),
        *("expressions.stages", "expressions", "rows", "time", "mechanisms", "flow", "folds.sets", "folds.called"),
        *("folds", "folds.moving", "folds.own", "collections.words", "collections.refused"),
        *("collections.updates", "collections.compiled", "collections.totals", "collections.sharing"),
        *("collections.saved", "collections"),
        *("running", "sessions", "aggregates", "ranking", "joins.kept", "joins.compiled", "joins", "sources"),
        *("staging", "sinks", "capture", "graphs", "paper", "fluent"),
    ),
    "spark": (),
    "tools": ("system", "profile", "programs", "commands"),
    "nexmark": (
        *("events", "spark.jobs", "spark", "staging.foreign", "staging", "sql", "queries", "oracle", "measure", "run"),
        *("scale_out", "commands", "bench.parts", "bench.experiments"),
        *("bench.collections", "bench.migration", "bench"),
    ),
}

MODULES = read_tree(PACKAGES)
"""Every module of ours, by dotted name."""


def room_of(name: str) -> tuple[str, str]:
    """The package and the room of a module; "" for what lies beside the rooms."""
    package, *rest = name.split(".")[1:]
    if package not in ROOMS:
        return package, ""
    inner = ".".join(rest)
    fits = [room for room in ROOMS[package] if inner == room or inner.startswith(f"{room}.")]
    return package, max(fits, key=len, default="")
