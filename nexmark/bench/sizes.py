"""What each experiment sweeps where no option says it: with --quick, and without."""

from __future__ import annotations

from typing import Any, Final

from tokenring.nexmark.bench.experiments import SOURCES
from tokenring.nexmark.commands import MECHANISMS

EXCHANGING: Final = tuple(name for name in MECHANISMS if name != "watermarks-P")  # Q4 and Q7 exchange rows
QUERIES: Final = ("q4", "q7")
WORKLOADS: Final = (
    "arrange, one epoch", "arrange", "count", "min", "join", "bfs", "components", "strong", "page rank", "import",
    "interactive",
)  # fmt: skip
"""Of collections."""
MOVING: Final = ("key-count", "q3", "q4", "q5", "q6", "q7", "q8")
"""Workloads of which state moves."""
PLANS: Final = ("none", "all_at_once", "batched:16", "fluid", "optimized")

PAPER: Final = ("wordcount", "scaling", "chain", "idle", "nexmark")

_IDLE: Final = ((1000, 10), (1000, 100), (1000, 1000), (100, 12_000))  # dataflows, operators in each
OPERATOR_KINDS: Final = ("real", "fused", "always")
_OVERLOAD: Final = 64e6
_COMMON: Final[dict[str, dict[str, Any]]] = {
    "wordcount": {"mechanism": MECHANISMS, "source": SOURCES},
    "scaling": {"mechanism": MECHANISMS, "source": SOURCES[:1], "rate_per_worker": (1e6,)},
    "chain": {"mechanism": MECHANISMS},
    "idle": {"sizes": _IDLE, "operator_kind": ("real",), "workers": (1,)},
    "nexmark": {"mechanism": EXCHANGING, "source": SOURCES, "query": QUERIES},
    "collections": {"workload": WORKLOADS},
    "migration": {"workers": (2,)},
    "flow": {"workers": (1, 2)},
}
QUICK: Final[dict[str, dict[str, Any]]] = {
    "wordcount": {"quantum_log2": (8, 16, 20), "rate": (1e6, 8e6), "duration": 1.2},
    "scaling": {"quantum_log2": (8, 16), "duration": 1.2},
    "chain": {"operators": (8, 64, 256), "duration": 0.5},
    "idle": {"steps": 100},
    "nexmark": {"rate": (1e6, 4e6), "duration": 1.6},
    "collections": {"scale": 0.01, "seconds": 0.2},
    "migration": {
        "workload": MOVING[:1], "plan": ("all_at_once", "fluid"), "keys_log2": (12,), "bins_log2": (4,), "rate": 1e5,
        "seconds": 0.3,
    },
    "flow": {"rounds": 1, "rows": 100, "words": 100_000},
}  # fmt: skip
WHOLE: Final[dict[str, dict[str, Any]]] = {
    "wordcount": {"quantum_log2": (8, 10, 12, 14, 16, 18, 20), "rate": (1e6, 8e6, _OVERLOAD), "duration": 3.0},
    "scaling": {"quantum_log2": (8, 16, 20), "duration": 3.0},
    "chain": {"operators": (8, 16, 32, 64, 128, 256), "duration": 2.0},
    "idle": {"steps": 500},
    "nexmark": {"rate": (1e6, 4e6, 8e6), "duration": 3.0},
    "collections": {"scale": 1.0, "seconds": 3.0},
    "migration": {
        "workload": MOVING, "plan": PLANS, "keys_log2": (20,), "bins_log2": (8,), "rate": 1e6, "seconds": 2.5
    },
    "flow": {"rounds": 5, "rows": 10_000, "words": 40_000_000},
}  # fmt: skip
_OVER: Final = ("scaling", "chain", "nexmark")  # with twice as many workers as cores, too: such cells are marked
_UNSAID: Final = ("mechanism", "operator_kind", "query", "sizes", "source", "workload", "plan")  # their options say it


def chosen(name: str, quick: bool, options: dict[str, Any]) -> dict[str, Any]:
    """The sweep of one experiment: what the options say, else its defaults."""
    from tokenring.engine.worker import default_workers

    cores = default_workers()
    workers = {1, cores, 2 * cores} if name in _OVER else {1, cores}
    defaults = {"workers": tuple(sorted(workers)), **_COMMON[name], **(QUICK if quick else WHOLE)[name]}
    return {option: options.get(option) or default for option, default in defaults.items()}


def said(name: str) -> str:
    """What is swept where the options do not say, in words."""

    def in_words(sweep: dict[str, Any]) -> str:
        parts = []
        for option, value in sweep.items():
            if option not in _UNSAID:
                values = value if isinstance(value, tuple) else (value,)
                parts.append(f"{option.replace('_', '-')} {' '.join(f'{one:g}' for one in values)}")
        return ", ".join(parts)

    return f"Defaults: {in_words(_COMMON[name] | WHOLE[name])}; with --quick: {in_words(QUICK[name])}."
