"""Plans of programs over rows (k, v): steps that name the results of earlier ones, loops among them."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import Any

VALUES = 4
"""How many different v there are after each step."""
CAP = 3 * VALUES
"""What least values grow to, at most."""
_MOST_LOOPS = 3
_MONOTONE = ("keep", "map", "join", "semi", "concat", "distinct", "consolidate")
_ANY = (
    *_MONOTONE, *_MONOTONE, "drop", "anti", "count", "sum", "least", "greatest", "several", "first", "last", "cancel",
    "signed join", "shared", "left", "full", "texts", "floats", "loop", "loop", "loop",
)  # fmt: skip
_PAIRS = {"join", "signed join", "shared", "left", "full"}
_TWO = {"semi", "anti", "concat", "cancel", *_PAIRS}


@dataclass(frozen=True)
class Step:
    """What is done to the results numbered `of`, with constants; a loop has a body, whose first results are what goes
    round, then those entered."""

    does: str
    of: tuple[int, ...]
    constants: tuple[int, ...] = ()
    body: Plan | None = None


@dataclass(frozen=True)
class Plan:
    """Steps over so many given collections; the last is the result."""

    given: int
    steps: tuple[Step, ...]

    def told(self, indent: str = "") -> str:
        """The steps, a line each."""
        lines = []
        for number, step in enumerate(self.steps, self.given):
            lines.append(f"{indent}{number} = {step.does} {step.of} {step.constants}")
            if step.body is not None:
                lines.append(step.body.told(f"{indent}    "))
        return "\n".join(lines)


@dataclass(frozen=True)
class Size:
    """keys: how many different k there are after each step; rows: about as many are given; most_steps: of a plan."""

    keys: int
    rows: int
    most_steps: int


SMALL, LARGE = Size(5, 30, 10), Size(700, 3_000, 4)


def random_plan(
    random: Random, size: Size, given: int = 2, loops: int = 0, steps: int = 0, does: tuple[str, ...] = _ANY
) -> Plan:
    """loops: how many are around it; steps: at most, if not as many as the size says."""
    made: list[Step] = []
    sizes = [float(size.rows)] * given  # rough
    steps = steps or size.most_steps

    def add(step: Step, size: float) -> int:
        made.append(step)
        sizes.append(size)
        return given + len(made) - 1

    for _ in range(random.randint((steps + 1) // 2, steps)):
        what = random.choice([one for one in does if one != "loop" or loops < _MOST_LOOPS])
        latest = given + len(made)
        of = [random.choice([random.randrange(latest), latest - 1]) for _ in range(2 if what in _TWO else 1)]
        if what in _PAIRS and sizes[of[0]] * sizes[of[1]] / size.keys > 50 * size.rows:
            of = [add(Step("distinct", (one,)), size.keys * VALUES) for one in of]
        if what == "loop":
            add(_loop(random, size, of[0], latest, loops), size.keys * VALUES)
        else:
            grown = sizes[of[0]] if len(of) == 1 else sizes[of[0]] + sizes[of[1]]
            if what in _PAIRS:
                grown += sizes[of[0]] * sizes[of[1]] / size.keys
            add(Step(what, tuple(of), _constants(random)), grown)
    return Plan(given, tuple(made))


def _constants(random: Random) -> tuple[int, ...]:
    return tuple(random.randrange(4) for _ in range(6))


def _loop(random: Random, size: Size, start: int, latest: int, loops: int) -> Step:
    """One that ends: since rows are only added (closed), since values only fall (lowered), or after some rounds."""
    kind = random.choice(["closed", "lowered", "rounds", "rounds"])
    entered = tuple(random.randrange(latest) for _ in range(2))
    of = (start, *entered)
    if kind == "lowered":
        return Step("lowered", of, _constants(random))
    body = random_plan(random, size, 1 + len(of), loops + 1, 4, _MONOTONE if kind == "closed" else _ANY)
    end = Step("distinct", (body.given + len(body.steps) - 1,))  # what goes round stays small
    if kind == "closed":
        both = Step("concat", (1, end.of[0]))
        end = Step("distinct", (end.of[0] + 1,))
        body = Plan(body.given, (*body.steps, both, end))
    else:
        body = Plan(body.given, (*body.steps, end))
    return Step(kind, of, _constants(random), body)


def run_plan(plan: Plan, algebra: Any, given: list[Any]) -> Any:
    """What comes of it, step by step, as `algebra` does each."""
    values = list(given)
    for step in plan.steps:
        values.append(algebra.do(step, [values[one] for one in step.of]))
    return values[-1]
