"""Compiled operators in a profile: the inner loop's samples shared out by what it was seen to run."""

from __future__ import annotations

import os
import time
from collections import Counter
from unittest.mock import patch

import pytest

from tests.tools.profile.samples import A, B
from tokenring.engine.ask import EXCHANGE, LOOP, WAIT, Doing, RunningNow
from tokenring.tools.profile.frame import Frame
from tokenring.tools.profile.kernel_calls import kernel_called_at
from tokenring.tools.profile.operators import Looking, Seen, share_out, spread
from tokenring.tools.profile.stacks import Recording, Stack

TURN = Frame("kernel turn", "engine/native/loop.py", 1)
ONE, TWO = Frame("operator 'one' of dataflow 'x'", "one.py", 1), Frame("operator 'two' of dataflow 'x'", "two.py", 2)


def test_frames_are_mixed_in_proportion() -> None:
    shared = spread(Counter({ONE: 30, TWO: 20, None: 10}), 12)
    assert Counter(shared) == {ONE: 6, TWO: 4, None: 2}
    assert Counter(shared[:6]) == {ONE: 3, TWO: 2, None: 1}
    assert Counter(spread(Counter({ONE: 1, TWO: 1, None: 1}), 2)).total() == 2
    assert spread(Counter(), 5) == []


def test_each_second_has_its_own_shares_and_others_those_of_all() -> None:
    stacks: list[Stack] = [(A,), *[(A, TURN)] * 9, *[(B, TURN)] * 9, (B,)]
    seen = Seen([(0.1 * at + 0.05, ONE if at < 10 else TWO) for at in range(20)], until_s=2.0)
    told = share_out(stacks, seen, 0.1)
    assert told[0] == (A,)
    assert told[1:10] == [(A, TURN, ONE)] * 9
    assert told[10:19] == [(B, TURN, TWO)] * 9
    assert told[19] == (B,)
    assert share_out([(A, TURN)] * 100, Seen([(0.0, ONE)], until_s=0.0), 0.1) == [(A, TURN, ONE)] * 100
    assert share_out([(A, TURN)], Seen(), 0.1) == [(A, TURN)]
    assert share_out([(A, TURN)], Seen([(0.0, None)]), 0.1) == [(A, TURN)]


def test_a_real_call_of_the_loop_is_known() -> None:
    """`_LOOPS` names kernels as they are found in the sources."""
    import tokenring.engine.worker.turns as turns

    with open(turns.__file__) as file:
        (line,) = [number for number, text in enumerate(file, 1) if "= turn(" in text]
    frame = kernel_called_at(turns.__file__, line)
    assert frame is not None
    stack = (A, frame._replace(file="engine/native/loop.py"))
    assert share_out([stack], Seen([(0.0, ONE)]), 0.1) == [(*stack, ONE)]


def _seen(*does: Doing | type[Exception] | None) -> Seen:
    """What a thread sees that finds this, and then that the worker has ended."""
    left = list(does)

    def look(_: RunningNow) -> Doing | None:
        found = left.pop(0) if left else ProcessLookupError
        if isinstance(found, type):
            raise found
        return found

    with patch.object(RunningNow, "look", look):
        looking = Looking(1000)
        seen = looking.at(os.getpid())
        deadline = time.monotonic() + 60
        while left and time.monotonic() < deadline:
            time.sleep(0.001)
        looking.end()
    return seen


def test_waiting_in_the_loop_is_no_work() -> None:
    frames = [frame for _, frame in _seen(LOOP, None, EXCHANGE, WAIT, Doing(*ONE)).looks]
    assert [frame and frame.name for frame in frames] == [None, "kernel exchange_now", "waits for work", ONE.name]
    stacks = [(A, TURN) if frame is None else (A, TURN, frame) for frame in frames]
    assert Recording("worker 0", stacks, 0.01).at_work == [stacks[0], stacks[1], stacks[3]]


@pytest.mark.parametrize(("error", "denied"), [(PermissionError, True), (ProcessLookupError, False)])
def test_it_is_told_where_nobody_may_look(error: type[Exception], denied: bool) -> None:
    seen = _seen(error)
    assert (seen.denied, seen.looks) == (denied, [])
