"""A failing trial made smaller for as long as it fails in the same way: fewer steps, workers, moves, rows."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from tests.random_programs.rows import Step
from tests.random_programs.steps import is_possible
from tests.random_programs.trial import EPOCHS, INPUTS, Trial, wrong_of

_MOST_SECONDS = 60.0


def shrunk(trial: Trial, wrong: str, in_processes: bool = False) -> tuple[Trial, str]:
    """The smallest trial that is found within a minute, and what is wrong about it."""
    until = time.monotonic() + _MOST_SECONDS
    is_smaller = True
    while is_smaller:
        is_smaller = False
        for candidate in _smaller(trial):
            if time.monotonic() > until:
                return trial, wrong
            found = wrong_of(candidate, in_processes)
            if _manner(found) == _manner(wrong):
                trial, wrong, is_smaller = candidate, found, True
                break
    return trial, wrong


def complaint(trial: Trial, in_processes: bool = False) -> str:
    """What is wrong about a trial and a smaller one, with the command that plays it again; nothing if all is right."""
    wrong = wrong_of(trial, in_processes)
    if not wrong:
        return ""
    small, still = shrunk(trial, wrong, in_processes)
    return f"python -m tests.random_programs {trial.name}\n{wrong}\n\nsmaller: {still}\n{small.rows_told()}"


def _manner(wrong: str) -> str:
    """Another answer, or which error."""
    return wrong.split(maxsplit=1)[0] if wrong else ""


def _smaller(trial: Trial) -> Iterator[Trial]:
    """What is one thing smaller, large steps first."""
    if len(trial.looked_at) > 1:
        yield from [replace(trial, looked_at=(one,)) for one in trial.looked_at]
    for at in reversed(range(len(trial.steps))):
        without = _without(trial, at)
        if is_possible(without.steps, without.untimed) and without.looked_at:
            yield without
    if trial.bins:
        yield replace(trial, bins=0, moves=())
    if trial.workers > 1:
        fewer = trial.workers - 1
        yield replace(
            trial, workers=fewer, bins=trial.bins if fewer > 1 else 0,
            sent=tuple([replace(one, worker=one.worker % fewer) for one in trial.sent]),
            moves=tuple([(at, number, worker % fewer) for at, number, worker in trial.moves]),
        )  # fmt: skip
    yield from [replace(trial, moves=some) for some in _fewer(trial.moves)]
    yield from [replace(trial, sent=some) for some in _fewer(trial.sent)]
    if trial.ends != (EPOCHS, EPOCHS):
        yield replace(trial, ends=(EPOCHS, EPOCHS))
    for at, step in enumerate(trial.steps):
        simpler = [step._replace(limit=None)] if step.limit else []
        if step.plan and len(step.plan.steps) > 1:
            simpler += [step._replace(plan=replace(step.plan, steps=step.plan.steps[:-1]))]
        yield from [replace(trial, steps=(*trial.steps[:at], one, *trial.steps[at + 1 :])) for one in simpler]


def _fewer(of: tuple[Any, ...]) -> Iterator[tuple[Any, ...]]:
    """All but a half, a quarter, and so on down to one."""
    size = len(of)
    while size := size // 2 if size > 1 else 0:
        for start in range(0, len(of), size):
            yield of[:start] + of[start + size :]
    if len(of) == 1:
        yield ()


def _without(trial: Trial, at: int) -> Trial:
    """The same without a step, in whose place is what it is done to first."""
    gone = INPUTS + at

    def number(one: int) -> int:
        one = trial.steps[at].of[0] if one == gone else one
        return one - (one > gone)

    def renumbered(step: Step) -> Step:
        return step._replace(of=tuple([number(one) for one in step.of]))

    steps = tuple([renumbered(step) for step in trial.steps[:at] + trial.steps[at + 1 :]])
    seen = dict.fromkeys([number(one) for one in trial.looked_at])
    return replace(trial, steps=steps, looked_at=tuple([one for one in seen if one >= INPUTS]))
