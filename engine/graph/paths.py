"""What happens to times between the inputs and outputs of a running operator; operators without wishes share one."""

from collections.abc import Collection, Mapping, Sequence
from functools import cache
from typing import Any

from tokenring.engine.times import PathSummary, identity

_FEW = 4  # inputs that are looked for in a tuple


class Paths:
    """The summaries of one operator: `named[(input, output)]`; `usual` for all others but those to `closed` outputs."""

    __slots__ = ("_closed", "_named", "is_plain", "usual")

    def __init__(
        self, named: Mapping[tuple[int, int], PathSummary | None], closed: Collection[int], usual: PathSummary
    ) -> None:
        self._named = named
        self._closed = closed
        self.usual = usual
        self.is_plain = not named and not closed
        """Whether all are the usual one."""

    def summary(self, input_index: int, output_index: int) -> PathSummary | None:
        """What happens at least to a time on the way from an input to an output; None if there is no way."""
        return self._named.get((input_index, output_index), None if output_index in self._closed else self.usual)

    def same_time_inputs(self, inputs: Sequence[Any], outputs: int) -> list[Collection[Any]]:
        """For each output the inputs whose messages may be answered there at their own time."""
        if self.is_plain:
            return [_collected(inputs if self.usual.is_identity else ())] * outputs
        named: list[dict[int, PathSummary | None]] = [{} for _ in range(outputs)]
        for (at, output), summary in self._named.items():
            named[output][at] = summary
        found = []
        for output, ways in enumerate(named):
            if output not in self._closed and self.usual.is_identity:
                among = [port for at, port in enumerate(inputs) if at not in ways or _is_identity(ways[at])]
            else:
                among = [inputs[at] for at in sorted(ways) if _is_identity(ways[at])]
            found.append(_collected(among))
        return found


def _is_identity(summary: PathSummary | None) -> bool:
    return summary is not None and summary.is_identity


def _collected(ports: Sequence[Any]) -> Collection[Any]:
    return tuple(ports) if len(ports) <= _FEW else frozenset(ports)  # of a tuple, itself


@cache
def plain(usual: PathSummary) -> Paths:
    """The paths of every operator that names none."""
    return Paths({}, (), usual)


def identity_paths(depth: int) -> Paths:
    """The paths of operators that leave times of `depth` coordinates as they are."""
    return plain(identity(depth))
