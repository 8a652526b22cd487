"""Capture a stream to files, data and progress, and replay it, with the same frontiers, on any number of workers.

capture  writes what arrives at it, and how its frontier moves
replay   a source that does the same again
"""

from tokenring.faces import later

with later(__name__):
    from tokenring.operators.capture.capture import capture
    from tokenring.operators.capture.replay import replay
