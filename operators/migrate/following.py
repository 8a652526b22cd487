"""Which routing operators get rows that others have routed: how far theirs are says nothing of the control stream."""

from collections.abc import Mapping, Sequence
from typing import Any

from tokenring.operators.migrate.mover import Mover
from tokenring.operators.migrate.steering import Steering


def mark_following(operators: Sequence[Any], steered: Mapping[int, Steering]) -> None:
    """Mark those behind others. operators: all of the graph; steered: F's, by their operators' numbers.

    What others have routed comes no further than the control stream is, which waits for rows itself: their frontiers
    must not move it on. If each is behind another, around a loop, none is marked.
    """
    behind: list[Steering] = []
    for number, steering in steered.items():
        seen, to_do = set(), [one.origin.operator for one in operators[number].inputs[:1]]
        while to_do:
            at = to_do.pop()
            if at in steered:
                behind.append(steering)
                break
            if at not in seen:
                seen.add(at)
                to_do += [one.origin.operator for one in operators[at].inputs]
    for steering in behind if len(behind) < len(steered) else ():
        steering.state.follows = 1


def beside_those_that_follow(movers: Sequence[Mover]) -> list[Steering]:
    """The F's that are behind no others, of operators of which another is."""
    found = []
    for mover in movers:
        if any([steering.state.follows for steering in mover.steerings]):
            found += [steering for steering in mover.steerings if not steering.state.follows]
    return found
