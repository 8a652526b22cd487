"""What operators that act on finished times, one after the other, need of their scope."""

from tokenring.engine import GraphError, Scope


def require_total_order(operator: str, scope: Scope) -> None:
    """GraphError in loops, where times are only partially ordered."""
    if scope.depth > 1:
        raise GraphError(
            f"operator {operator!r} acts on times in their total order, which those in {scope.describe()} do not have; "
            f"let its streams leave first"
        )
