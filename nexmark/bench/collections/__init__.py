"""Collections as they are used: rows are loaded, then come and go in epochs, each awaited before the next."""

from tokenring.faces import later

with later(__name__):
    from tokenring.nexmark.bench.collections.imports import IMPORT
    from tokenring.nexmark.bench.collections.interactive import INTERACTIVE
    from tokenring.nexmark.bench.collections.measured import COLLECTIONS
    from tokenring.nexmark.bench.collections.records import records
    from tokenring.nexmark.bench.collections.workloads import WORKLOADS, Workload, sized
