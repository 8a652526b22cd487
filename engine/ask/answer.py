"""A worker's side of `tokenring why`: on SIGUSR1 it answers the question that lies in a private folder, as JSON.

The handler comes between any two bytecodes of whatever the worker is doing, asleep on its semaphore included, and only
reads, so nothing has to be ready for it: no thread, no look at a flag in each step. Inside one long call into native
code (a kernel, say) it waits for that to end.
"""

import os
import signal
import stat
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from types import FrameType
from typing import Any

import orjson

from tokenring.engine.budget import Weight, weights
from tokenring.engine.errors import TokenRingError, UsageError
from tokenring.engine.explain import Explanation, Inspection, Named, Place, explain, live_tokens, of_port, of_probe

SIGNAL = signal.SIGUSR1
_PLACES = 20  # that are explained where the question names none


def private_folder() -> Path:
    """Where questions and answers go: /tmp/tokenring-UID, for this user alone. (Not one that the environment names: the
    two sides may have different ones.)
    """
    return Path("/tmp") / f"tokenring-{os.geteuid()}"


def require_private(folder: Path) -> None:
    """Raise UsageError unless the folder is a real one, this user's, and closed to all others."""
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid() or found.st_mode & 0o077:
        raise UsageError(f"{folder} is not a folder of this user alone (mode 0700); remove it")


def question_folder(launcher: int) -> Path:
    """The folder for a question to the group of the process `launcher`."""
    return private_folder() / f"why-{launcher}"


def write_whole(path: Path, value: Any) -> None:
    """Write JSON so that whoever sees the file sees all of it."""
    draft = path.with_suffix(".part")
    draft.write_bytes(orjson.dumps(value))
    draft.rename(path)


def answer_questions(inspection: Inspection, launcher: int, noticed: Callable[[], None]) -> None:
    """Let this worker process answer from now on; `noticed()` is called when somebody asks for whatever."""

    def answer(_: int, frame: FrameType | None) -> None:
        with suppress(Exception):
            noticed()
        with suppress(Exception):  # nothing may reach what was interrupted; the asker's time runs out
            folder = question_folder(launcher)
            require_private(folder.parent)
            question = orjson.loads((folder / "question.json").read_bytes())
            write_whole(folder / f"{question['id']}-{os.getpid()}.json", _answer(inspection, question, frame))

    signal.signal(SIGNAL, answer)


def _answer(inspection: Inspection, question: dict[str, Any], frame: FrameType | None) -> dict[str, Any]:
    worker, peers = inspection.index, inspection.peers
    answer: dict[str, Any] = {"worker": worker, "peers": peers, "at": _at(frame), "explanations": [], "weights": []}
    try:
        answer["explanations"] = list(_explanations(inspection, question))
        answer["weights"] = [weight._asdict() for weight in _weights(inspection, question["operator"])]
    except TokenRingError as error:
        answer["error"] = str(error)
    except Exception as error:  # the tables may be half-way through growing, say
        answer["error"] = f"it is in the middle of a change and could not look ({type(error).__name__}: {error})"
    return answer


def _explanations(inspection: Inspection, question: dict[str, Any]) -> Iterator[Explanation]:
    time = question["time"]
    time = tuple(time) if isinstance(time, list) else time
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
    return weights(one for one in inspection.operators if name is None or one.name == name)


def _places(inspection: Inspection) -> Iterator[Place]:
    """What a program waits for: its probes; of a dataflow without any, the ends."""
    for dataflow in inspection.dataflows.running:
        yield from (of_probe(dataflow, probe) for probe in dataflow.probes)
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
