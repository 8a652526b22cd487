"""Plans: in which steps bins get from where they are to where they are to be (Megaphone, section 4.4)."""

import re
from collections import defaultdict
from collections.abc import Mapping

import numpy as np

from tokenring.engine import UsageError, did_you_mean

Step = Mapping[int, int]
"""Bins that change their worker at one time: bin -> worker."""

ALL_AT_ONCE, FLUID, OPTIMIZED = "all_at_once", "fluid", "optimized"
PLANS = (ALL_AT_ONCE, FLUID, "batched:16", OPTIMIZED)
"""The names of plans: one step; a step a bin; a step for so many bins; steps of as many bins as there can be such that
no worker sends more than one of them, nor takes more than one."""


def steps_between(now: np.ndarray, target: np.ndarray, plan: str = FLUID) -> list[dict[int, int]]:
    """The steps of a plan: each bin that has to move does so once, and no other. now, target: the worker of each bin,
    int64 (bins,). UsageError for a plan that there is not.
    """
    moving = np.flatnonzero(now != target).tolist()
    to = [int(target[number]) for number in moving]
    if plan == OPTIMIZED:
        groups = _apart([int(now[number]) for number in moving], to)
    else:
        groups = [place // _size(plan, len(moving)) for place in range(len(moving))]
    steps: list[dict[int, int]] = [{} for _ in range(max(groups, default=-1) + 1)]
    for number, worker, group in zip(moving, to, groups, strict=True):
        steps[group][number] = worker
    return steps


def require_plan(plan: str) -> None:
    """Raise UsageError for a plan that there is not."""
    if plan != OPTIMIZED:
        _size(plan, 1)


def _size(plan: str, moving: int) -> int:
    """How many bins a step has."""
    if plan == ALL_AT_ONCE:
        return max(1, moving)
    if plan == FLUID:
        return 1
    match = re.fullmatch(r"batched:(\d+)", plan)
    if match is None or int(match[1]) == 0:
        cure = did_you_mean(plan, PLANS) or f"; plans are {', '.join(map(repr, PLANS))}"
        raise UsageError(f"there is no plan {plan!r}{cure}")
    return int(match[1])


def _apart(senders: list[int], takers: list[int]) -> list[int]:
    """The step of each move, as few as there can be: as many as the busiest worker sends, or takes. (Colours of a
    bipartite graph's edges: where no step is free at both ends, two steps change places along a path.)
    """
    ends = [((False, one), (True, other)) for one, other in zip(senders, takers, strict=True)]
    used: dict[tuple[bool, int], dict[int, int]] = defaultdict(dict)  # (whether it takes, worker) -> step -> move
    least: dict[tuple[bool, int], int] = defaultdict(int)  # all steps before it are taken there
    chosen = [-1] * len(ends)

    def free(end: tuple[bool, int]) -> int:
        while least[end] in used[end]:
            least[end] += 1
        return least[end]

    def free_at_taker(step: int, other: int, taker: tuple[bool, int]) -> None:
        path, at, turn = list[int](), taker, step
        while turn in used[at]:  # it does not come to the sender, at whom `step` is free
            path.append(used[at][turn])
            at = ends[path[-1]][not at[0]]
            turn = other if turn == step else step
        for move in path:
            for end in ends[move]:
                del used[end][chosen[move]]
                least[end] = min(least[end], step, other)
            chosen[move] = other if chosen[move] == step else step
        for move in path:
            for end in ends[move]:
                used[end][chosen[move]] = move

    for move, (sender, taker) in enumerate(ends):
        step = chosen[move] = free(sender)
        if step in used[taker]:
            free_at_taker(step, free(taker), taker)
        used[sender][step] = used[taker][step] = move
    return chosen


def drained(now: np.ndarray, peers: int, worker: int) -> np.ndarray:
    """Where bins are to be so that a worker has none, and those that leave it even out the others: int64 (bins,)."""
    target = now.copy()
    counts = np.bincount(now, minlength=peers)
    counts[worker] = len(now) + 1
    for number in np.flatnonzero(now == worker).tolist():
        target[number] = least = int(np.argmin(counts))
        counts[least] += 1
    return target


def evened(now: np.ndarray, peers: int) -> np.ndarray:
    """Where bins are to be so that no worker has more than one more than another, with as few moves as that takes:
    int64 (bins,)."""
    target, bins = now.copy(), len(now)
    counts = np.bincount(now, minlength=peers)
    fair = np.full(peers, bins // peers)
    fair[np.argsort(-counts, kind="stable")[: bins % peers]] += 1  # those who have most keep one more
    takers = np.repeat(np.arange(peers), np.maximum(fair - counts, 0)).tolist()
    over = np.maximum(counts - fair, 0)
    for number in range(bins):
        if over[now[number]] > 0:
            over[now[number]] -= 1
            target[number] = takers.pop(0)
    return target
