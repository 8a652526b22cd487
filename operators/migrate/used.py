"""What becomes of the keyed state of a dataflow: whether it lies in bins, and whether it is saved. Both are said once,
before all else."""

from collections.abc import Iterable
from functools import cached_property
from typing import TYPE_CHECKING, Any

from tokenring.engine import GraphError, Scope, Stream, UsageError

if TYPE_CHECKING:
    from tokenring.operators.migrate.placement import Change, Placement
    from tokenring.operators.migrate.rebalance import Rebalance


def use_bins(
    scope: Scope,
    worker_index: int,
    peers: int,
    bins: int,
    changes: "Iterable[Change]" = (),
    rebalance: "Rebalance | None" = None,
    sharing: int = 0,
) -> "Placement":
    """Let the state of a dataflow's operators with a key lie in so many bins, a power of two. To be said before
    anything else is declared: GraphError otherwise. changes: what is known beforehand of how bins move. rebalance: how
    they are kept in balance. sharing: how many workers, the first ones, have bins at first (0: all). UsageError for
    bins, or workers, that are not there, and for both of these. A group of one has nowhere to move state to, and
    nothing is changed in it.
    """
    from tokenring.operators.migrate.builder import MigratingBuilder
    from tokenring.operators.migrate.placement import Placement, checked_changes
    from tokenring.operators.migrate.rebalance import Rebalance, keep_balanced

    if scope.graph.operators:
        raise GraphError(
            f"dataflow {scope.graph.name!r}: its bins are said before anything is declared: say "
            f"worker.dataflow(name, bins={bins})"
        )
    changes = checked_changes(scope.graph.name, changes)
    if rebalance is not None and not isinstance(rebalance, Rebalance):
        raise UsageError(
            f"dataflow {scope.graph.name!r}: rebalance= is a Rebalance, such as Rebalance(within=1.2), not "
            f"{rebalance!r}"
        )
    if changes and rebalance is not None:
        raise UsageError(
            f"dataflow {scope.graph.name!r}: bins are moved at times that are known beforehand, or to keep their load "
            f"in balance: leave moves= or rebalance= out"
        )
    placement = scope.kept(Placement)
    placement.begin(scope, worker_index, peers, bins, changes, sharing)
    if peers > 1:
        if rebalance is not None:
            keep_balanced(scope, placement, rebalance, peers)
        scope.builder_class = MigratingBuilder
    return placement


METER = "meter"
"""What stages are called that count what comes into a region: they are no part of what is made of rows."""


def has_bins(scope: Scope) -> bool:
    """Whether keyed state of a dataflow may move."""
    return getattr(scope.root.builder_class, "moves_bins", False)


def saving_of(scope: Any) -> Any:
    """What this worker saves of the dataflow that is being declared (`Saving`); None where nothing is saved."""
    return vars(scope.root).get("saving")  # not by getattr, which looks for what may be meant


def sends_at_any_times(scope: Any) -> None:
    """Say of the operator that was declared last that its rows' messages have other times in each run, as those of who
    is found first do. Where nothing is saved it means nothing."""
    saving = saving_of(scope)
    if saving is not None:
        saving.at_any_times.add(len(scope.graph.operators) - 1)


class GoneBy:
    """Who of a dataflow goes by messages' times: what sends him rows that are due at different times sends them in
    messages of their own, where they would be sent together, at the first one's."""

    def __init__(self) -> None:
        self.streams: list[Stream] = []
        """What they read."""

    @cached_property
    def operators(self) -> set[int]:
        """Those whose rows come to them, by number; to be asked once all is declared."""
        behind = [each.scope.graph.behind(each.source, each.stage)[0] for each in self.streams]
        return set().union(*behind)


def goes_by_times(stream: Stream) -> None:
    """Say of who reads a stream that he goes by messages' times."""
    stream.scope.kept(GoneBy).streams.append(stream)


def is_by_times(output: Stream) -> bool:
    """Whether rows that are due at different times are sent at their own, as where somebody behind an operator goes by
    messages' times, or results are committed as these are finished. output: the operator's; to be asked once all is
    declared."""
    saving = saving_of(output.scope)
    is_finished = saving is not None and bool(saving.finished)
    return is_finished or output.source.operator in output.scope.kept(GoneBy).operators


def made_again(scope: Any, *says: object) -> None:
    """Say of the operator that was declared last that where the run goes on from a snapshot it is sent all that it ever
    was, and so has again what it keeps. Where nothing is saved it means nothing. says: what it makes of its rows, where
    name and columns do not tell, or tell more than that."""
    saving = saving_of(scope)
    if saving is not None:
        if says:
            saving.says[len(scope.graph.operators) - 1] = " ".join(map(repr, says))
        saving.accounted.append(scope.graph.operators[-1])
        saving.made_again.append(scope.graph.operators[-1])
