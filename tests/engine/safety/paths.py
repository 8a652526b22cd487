"""What paths make of times, found by following every edge: the oracle's own, without the engine's summaries."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from tests.engine.safety.plan import Plan, Port, When

Image = tuple[tuple[int, int], ...]
"""For each coordinate of the result: which coordinate of the beginning it comes from (-1: none, from zero), and what is
added."""


def no_later(left: When, right: When) -> bool:
    """The product order."""
    return len(left) == len(right) and all(mine <= other for mine, other in zip(left, right, strict=True))


def minimal(times: Iterable[When]) -> tuple[When, ...]:
    """Those that no other one precedes, sorted."""
    some = set(times)
    return tuple(sorted(time for time in some if not any(no_later(other, time) and other != time for other in some)))


@lru_cache(maxsize=100_000)
def applied(image: Image, time: When) -> When:
    """What a path makes of a time."""
    return tuple((time[origin] if origin >= 0 else 0) + added for origin, added in image)


def _precedes(left: Image, right: Image) -> bool:
    """Whether it results in no later time, whatever the beginning (coordinates are never negative)."""
    return all(
        (mine == other or mine < 0) and added <= more for (mine, added), (other, more) in zip(left, right, strict=True)
    )


def _unchanged(depth: int) -> Image:
    return tuple((coordinate, 0) for coordinate in range(depth))


def steps_from(plan: Plan, port: Port, image: Image) -> list[tuple[Port, Image]]:
    """Where it goes on from a port, with what became of the time until there."""
    side, number, index = port
    if side == "out":
        return [(target, image) for target, _ in plan.consumers(port)]
    operator = plan.operators[number]
    if operator.kind == "enter":
        return [(("out", number, 0), (*image, (-1, 0)))]
    if operator.kind == "leave":
        return [(("out", number, 0), image[:-1])]
    if operator.kind == "feedback":
        last, added = image[-1]
        return [(("out", number, 0), (*image[:-1], (last, added + operator.increment)))]
    return [
        (("out", number, output), tuple((c, added + more) for (c, added), more in zip(image, delays, strict=True)))
        for output in range(operator.outputs)
        if (delays := operator.summaries[index, output]) is not None
    ]


def depth_of(plan: Plan, port: Port) -> int:
    """The coordinates of times at a port."""
    operator = plan.operators[port[1]]
    if port[0] == "in" and operator.kind == "enter":
        return operator.depth - 1
    if port[0] == "in" and operator.kind == "leave":
        return operator.depth + 1
    return operator.depth


def paths(plan: Plan) -> dict[tuple[Port, Port], list[Image]]:
    """The least images from each port to each port that it can reach. Every cycle must advance time (`advances`)."""
    found: dict[tuple[Port, Port], list[Image]] = {}
    for origin in plan.ports():
        found[origin, origin] = [_unchanged(depth_of(plan, origin))]
        worklist = [(origin, found[origin, origin][0])]
        while worklist:
            at, image = worklist.pop()
            for target, reached in steps_from(plan, at, image):
                known = found.setdefault((origin, target), [])
                if not any(_precedes(other, reached) for other in known):
                    known[:] = [other for other in known if not _precedes(reached, other)]
                    known.append(reached)
                    worklist.append((target, reached))
    return found


def advances(plan: Plan) -> bool:
    """Whether no cycle can bring a time back that is less or equal to the one that set out: each adds to a coordinate
    that it keeps (an outer loop may set an inner one's counter back). By walking all that meet no port twice."""

    def sound(start: Port, at: Port, image: Image, way: frozenset[Port]) -> bool:
        for target, reached in steps_from(plan, at, image):
            if target == start:
                if not any(added for coordinate, added in reached if coordinate >= 0):
                    return False
            elif target not in way and not sound(start, target, reached, way | {target}):
                return False
        return True

    return all(sound(port, port, _unchanged(depth_of(plan, port)), frozenset([port])) for port in plan.ports())
