"""`tokenring why`: what holds a running group's frontiers back, over all its workers."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tokenring.tools.errors import CommandError, OptionError
from tokenring.tools.system import STANDARD_OUTPUT, Number, json_option, write_json

if TYPE_CHECKING:
    from tokenring.engine.ask import Answers, Group, Weights

_SHOWN = 10  # operators whose weights are said
_LEAST_BYTES = 2**20  # that one weighs to be among them, unless it is asked for
_ROWS_BYTES = 2**12  # a queue without rows takes something too


@click.command()
@click.argument("process", type=click.IntRange(min=1), required=False)
@click.option("--operator", metavar="NAME",
              help="Ask about this operator, regions included: outer/inner/name; or DATAFLOW/NAME.")  # fmt: skip
@click.option("--port", metavar="PORT", help="Which port of it: input, output, input:1, ...")
@click.option("--time", "at", metavar="T", help="What keeps this time from passing: 7, or in a loop 7,2.")
@click.option("--timeout", type=Number(0.1, 3600), default=5.0, show_default=True, metavar="S",
              help="How long workers get to answer.")  # fmt: skip
@json_option("the groups, or the answers,")
def why(
    process: int | None, operator: str | None, port: str | None, at: str | None, timeout: float, json_file: Path | None
) -> None:
    """Say what holds the frontiers of a running group back.

    PROCESS is the number of the process that launched the group (`tokenring run`, or any program that calls `execute`)
    or of one of its workers; without it, the groups that run are listed.

    Every worker names its live tokens with the lines that made them, its messages and where they wait, inputs that were
    never closed, holds. Without --operator, the first 20 probes that are not complete are explained. What operators
    keep in memory is said too, the heaviest first: of all that keep a MiB, or of the one that is named. The run goes on
    meanwhile.
    """
    from tokenring.engine import UsageError, WorkerError
    from tokenring.engine.ask import ask, running_groups

    if process is None:
        if operator or port or at:
            raise OptionError("--operator, --port and --time need a PROCESS; `tokenring why` alone lists them")
        groups = running_groups()
        if json_file is not None:
            write_json(json_file, {"groups": groups})
        if json_file != STANDARD_OUTPUT:
            _print_groups(groups)
        return
    try:
        answers = ask(process, operator, port_of(port, operator), time_of(at), timeout)
    except UsageError as error:
        raise OptionError(str(error)) from None
    except WorkerError as error:
        raise CommandError(str(error)) from None
    if answers.problems and not answers.explanations:
        raise OptionError("; ".join(dict.fromkeys(problem.partition(": ")[2] for problem in answers.problems)))
    if json_file is not None:
        write_json(json_file, answers)
    if json_file != STANDARD_OUTPUT:
        _print(answers, bool(operator))


def _print_groups(groups: list[Group]) -> None:
    for group in groups:
        click.echo(f"{group.launcher}: {len(group.workers)} workers: {group.command}")
    if not groups:
        click.echo("no group is running")


def _print(answers: Answers, is_named: bool) -> None:
    """is_named: of one operator, which is said however little it keeps."""
    for worker, where in answers.at.items():
        click.echo(f"worker {worker} is at {where}")
    for weights in answers.weights[:_SHOWN]:
        if weights.bytes >= _LEAST_BYTES or is_named:
            click.echo(_in_words(weights))
    for explanation in answers.explanations:
        click.echo(f"\n{explanation}")
    if not answers.explanations:
        click.echo("\nno dataflow that is not complete is running")
    for problem in (*answers.problems, *answers.failed):
        click.echo(f"\n{problem}")


def _in_words(weights: Weights) -> str:
    from tokenring.engine.budget import in_words

    kept = ", ".join(f"{in_words(sum(here.values()))} on worker {worker}" for worker, here in weights.workers.items())
    waiting = sum(here["waiting_bytes"] for here in weights.workers.values())
    rows = f" ({in_words(waiting)} of it rows that wait at its inputs)" if waiting >= _ROWS_BYTES else ""
    return f"operator {weights.operator!r} keeps {kept}{rows}"


def port_of(text: str | None, operator: str | None) -> tuple[str, int]:
    if text is None:
        return "", 0
    match = re.fullmatch(r"(input|output)(?::(\d+))?", text)
    if match is None:
        raise OptionError(f"--port {text!r} is none; give input, output, or one with its number, such as input:1")
    if operator is None:
        raise OptionError("--port needs an --operator")
    return match[1], int(match[2] or 0)


def time_of(text: str | None) -> Any:
    from tokenring.engine.times import MAX_TIME, representable

    if text is None:
        return None
    try:
        numbers = [int(part) for part in text.split(",")]
    except ValueError:
        raise OptionError(f"--time {text!r} is none; give a whole number, or several with commas for a loop") from None
    if not representable(tuple(numbers)):
        raise OptionError(f"--time {text} is none; times go from 0 to {MAX_TIME}")
    return numbers[0] if len(numbers) == 1 else numbers
