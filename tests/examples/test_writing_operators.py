"""docs/writing-operators.md: its programs print what it says, and each mistake gives the error it names."""

from __future__ import annotations

import copy
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import tokenring.engine.errors
from tests.engine.helpers import VALUE, with_message
from tests.examples.documents import Block, blocks, output
from tests.examples.mistakes import IN_A_PROGRAM
from tests.imports import ROOT
from tokenring.engine import Batch, Schema, TokenRingError, execute

PAGE = "docs/writing-operators.md"
PROGRAMS = blocks(PAGE, "python")


@pytest.mark.parametrize("block", PROGRAMS, ids=str)
def test_programs_print_what_the_page_says(block: Block, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert output(block, tmp_path, capfd) == (block.prints, "")


def one_row(value: int = 1) -> Batch:
    return Batch(VALUE, {"value": [value]})


def dropped(token: Any) -> Any:
    token.drop()
    return token


def inside_a_session(token: Any, outgoing: Any) -> None:
    with outgoing.session(token):
        token.downgrade(9)


def after_the_message(reference: Any, messages: Any) -> None:
    for _ in messages:
        raise AssertionError("there was one message only")
    reference.retain()


# Mistakes inside an operator's call that holds a token at time 0 and a message's reference at time 3.
IN_A_CALL: dict[str, Callable[..., Any]] = {
    "use a dropped token": lambda token, *_: dropped(token).downgrade(5),
    "drop a token twice": lambda token, *_: dropped(token).drop(),
    "downgrade to an earlier time": lambda _, reference, *__: reference.retain().downgrade(2),
    "send before the token's time": lambda _, reference, __, out: out.give(reference, one_row(), time=2),
    "move a token inside its session": lambda token, _, __, out: inside_a_session(token, out),
    "send with a session outside its block": lambda token, _, __, out: out.session(token).give(one_row()),
    "send without a right": lambda _, __, ___, out: out.give(None, one_row()),
    "keep a reference for later": lambda _, reference, messages, __: after_the_message(reference, messages),
    "retain for an output that does not exist": lambda _, reference, *__: reference.retain(1),
    "copy a token": lambda token, *_: copy.copy(token),
    "copy a token reference or a session": lambda _, reference, *__: copy.copy(reference),
    "send another schema": lambda token, _, __, out: out.give(token, Batch(Schema("other"), {"other": [1]})),
    "name a column that is not there": lambda *_: one_row()["price"],
    "send rows that are no mapping": lambda token, _, __, out: out.give(token, [1, 2]),
    "send columns of unequal length": lambda *_: Batch(Schema("a b"), {"a": [1], "b": [1, 2]}),
    "send floats as integers": lambda *_: Batch(VALUE, {"value": [0.5]}),
}


ROWS = re.findall(r"^\| ([^|]+) \| `(\w+Error)` \| (.+) \|$", (ROOT / PAGE).read_text(), flags=re.M)
TABLE = {mistake: (kind, said) for mistake, kind, said in ROWS}


def make(mistake: str) -> None:
    if mistake in IN_A_CALL:
        with_message(IN_A_CALL[mistake])
    else:
        workers, program = IN_A_PROGRAM[mistake]
        execute(program, workers=workers)


def test_the_table_and_these_tests_name_the_same_mistakes() -> None:
    assert TABLE.keys() == {**IN_A_CALL, **IN_A_PROGRAM}.keys()


@pytest.mark.parametrize("mistake", [*IN_A_CALL, *IN_A_PROGRAM])
def test_a_mistake_gives_its_error(mistake: str) -> None:
    kind, said = TABLE[mistake]
    with pytest.raises(TokenRingError) as caught:
        make(mistake)
    text = ".+?".join(re.escape(part) for part in re.split(r" ?… ?", said))
    if mistake in IN_A_CALL:
        assert type(caught.value) is tokenring.engine.errors.OperatorError
        text = rf"operator 'actor' on worker 0: {kind}: {text}( \(at {re.escape(__file__)}:\d+ in [^)]+\))?"
        assert re.fullmatch(text, str(caught.value)), str(caught.value)
    else:
        assert type(caught.value) is getattr(tokenring.engine.errors, kind)
        assert re.fullmatch(f"(worker 0: )?{text}", str(caught.value)), str(caught.value)
