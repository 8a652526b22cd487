"""What is compiled of an operator, or a stage, as Python makes it: the entry, its words, and how to help it."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tokenring.engine.errors import GraphError
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


class AtFirstMessage:
    """What a compiled operator's constructor returns whose logic is made when the first message comes, on this worker:
    one to which nothing comes then takes little memory. It has no tokens to begin with, so it must do nothing before.
    Of a worker's first operators (`MADE_AT_ONCE`) it is made at once, with tokens.

    make: makes the logic; it finds -1 where the slots of its first tokens would be, if it waited.
    view: what inspection shows until then.
    """

    __slots__ = ("make", "view")

    def __init__(self, make: Callable[[], Compiled], view: Callable[[], Any] | None = None) -> None:
        self.make = make
        self.view = view


CompiledConstructor = Callable[..., Compiled | AtFirstMessage]
"""`constructor(context)`, called once a worker."""


class CompiledStage:
    """What a stateless function is to the worker's inner loop.

    logic: an entry `(world, state)`, `state` the address of its words, that returns the message that it made, which is
    another one; 0 if no row is left; or -1 - n for an error of its own, about the row of the number in STAGE_ROW.
    state: its words, the engine's first: STAGE_MESSAGE, what is to go through it; its own begin at STAGE_WORDS.
    owners: what addresses in these point to, and must stay.
    explain: the exception for error n at a row of the message.
    has_texts: whether texts come out, or are made on the way.
    """

    __slots__ = ("explain", "has_texts", "logic", "owners", "state")

    def __init__(
        self,
        logic: Entry,
        state: np.ndarray,
        owners: Sequence[Any] = (),
        explain: Callable[[int, int], Exception] | None = None,
        has_texts: bool = False,
    ) -> None:
        self.logic = logic
        self.state = state
        self.owners = owners
        self.explain = explain
        self.has_texts = has_texts


def stage_of(function: Any) -> CompiledStage | None:
    """What a stateless function of batches is to the inner loop: it may have a method `compiled_stage() ->
    CompiledStage | None` that says so."""
    offered = getattr(function, "compiled_stage", None)
    stage: CompiledStage | None = None if offered is None else offered()
    return stage


def require_usable(compiled: Compiled, operator: str, outputs: int) -> None:
    """GraphError for a logic, or a state, that kernels would take for what it is not: they get mere addresses."""
    if not isinstance(compiled.logic, Entry):
        raise GraphError(
            f"operator {operator!r}: the logic is an entry, a function (world, me) that is decorated with @entry, "
            f"not {compiled.logic!r}"
        )
    state: Any = compiled.state
    is_array = isinstance(state, np.ndarray)
    if is_array and state.dtype == np.int64 and state.ndim == 1 and state.flags.carray and len(state) >= outputs:
        return
    found = type(state).__name__
    if is_array:
        strided = "" if state.flags.c_contiguous else "strided, "
        fixed = "" if state.flags.writeable else "read-only, "
        found = f"{strided}{fixed}{state.dtype} of shape {state.shape}"
    raise GraphError(
        f"operator {operator!r}: the state is a contiguous, writable array of int64 of at least as many words as "
        f"outputs, {outputs}, not {found}"
    )
