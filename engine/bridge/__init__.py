"""Between Python's operators and compiled ones: messages each way, and what Python does for the inner loop."""

from tokenring.faces import later

with later(__name__):
    from tokenring.engine.bridge.compiled_part import CompiledPart
    from tokenring.engine.bridge.labels import LABEL_BYTES
