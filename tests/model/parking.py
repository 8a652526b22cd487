"""A model of parking: a worker that looks for work and sleeps, and wakers that publish work and look for sleepers.

Stores wait in a store buffer until the processor writes them back, at any later time: that is what x86 does, and what
the
fences are for. A compare-exchange and a fence empty the buffer of whoever executes them. A semaphore is a counter.
The wait's
time limit is left out: the protocol must do without it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple


class State(NamedTuple):
    """Shared words, each process's buffered store (None: empty), and where everybody is."""

    work: int  # published in shared memory
    parked: int
    semaphore: int
    buffered_work: tuple[bool, ...]  # a waker's store of work that is still in its buffer
    buffered_parked: int | None
    parker: str
    wakers: tuple[str, ...]
    taken: int


class Rules(NamedTuple):
    """What is mutated: "", "no fence in waker", "no fence in parker", "no second look", "wakes without posting"."""

    wakers: int
    mutation: str = ""


def start(rules: Rules) -> State:
    """Nothing published, everybody about to begin."""
    return State(0, 0, 0, (False,) * rules.wakers, None, "work", ("publish",) * rules.wakers, 0)


def successors(rules: Rules, state: State) -> Iterator[tuple[str, State]]:
    """Every step possible now."""
    yield from _write_backs(state)
    yield from _parker(rules, state)
    for number in range(rules.wakers):
        yield from _waker(rules, state, number)


def _write_backs(state: State) -> Iterator[tuple[str, State]]:
    if state.buffered_parked is not None:
        yield (
            "the parker's store of `parked` becomes visible",
            state._replace(parked=state.buffered_parked, buffered_parked=None),
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


def _parker(rules: Rules, state: State) -> Iterator[tuple[str, State]]:
    if state.parker == "work":
        if state.work > state.taken:
            yield "parker takes work", state._replace(taken=state.work)
        else:
            yield "parker finds no work", state._replace(parker="announce")
    elif state.parker == "announce":
        if rules.mutation == "no fence in parker":
            yield "parker stores parked = 1 (buffered)", state._replace(buffered_parked=1, parker="look")
        else:
            yield "parker sets parked = 1 and fences", state._replace(parked=1, buffered_parked=None, parker="look")
    elif state.parker == "look":
        if rules.mutation != "no second look" and state.work > state.taken:
            yield "parker looks and sees work", state._replace(parker="awake")
        else:
            yield "parker looks and sees nothing", state._replace(parker="wait")
    elif state.parker == "wait":
        if state.semaphore > 0:
            yield "parker wakes", state._replace(semaphore=state.semaphore - 1, parker="awake")
    elif state.parker == "awake":
        yield "parker stores parked = 0 (buffered)", state._replace(buffered_parked=0, parker="work")


def _waker(rules: Rules, state: State, number: int) -> Iterator[tuple[str, State]]:
    at = state.wakers[number]

    def then(following: str, changed: State = state) -> State:
        return changed._replace(wakers=_put(changed.wakers, number, following))

    if at == "publish":
        yield (
            f"waker {number} stores work (buffered)",
            then("fence", state._replace(buffered_work=_put(state.buffered_work, number, True))),
        )
    elif at == "fence":
        changed = state if rules.mutation == "no fence in waker" else _flushed(state, number)
        yield f"waker {number} fences", then("look", changed)
    elif at == "look":
        yield f"waker {number} sees parked = {state.parked}", then("exchange" if state.parked == 1 else "done")
    elif at == "exchange":
        flushed = _flushed(state, number)
        if rules.mutation == "wakes without posting":
            yield f"waker {number} clears parked, posts nothing", then("done", flushed._replace(parked=0))
        elif flushed.parked == 1:
            yield f"waker {number} exchanges parked 1 -> 0", then("post", flushed._replace(parked=0))
        else:
            yield f"waker {number} finds parked 0 at the exchange", then("done", flushed)
    elif at == "post":
        yield f"waker {number} posts", then("done", state._replace(semaphore=state.semaphore + 1))


def forbidden(rules: Rules, state: State) -> str:
    """Posts never pile up: each undertaking to wake posts once."""
    return f"{state.semaphore} posts for one sleeper" if state.semaphore > rules.wakers else ""


def lost_wake_up(rules: Rules, state: State) -> str:
    """At the end everything has been taken in; a sleeper with work before it is the bug."""
    return (
        f"the parker sleeps for ever, {rules.wakers - state.taken} piece(s) of work lie there"
        if state.taken < rules.wakers
        else ""
    )
