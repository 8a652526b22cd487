"""Collections as they are used: rows are loaded, then come and go in epochs, each awaited before the next."""

from tokenring.faces import later

with later(__name__):
    from tokenring.nexmark.bench.collections.imports import IMPORT, measured_imports
    from tokenring.nexmark.bench.collections.interactive import INTERACTIVE, measured_interactive
    from tokenring.nexmark.bench.collections.measured import measured
    from tokenring.nexmark.bench.collections.records import records
    from tokenring.nexmark.bench.collections.tables import cells, render
    from tokenring.nexmark.bench.collections.workloads import WORKLOADS, Workload, sized

__all__ = [
    "IMPORT",
    "INTERACTIVE",
    "WORKLOADS",
    "Workload",
    "cells",
    "measured",
    "measured_imports",
    "measured_interactive",
    "records",
    "render",
    "sized",
]
