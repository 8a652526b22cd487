"""Workers that end in a running group: all bins go to others, then the worker is none of the group any more."""

from tokenring.faces import later

with later(__name__):
    from tokenring.operators.leaving.answering import Leaving
    from tokenring.operators.leaving.asking import end_worker
