"""A model of a receiver's bell: senders that commit to queues of their own and ring, and a receiver that looks into the
queues only if the bell says what it has not heard yet.

A sender's stores wait in a buffer and reach memory in any order, save that a release follows all that were before it
and stores to one word keep theirs: that is what ARM64 allows. Memory is one for all, as it is on the processors that
are not refused. Loads happen in their order, but for the mutation that lets those of the queues go ahead of the bell's.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

UNHEARD = (-1, -1)
SILENT = (0, -1)
Bell = tuple[int, int]  # position, sender


class Rules(NamedTuple):
    """How many messages each sender commits, one at a time; the most of one queue in one look; what is mutated.

    Mutations: "rings first", "rings plainly", "hears plainly", "hears late" (what the bell says after the look),
    "forgets leftovers", "no position" and "no sender" (in what is rung), "clears" (one value, which the receiver takes
    away).
    """

    messages: tuple[int, ...]
    share: int = 2
    mutation: str = ""


class Store(NamedTuple):
    """One that is not visible yet: to a queue's write position (its sender), or the bell (-1)."""

    word: int
    value: int | Bell
    is_release: bool


class State(NamedTuple):
    """Shared words, what is buffered (the receiver's last), and where everybody is."""

    positions: tuple[int, ...]
    bell: Bell
    buffers: tuple[tuple[Store, ...], ...]
    written: tuple[int, ...]  # messages whose stores a sender has made
    owes: tuple[bool, ...]  # the second of the two stores
    heard: Bell
    look: tuple[int, Bell, tuple[int, ...]] | None  # the queue it is at, what the bell said, positions loaded early
    left: bool
    taken: tuple[int, ...]


def start(rules: Rules) -> State:
    """Nothing sent, nothing heard."""
    senders = len(rules.messages)
    none = (0,) * senders
    return State(none, SILENT, ((),) * (senders + 1), none, (False,) * senders, SILENT, None, False, none)


def successors(rules: Rules, state: State) -> Iterator[tuple[str, State]]:
    """Every step possible now."""
    for owner, buffer in enumerate(state.buffers):
        for at, store in enumerate(buffer):
            before = buffer[:at]
            if (store.is_release and before) or any(earlier.word == store.word for earlier in before):
                continue
            yield _visible(state, owner, at)
    for number in range(len(rules.messages)):
        yield from _sender(rules, state, number)
    yield from _receiver(rules, state)


def _put(items: tuple, index: int, item: object) -> tuple:  # type: ignore[type-arg]
    return (*items[:index], item, *items[index + 1 :])


def _visible(state: State, owner: int, at: int) -> tuple[str, State]:
    buffer = state.buffers[owner]
    store = buffer[at]
    changed = state._replace(buffers=_put(state.buffers, owner, (*buffer[:at], *buffer[at + 1 :])))
    if store.word < 0:
        return f"the bell says {store.value}", changed._replace(bell=store.value)
    return f"position {store.value} of {owner}", changed._replace(positions=_put(state.positions, owner, store.value))


def _store(state: State, owner: int, store: Store) -> State:
    return state._replace(buffers=_put(state.buffers, owner, (*state.buffers[owner], store)))


def _sender(rules: Rules, state: State, number: int) -> Iterator[tuple[str, State]]:
    position = state.written[number] + (not state.owes[number])
    if position > rules.messages[number]:
        return
    commits = Store(number, position, is_release=True)
    value = (
        0 if rules.mutation == "no position" else 1 if rules.mutation == "clears" else position,
        0 if rules.mutation in ("no sender", "clears") else number,
    )
    rings = Store(-1, value, is_release=rules.mutation != "rings plainly")
    first, second = (rings, commits) if rules.mutation == "rings first" else (commits, rings)
    if state.owes[number]:
        done = _store(state, number, second)
        yield f"sender {number} goes on with {position}", done._replace(owes=_put(state.owes, number, False))
    else:
        begun = _store(state, number, first)._replace(owes=_put(state.owes, number, True))
        yield f"sender {number} begins {position}", begun._replace(written=_put(state.written, number, position))


def _receiver(rules: Rules, state: State) -> Iterator[tuple[str, State]]:
    if state.look is None:
        if rules.mutation == "hears plainly":
            yield "receiver loads the positions early", state._replace(look=(-1, SILENT, state.positions))
        elif state.bell != (SILENT if rules.mutation == "clears" else state.heard):
            yield from _hear(rules, state, ())
        return
    at, said, early = state.look
    if at < 0:
        if state.bell == state.heard:
            yield "receiver hears nothing new", state._replace(look=None)
        else:
            yield from _hear(rules, state, early)
    elif at < len(rules.messages):
        position = early[at] if early else state.positions[at]
        taken = max(state.taken[at], min(position, state.taken[at] + rules.share))
        following = state._replace(look=(at + 1, said, early), taken=_put(state.taken, at, taken))
        yield f"receiver takes {taken} of {at}", following._replace(left=state.left or taken < position)
    else:
        heard = state.bell if rules.mutation == "hears late" else said
        if state.left and rules.mutation != "forgets leftovers":
            heard = UNHEARD
        yield f"receiver has heard {heard}", state._replace(look=None, heard=heard, left=False)


def _hear(rules: Rules, state: State, early: tuple[int, ...]) -> Iterator[tuple[str, State]]:
    changed = _store(state, len(rules.messages), Store(-1, SILENT, False)) if rules.mutation == "clears" else state
    yield f"receiver hears {state.bell}", changed._replace(look=(0, state.bell, early))


def forbidden(rules: Rules, state: State) -> str:
    """Nothing is taken that was not committed."""
    beyond = [number for number, taken in enumerate(state.taken) if taken > state.positions[number]]
    return f"messages of {beyond} were taken before they came" if beyond else ""


def resting(rules: Rules, state: State) -> bool:
    """Whether nobody has anything to do but to look in vain."""
    if any(state.buffers) or any(state.owes) or state.written != rules.messages:
        return False
    return state.look is None and state.bell == (SILENT if rules.mutation == "clears" else state.heard)


def unheard(rules: Rules, state: State) -> str:
    """At rest: all that was committed has been taken."""
    if state.taken == rules.messages:
        return ""
    return f"the receiver has heard {state.heard}, and of {rules.messages} only {state.taken} came"
