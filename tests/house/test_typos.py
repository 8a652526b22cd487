"""A slip in any of eighty places is an error of a kind of ours, told before anything runs, that names the cure."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import traceback
from pathlib import Path

import pyarrow as pa
import pytest

import tokenring as tr
from tests.copies import in_a_copy
from tests.errors import raises
from tests.house.typos import BID, PERSON, TYPOS
from tests.imports import ROOT

PYTHONS = {
    "tr.Tumblng": AttributeError,
    "tr.Summ": AttributeError,
    "tr.read_cvs": AttributeError,
    "of join": TypeError,
    "of read_csv": TypeError,
    "of run": TypeError,
}
"""What Python itself says of names in modules and of keywords of functions: its kinds, at the author's line."""


@pytest.mark.parametrize("typo", TYPOS)
def test_a_typo_is_told_with_its_cure(typo: str) -> None:
    pipeline, cure = TYPOS[typo]
    scope = tr.Scope("typos")
    bids, persons = scope.new_input(BID, "bids")[1], scope.new_input(PERSON, "persons")[1]
    with raises(PYTHONS.get(typo, tr.TokenRingError), cure) as caught:
        pipeline(scope, bids, persons)
    assert "Traceback" not in str(caught.value)


def test_they_are_eighty() -> None:
    assert len(TYPOS) >= 80


SHOWN = ("a column of a condition", "agregate", "a sum of text", "an unknown unit", "how=", "a file that is missing")


@pytest.mark.parametrize("typo", SHOWN)
def test_the_trace_shows_the_program_s_lines_alone(typo: str) -> None:
    pipeline, cure = TYPOS[typo]

    def program(worker: tr.Worker) -> None:
        with worker.dataflow() as scope:
            pipeline(scope, scope.new_input(BID, "bids")[1], scope.new_input(PERSON, "persons")[1])

    with raises(tr.UsageError, cure) as caught:
        tr.execute(program, workers=1)
    (note,) = caught.value.__notes__
    assert re.search(rf'File "{re.escape(__file__)}", line \d+, in program', note)
    assert f"{ROOT}/tokenring" not in note


BAD = """
import tokenring as tr


def pipeline(scope):
    _, rows = scope.new_input(tr.Schema("a"))
    return rows.aggregate("b", n=tr.Count()).collect()


def program(worker):
    with worker.dataflow() as scope:
        return pipeline(scope)


"""
CALLS = ("tr.run(pipeline, workers=2)", "tr.gather(program, workers=2)", "tr.execute(program, workers=2)")


def _run(file: Path) -> None:
    """Run a file, and say an error as Python does at its end."""
    with pytest.raises(tr.TokenRingError) as caught:
        exec(compile(file.read_text(), file, "exec"), {"__name__": "__main__"})
    traceback.print_exception(caught.value.with_traceback(caught.tb.tb_next))  # without this function's own line


@pytest.mark.parametrize("call", CALLS)
def test_a_mistake_of_a_declaration_is_one_sentence_and_the_lines_that_lead_to_it(
    call: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "bad.py"
    file.write_text(BAD + call)
    sentence = "no column 'b' to group by; the columns are a"

    def said(traces: str) -> str:
        monkeypatch.setenv("TOKENRING_TRACEBACK", traces)
        if call == CALLS[0]:  # one of them as it is typed
            environment = os.environ | {"PYTHONPATH": str(ROOT)}
            return subprocess.run([sys.executable, file], capture_output=True, text=True, env=environment).stderr
        return in_a_copy(lambda: _run(file), (file,), tmp_path, tmp_path).stderr

    short = said("")
    assert short.count(sentence) == 1
    assert "in pipeline\n    return rows.aggregate" in short
    assert "in <module>\n    tr." in short
    assert f"{ROOT}/tokenring" not in short
    assert len(short.splitlines()) < 16
    long = said("1")
    assert f"{ROOT}/tokenring" in long
    assert "launcher.py" in long


def test_what_an_operator_raised_is_said_once() -> None:
    def odd(batch: tr.Batch) -> dict[str, object]:
        raise tr.UsageError("odd rows")

    def pipeline(scope: tr.Scope) -> tr.Collected:
        return scope.read_arrow(pa.table({"a": [1]})).map_batches(tr.Schema("a"), odd).collect()

    with raises(
        tr.OperatorError, "operator 'map_batches'", "worker 0", "UsageError: odd rows", __file__, "in odd"
    ) as caught:
        tr.run(pipeline, workers=1)
    shown = "".join(traceback.format_exception(caught.value))
    assert shown.count("odd rows") == 2, "in the sentence, and in the line that raised it"
    assert "in odd" in shown


def test_the_trace_of_an_operator_shows_its_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    def twice(batch: tr.Batch) -> dict[str, object]:
        return {"price": batch["price"] * 2, "rest": 1 // 0}

    def program(worker: tr.Worker) -> None:
        with worker.dataflow() as scope:
            prices, stream = scope.new_input(tr.Schema("price"))
            stream.map_batches(tr.Schema("price rest"), twice).collect()
        prices.send({"price": [1]})

    with raises(tr.OperatorError, "operator 'map_batches'", "worker 0", "ZeroDivisionError") as caught:
        tr.execute(program, workers=1)
    assert "in twice" in caught.value.__notes__[0]
    assert f"{ROOT}/tokenring" not in caught.value.__notes__[0]
    monkeypatch.setenv("TOKENRING_TRACEBACK", "1")
    with raises(tr.OperatorError, "operator 'map_batches'", "worker 0", "ZeroDivisionError") as caught:
        tr.execute(program, workers=1)
    assert f"{ROOT}/tokenring" in caught.value.__notes__[0]
