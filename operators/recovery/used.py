"""Whether a dataflow is saved."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tokenring.operators.recovery.saving import Saving


def saving_of(scope: Any) -> "Saving | None":
    """What this worker saves of the dataflow that is being declared; None where nothing is saved."""
    found: Saving | None = getattr(scope.root, "saving", None)
    return found
