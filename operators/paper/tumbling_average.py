"""tumbling_average: the paper's example (section 5) of an operator written with timestamp tokens.

It holds one token for each open window, at the window's end: that is all the system needs to know to keep later
operators waiting exactly as long as necessary. When the frontier reaches ends, it sends those windows' averages, each
with its token, and drops them.
"""

from collections.abc import Callable

import numpy as np
from sortedcontainers import SortedDict

from tokenring.engine import AnyStream, Batch, InputPort, Notify, OperatorContext, OutputPort, Pact, Schema, Token
from tokenring.engine.arguments import whole_number
from tokenring.operators.migrate import staying
from tokenring.operators.rows import require_int64
from tokenring.operators.state import require_rows
from tokenring.operators.time import require_total_order


def tumbling_average(stream: AnyStream, time: str, value: str, width: int, pact: Pact | None = None) -> AnyStream:
    """Rows (window_end int64, average float64), one for each window of `width` that had rows, at the window's end.

    A row at time t belongs to the window that ends at (t // width + 1) * width; rows may come in any order.
    Without a pact, each worker averages its own rows. GraphError in a loop, whose times have no total order;
    SchemaError for times that are not int64, for values that are no numbers, and for columns that may be null.
    """
    require_total_order("tumbling_average", stream.scope)
    require_rows("tumbling_average", stream)
    require_int64("tumbling_average", stream.schema, time)
    if not stream.schema.kind(value).is_plain:  # floats may be averaged, too
        require_int64("tumbling_average", stream.schema, value)
    width = whole_number("operator 'tumbling_average'", "width", width)
    summed = None if stream.schema.kind(value).is_float else object  # Python's integers, which do not wrap
    schema = Schema(window_end="int64", average="float64")

    def construct(context: OperatorContext, token: Token) -> Callable[[InputPort, OutputPort], None]:
        token.drop()  # nothing to say unless rows arrive
        windows: SortedDict = SortedDict()  # window end -> (token, sum, rows)

        def logic(rows: InputPort, output: OutputPort) -> None:
            for reference, batch in rows:
                ends = (batch[time] // width + 1) * width
                for end in np.unique(ends).tolist():
                    chosen = batch[value][ends == end]
                    if end not in windows:
                        held = reference.retain()  # the right to send, beyond this message's processing,
                        held.downgrade(end)  # but not before the window's end
                        windows[end] = (held, 0, 0)
                    held, total, count = windows[end]
                    windows[end] = (held, total + chosen.sum(dtype=summed), count + len(chosen))
            while windows and windows.peekitem(0)[0] <= rows.frontier:  # no more rows can come for it
                end, (held, total, count) = windows.popitem(0)
                with output.session(held) as session:
                    session.give(Batch(schema, {"window_end": [end], "average": [total / count]}))
                held.drop()  # later operators may now pass this window's end

        return logic

    return stream.unary("tumbling_average", schema, construct, staying(pact), Notify.IF_TOKEN)
