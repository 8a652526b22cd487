"""A worker: it builds dataflows, agrees with its peers, and steps."""

from tokenring.faces import later

with later(__name__):
    from tokenring.engine.worker.agreement import first_difference
    from tokenring.engine.worker.config import FORK, FORKSERVER, SPAWN, Config, default_workers, note, usable_cores
    from tokenring.engine.worker.worker import Worker
