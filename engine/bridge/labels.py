"""What people call compiled operators, at addresses: by that of its label a worker says in shared memory which runs.

Who samples a worker reads the text there once, whenever it sees an address for the first time; so a label is never
changed or freed, and one text has one address.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from tokenring.shm.kernels import address_of

LABEL_BYTES = 512
_MOST = 4096  # texts, so that dataflows under ever new names do not take ever more memory
_OTHERS = "other operators"


class Labels:
    """The labels of one worker."""

    def __init__(self) -> None:
        self._known: dict[str, np.ndarray] = {}

    def address(self, operator: str, dataflow: str, logic: Callable[..., Any]) -> int:
        """Where LABEL_BYTES say, in UTF-8 and with zeros behind, an operator's name, as much of it as there is room
        for, and in two more lines the file and the line of its logic."""
        code = logic.__code__
        name, place = f"operator {operator!r} of dataflow {dataflow!r}", f"\n{code.co_filename}\n{code.co_firstlineno}"
        text = name + place
        if text not in self._known and len(self._known) >= _MOST:
            name, place = _OTHERS, "\n\n0"
            text = name + place
        if text not in self._known:
            words = np.zeros(LABEL_BYTES // 8, np.int64)
            behind = place.encode(errors="replace")[-LABEL_BYTES // 2 :]
            told = name.encode(errors="replace")[: LABEL_BYTES - 1 - len(behind)] + behind
            words.view(np.uint8)[: len(told)] = np.frombuffer(told, np.uint8)
            self._known[text] = words
        return address_of(self._known[text])
