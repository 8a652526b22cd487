"""A compiled operator's logic, as its constructor returns it: the entry, its words, and how to help it."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tokenring.shm.kernels import Entry


class Compiled:
    """What an operator runs instead of a Python function.

    logic: an entry `(world, me) -> status`.
    state: its int64 words, in which it finds its arrays by their addresses. The first ones, as many as it has outputs,
    become the slots of the tokens that it begins with.
    owners: what these addresses point to, and must stay.
    make_room: called when the logic returns NEEDS_ROOM; it makes arrays grow and writes their new addresses.
    explain: what an error of its own (below zero) means, with its three operands.
    view: what inspection shows of it.
    """

    __slots__ = ("explain", "logic", "make_room", "owners", "state", "view")

    def __init__(
        self,
        logic: Entry,
        state: np.ndarray,
        owners: Sequence[Any] = (),
        make_room: Callable[[], None] | None = None,
        explain: Callable[[int, tuple[int, int, int]], Exception] | None = None,
        view: Callable[[], Any] | None = None,
    ) -> None:
        self.logic = logic
        self.state = state
        self.owners = owners
        self.make_room = make_room
        self.explain = explain
        self.view = view
