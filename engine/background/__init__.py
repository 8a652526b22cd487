"""Groups that run while their launcher does other things: asked, added to, and ended."""

from tokenring.faces import later

with later(__name__):
    from tokenring.engine.background.started import ANSWER_S, RunningGroup, start
