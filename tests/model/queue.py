"""A model of the data queue between two workers: positions in words, messages of several words, the skip at the end.

The sender checks for room against a cached read position and refreshes it once; writes header and columns word by word;
commits. The receiver loads the write position, walks over the messages up to it (a skip is passed over), reads their
words later (they are views), and releases them with its next receive. Either may die at any step.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

SKIP = "skip"


class Rules(NamedTuple):
    """The queue's capacity in words, the words of each message in turn, the most messages of one receive, whether
    sender and receiver may die, and what is mutated.

    Mutations: "no room check", "skip not counted", "commit early" (before the columns), "release at once" (views
    still in use), "reads past the write position".
    """

    capacity: int
    messages: tuple[int, ...]
    share: int = 2
    deaths: bool = False
    mutation: str = ""


DEAD = "dead"


class State(NamedTuple):
    """The buffer's words, both positions in shared memory, and both sides' private state."""

    words: tuple[object, ...]
    write_position: int
    read_position: int
    sender: tuple[str, int, int, int, int]  # pc, message, private write position, cached read position, words written
    receiver: tuple[str, int, int]  # pc, private read position, what the last receive started from
    views: tuple[tuple[int, int, int], ...]  # offset, words, message: handed out by the last receive
    seen: tuple[int, ...]


def start(rules: Rules) -> State:
    """Empty."""
    return State((None,) * rules.capacity, 0, 0, ("room", 0, 0, 0, 0), ("receive", 0, 0), (), ())


def successors(rules: Rules, state: State) -> Iterator[tuple[str, State]]:
    """Every step possible now."""
    yield from _sender(rules, state)
    yield from _receiver(rules, state)
    if rules.deaths and state.sender[0] != DEAD:
        yield f"sender dies at {state.sender[0]}", state._replace(sender=(DEAD, *state.sender[1:]))
    if rules.deaths and state.receiver[0] != DEAD:
        yield f"receiver dies at {state.receiver[0]}", state._replace(receiver=(DEAD, *state.receiver[1:]), views=())


def _needed(rules: Rules, write: int, words: int) -> int:
    offset = write % rules.capacity
    if offset + words <= rules.capacity or rules.mutation == "skip not counted":
        return words
    return words + rules.capacity - offset


def _store(state: State, offset: int, word: object) -> tuple[object, ...]:
    return (*state.words[:offset], word, *state.words[offset + 1 :])


def _sender(rules: Rules, state: State) -> Iterator[tuple[str, State]]:
    pc, message, write, cached, written = state.sender
    if message == len(rules.messages):
        return
    words = rules.messages[message]
    if pc == "room":
        needed = _needed(rules, write, words)
        if write + needed - cached <= rules.capacity or rules.mutation == "no room check":
            yield "sender has room", state._replace(sender=("begin", message, write, cached, 0))
        else:  # refresh, and either go on or come back later: full is a value
            if write + needed - state.read_position <= rules.capacity or cached != state.read_position:
                yield "sender looks for room", state._replace(sender=("room", message, write, state.read_position, 0))
    elif pc == "begin":
        offset = write % rules.capacity
        if offset + words > rules.capacity:
            left = rules.capacity - offset
            changed = state._replace(words=_store(state, offset, (left, SKIP)))
            yield "sender writes a skip", changed._replace(sender=("begin", message, write + left, cached, 0))
        else:
            changed = state._replace(words=_store(state, offset, (words, message)))
            if rules.mutation == "commit early":
                changed = changed._replace(write_position=write + words)
            yield "sender writes a header", changed._replace(sender=("fill", message, write, cached, 1))
    elif pc == "fill":
        if written < words:
            changed = state._replace(words=_store(state, (write + written) % rules.capacity, (message, written)))
            yield (
                f"sender writes word {written}",
                changed._replace(sender=("fill", message, write, cached, written + 1)),
            )
        else:
            changed = state._replace(
                write_position=write + words, sender=("room", message + 1, write + words, cached, 0)
            )
            yield "sender commits", changed


def _receiver(rules: Rules, state: State) -> Iterator[tuple[str, State]]:
    pc, position, _ = state.receiver
    if pc == "receive":
        # Release what was handed out before, then hand out up to `share` messages. Both are single steps, each on its
        # own.
        if state.read_position != position:
            yield "receiver releases", state._replace(read_position=position, views=())
        elif state.write_position > position or rules.mutation == "reads past the write position":
            found: list[tuple[int, int, int]] = []
            at = position
            limit = state.write_position + (1 if rules.mutation == "reads past the write position" else 0)
            while at < limit and len(found) < rules.share:
                header = state.words[at % rules.capacity]
                if not isinstance(header, tuple):
                    break
                words, what = header
                if what != SKIP:
                    found.append((at % rules.capacity, words, what))
                at += words
            if at > position:
                changed = state._replace(read_position=at) if rules.mutation == "release at once" else state
                yield (
                    f"receiver takes {len(found)}",
                    changed._replace(receiver=("read", at, position), views=tuple(found)),
                )
    elif pc == "read":
        seen = (*state.seen, *(message for _, _, message in state.views))
        yield "operators read the views", state._replace(receiver=("receive", position, position), seen=seen)


def forbidden(rules: Rules, state: State) -> str:
    """Views hold their message's words as long as they live; messages come once and in order; nothing is overrun."""
    for offset, words, message in state.views:
        expected = [(words, message), *((message, i) for i in range(1, words))]
        if list(state.words[offset : offset + words]) != expected:
            return f"the view of message {message} shows {state.words[offset : offset + words]}"
    if list(state.seen) != list(range(len(state.seen))):
        return f"messages came as {state.seen}"
    if state.write_position - state.read_position > rules.capacity:
        return f"{state.write_position - state.read_position} words in a queue of {rules.capacity}"
    return ""


def resting(rules: Rules, state: State) -> bool:
    """Whether nobody can do anything but die."""
    return not any(_sender(rules, state)) and not any(_receiver(rules, state))


def undelivered(rules: Rules, state: State) -> str:
    """At the end: what was committed has been taken, if the receiver lives; everything was committed, if the sender
    lives and no dead receiver leaves it without room. The receiver may be left without a sender, but never with a part
    of a message."""
    committed, receiver_lives = state.sender[1], state.receiver[0] != DEAD
    if receiver_lives and len(state.seen) != committed:
        return f"nothing can move, but of {committed} messages only {state.seen} came"
    if state.sender[0] != DEAD and receiver_lives and committed < len(rules.messages):
        return f"nothing can move, but only {committed} were sent"
    return ""
