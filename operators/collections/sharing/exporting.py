"""The operator behind an arrangement that has a name: it says what is finished to whoever reads it elsewhere."""

from collections.abc import Callable

from tokenring.engine import InputPort, OperatorContext
from tokenring.operators.collections.sharing.view import View


def exporting(view: View) -> Callable[[OperatorContext], Callable[[InputPort], None]]:
    """The operator's constructor: a sink of the arrangement's stream that is told of every frontier."""

    def construct(context: OperatorContext) -> Callable[[InputPort], None]:
        view.begin(context)
        context.inspectable(lambda: view.facts)
        context.when_released(view.end)
        return view.take

    return construct
