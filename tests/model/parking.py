"""A model of parking: workers that look for work and sleep, and wakers that publish work and look for sleepers.

Stores wait in a store buffer until the processor writes them back, at any later time: that is what x86 does, and what
the fences are for. An atomic operation and a fence empty the buffer of whoever executes them. Who sleeps is a set in
one word, changed by atomic operations. A semaphore is a counter. The wait's time limit is left out: the protocol must
do without it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple


class State(NamedTuple):
    """Shared words, each process's buffered store (None: empty), and where everybody is."""

    work: int  # published in shared memory
    parked: frozenset[int]
    semaphores: tuple[int, ...]
    buffered_work: tuple[bool, ...]  # a waker's store of work that is still in its buffer
    buffered_parked: tuple[frozenset[int] | None, ...]  # a parker's store of the word, if it is no atomic operation
    parkers: tuple[str, ...]
    seen: tuple[frozenset[int], ...]  # the word as a parker has loaded it, if it changes it in two steps
    wakers: tuple[tuple[str, int], ...]  # where it is, and which parker it is at
    taken: tuple[int, ...]


class Rules(NamedTuple):
    """What is mutated: "", "no fence in waker", "no fence in parker", "no second look", "wakes without posting",
    "torn word" (a parker loads the word, and stores it with its own flag)."""

    wakers: int
    mutation: str = ""
    parkers: int = 1


def start(rules: Rules) -> State:
    """Nothing published, everybody about to begin."""
    nobody: frozenset[int] = frozenset()
    return State(
        0, nobody, (0,) * rules.parkers, (False,) * rules.wakers, (None,) * rules.parkers, ("work",) * rules.parkers,
        (nobody,) * rules.parkers, (("publish", 0),) * rules.wakers, (0,) * rules.parkers,
    )  # fmt: skip


def successors(rules: Rules, state: State) -> Iterator[tuple[str, State]]:
    """Every step possible now."""
    yield from _write_backs(state)
    for number in range(rules.parkers):
        yield from _parker(rules, state, number)
    for number in range(rules.wakers):
        yield from _waker(rules, state, number)


def _write_backs(state: State) -> Iterator[tuple[str, State]]:
    for number, word in enumerate(state.buffered_parked):
        if word is not None:
            yield (
                f"parker {number}'s store of `parked` becomes visible",
                state._replace(parked=word, buffered_parked=_put(state.buffered_parked, number, None)),
            )
    for number, buffered in enumerate(state.buffered_work):
        if buffered:
            yield f"waker {number}'s work becomes visible", _flushed(state, number)


def _flushed(state: State, number: int) -> State:
    if not state.buffered_work[number]:
        return state
    return state._replace(work=state.work + 1, buffered_work=_put(state.buffered_work, number, False))


def _put(items: tuple, index: int, item: object) -> tuple:  # type: ignore[type-arg]
    return (*items[:index], item, *items[index + 1 :])


def _parker(rules: Rules, state: State, number: int) -> Iterator[tuple[str, State]]:
    at, me = state.parkers[number], f"parker {number}"

    def then(following: str, changed: State = state) -> State:
        return changed._replace(parkers=_put(changed.parkers, number, following))

    if at == "work":
        if state.work > state.taken[number]:
            yield f"{me} takes work", state._replace(taken=_put(state.taken, number, state.work))
        else:
            yield f"{me} finds no work", then("announce")
    elif at == "announce":
        if rules.mutation == "no fence in parker":
            word = state.parked | {number}
            yield f"{me} sets its flag (buffered)", then("look", _buffer(state, number, word))
        elif rules.mutation == "torn word":
            yield f"{me} loads the flags", then("tear", state._replace(seen=_put(state.seen, number, state.parked)))
        else:
            yield f"{me} sets its flag and fences", then("look", state._replace(parked=state.parked | {number}))
    elif at == "tear":
        yield f"{me} stores the flags and fences", then("look", state._replace(parked=state.seen[number] | {number}))
    elif at == "look":
        if rules.mutation != "no second look" and state.work > state.taken[number]:
            yield f"{me} looks and sees work", then("awake")
        else:
            yield f"{me} looks and sees nothing", then("wait")
    elif at == "wait":
        if state.semaphores[number] > 0:
            left = _put(state.semaphores, number, state.semaphores[number] - 1)
            yield f"{me} wakes", then("awake", state._replace(semaphores=left))
    elif at == "awake":
        buffered = _put(state.buffered_parked, number, None)
        parked = state.parked if state.buffered_parked[number] is None else state.buffered_parked[number]
        assert parked is not None
        yield f"{me} clears its flag", then("work", state._replace(parked=parked - {number}, buffered_parked=buffered))


def _buffer(state: State, number: int, word: frozenset[int]) -> State:
    return state._replace(buffered_parked=_put(state.buffered_parked, number, word))


def _waker(rules: Rules, state: State, number: int) -> Iterator[tuple[str, State]]:
    at, sleeper = state.wakers[number]
    me = f"waker {number}"

    def then(following: str, changed: State = state, sleeper: int = sleeper) -> State:
        if following == "look" and sleeper == rules.parkers:
            following = "done"
        return changed._replace(wakers=_put(changed.wakers, number, (following, sleeper)))

    if at == "publish":
        changed = state._replace(buffered_work=_put(state.buffered_work, number, True))
        yield f"{me} stores work (buffered)", then("fence", changed)
    elif at == "fence":
        changed = state if rules.mutation == "no fence in waker" else _flushed(state, number)
        yield f"{me} fences", then("look", changed)
    elif at == "look":
        if sleeper in state.parked:
            yield f"{me} sees the flag of {sleeper}", then("clear")
        else:
            yield f"{me} sees no flag of {sleeper}", then("look", state, sleeper + 1)
    elif at == "clear":
        flushed = _flushed(state, number)
        if sleeper not in flushed.parked:
            yield f"{me} finds the flag of {sleeper} cleared", then("look", flushed, sleeper + 1)
        elif rules.mutation == "wakes without posting":
            cleared = flushed._replace(parked=flushed.parked - {sleeper})
            yield f"{me} clears the flag of {sleeper}, posts nothing", then("look", cleared, sleeper + 1)
        else:
            cleared = flushed._replace(parked=flushed.parked - {sleeper})
            yield f"{me} clears the flag of {sleeper}", then("post", cleared)
    elif at == "post":
        posted = _put(state.semaphores, sleeper, state.semaphores[sleeper] + 1)
        yield f"{me} posts to {sleeper}", then("look", state._replace(semaphores=posted), sleeper + 1)


def forbidden(rules: Rules, state: State) -> str:
    """Posts never pile up: each undertaking to wake posts once."""
    most = max(state.semaphores)
    return f"{most} posts for one sleeper" if most > rules.wakers else ""


def lost_wake_up(rules: Rules, state: State) -> str:
    """At the end everybody has taken everything in; a sleeper with work before it is the bug."""
    for number, taken in enumerate(state.taken):
        if taken < rules.wakers:
            return f"parker {number} sleeps for ever, {rules.wakers - taken} piece(s) of work lie there"
    return ""
