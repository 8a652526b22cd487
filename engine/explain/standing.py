"""Explanations for people: where a worker's operators stand, and so why time does not advance."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tokenring.engine.times import COMPLETE

if TYPE_CHECKING:
    from tokenring.engine.running import RunningOperator


def describe_frontiers(operators: Sequence["RunningOperator"]) -> str:
    """A line for each operator: the tokens it holds, and the frontiers of its inputs."""
    lines = []
    for operator in operators:
        ports = ", ".join(
            f"input {port.index} {'done' if port.frontier == COMPLETE else port.frontier}" for port in operator.inputs
        )
        lines.append(f"{operator.name}: holds {operator.held} token(s); {ports or 'no inputs'}")
    return "\n".join(lines)
