"""A worker's side of `tokenring why`: on SIGUSR1 it answers the question that lies in a private folder, as JSON.

The handler comes between any two bytecodes of whatever the worker is doing, asleep on its semaphore included, and only
reads, so nothing has to be ready for it: no thread, no look at a flag in each step. Inside one long call into native
code (a kernel, say) it waits for that to end.
"""

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from types import FrameType
from typing import Any

from tokenring.engine.ask.places import private_folder
from tokenring.engine.ask.questions import question_in, require_private, write_whole
from tokenring.engine.budget import Weight, weights
from tokenring.engine.errors import TokenRingError
from tokenring.engine.explain import (
    Explanation,
    Inspection,
    Named,
    Place,
    explain,
    is_called,
    live_tokens,
    of_port,
    of_probes,
)
from tokenring.engine.running import Phase
from tokenring.engine.times import time_from_plain

SIGNAL = signal.SIGUSR1
_PLACES = 20  # that are explained where the question names none


def question_folder(private: Path, launcher: int) -> Path:
    """The folder for a question to the group of the process `launcher`, as that calls itself."""
    return private / f"why-{launcher}"


def answer_questions(inspection: Inspection, launcher: int, noticed: Callable[[], None]) -> None:
    """Let this worker process answer from now on; `noticed()` is called when somebody asks for whatever."""

    def answer(_: int, frame: FrameType | None) -> None:
        with suppress(Exception):
            noticed()
        with suppress(Exception):  # nothing may reach what was interrupted; the asker's time runs out
            folder = question_folder(private_folder(), launcher)
            require_private(folder.parent)
            question = question_in(folder)
            write_whole(folder / f"{question['id']}-{os.getpid()}.json", _answer(inspection, question, frame))

    signal.signal(SIGNAL, answer)


def _answer(inspection: Inspection, question: dict[str, Any], frame: FrameType | None) -> dict[str, Any]:
    worker, peers = inspection.index, inspection.peers
    answer: dict[str, Any] = {"worker": worker, "peers": peers, "at": _at(frame), "explanations": [], "weights": []}
    answer["failed"] = [failure.text for failure in inspection.dataflows.failed.values()]
    try:
        answer["explanations"] = list(_explanations(inspection, question))
        answer["weights"] = [weight._asdict() for weight in _weights(inspection, question["operator"])]
    except TokenRingError as error:
        answer["error"], answer["type"] = str(error), type(error).__name__
    except Exception as error:  # the tables may be half-way through growing, say
        answer["error"] = f"it is in the middle of a change and could not look ({type(error).__name__}: {error})"
    return answer


def _explanations(inspection: Inspection, question: dict[str, Any]) -> Iterator[Explanation]:
    time = time_from_plain(question["time"])
    if question["operator"] is not None:
        side, number = question["port"]
        named: Named = (question["operator"], side, number) if side else question["operator"]
        yield inspection.why(named, time)
        return
    found, tokens = 0, live_tokens()
    for place in _places(inspection):
        explanation = explain(inspection, place, time if place.depth == _depth(time) else None, tokens)
        if explanation.frontier:
            yield explanation
            found += 1
        if found == _PLACES:
            return


def _weights(inspection: Inspection, name: str | None) -> list[Weight]:
    """What the operators of that name keep, or all do."""
    return weights(
        operator
        for dataflow in inspection.dataflows.running
        for operator in dataflow.operators
        if not dataflow.done and (name is None or is_called(dataflow, operator, name))
    )


def _places(inspection: Inspection) -> Iterator[Place]:
    """What a program waits for: its probes; of a dataflow without any, the ends."""
    for dataflow in [found for found in inspection.dataflows.running if found.phase is Phase.RUNS]:
        yield from of_probes(dataflow)
        if not dataflow.probes:
            ends = [operator for operator in dataflow.operators if not operator.outputs] or dataflow.operators[-1:]
            yield from (of_port(dataflow, port) for operator in ends for port in operator.inputs or operator.outputs)


def _depth(time: Any) -> int:
    return len(time) if isinstance(time, tuple) else 1


@cache
def _not_theirs() -> tuple[str, ...]:
    """Where code lies that is not the program's."""
    import sysconfig

    ours = [str(Path(__file__).parents[2] / package) + "/" for package in ("engine", "shm")]
    return ("<frozen", *ours, *(sysconfig.get_path(name) + "/" for name in ("stdlib", "platlib")))


def _at(frame: FrameType | None) -> str:
    """What the worker was doing: the innermost line of the program's own, or of any code if there is none."""
    innermost = frame
    while frame is not None and frame.f_code.co_filename.startswith(_not_theirs()):
        frame = frame.f_back
    frame = frame or innermost
    return "" if frame is None else f"{frame.f_code.co_filename}:{frame.f_lineno} ({frame.f_code.co_name})"
