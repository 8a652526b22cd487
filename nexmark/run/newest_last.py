"""Rows of results that change, where state may move: those of a key on one worker, the newest last."""

from collections.abc import Callable

from sortedcontainers import SortedSet

from tokenring.engine import (
    Batch,
    Broadcast,
    Exchange,
    InputPort,
    Notify,
    OperatorBuilder,
    OperatorContext,
    OutputPort,
    Stream,
    Token,
)


def newest_last(stream: Stream, key: tuple[str, ...], changes: Stream) -> Stream:
    """The rows, those of one key on one worker that is always the same, the newest last.

    A key's rows come from one worker in their order until its bin moves, and from that time on from another; which of
    two senders comes first to a third worker is not said. So rows of that time and later wait until all before it have
    come. changes: the control stream, whose times these are. Memory: rows that wait.
    """
    builder: OperatorBuilder[Stream] = OperatorBuilder(stream.scope, "newest_last", Notify.IF_TOKEN)  # it has no bins
    builder.input(stream, Exchange(key[0] if len(key) == 1 else key))
    builder.input(changes, Broadcast())
    made = builder.output(stream.schema)

    def construct(context: OperatorContext, token: Token) -> Callable[[InputPort, InputPort, OutputPort], None]:
        token.drop()
        held: list[tuple[Token, Batch]] = []
        times: SortedSet = SortedSet()  # at which bins move that some row has still to come before

        def logic(rows: InputPort, moved: InputPort, output: OutputPort) -> None:
            times.update([reference.time for reference, _ in moved])
            known = 0 if held or times else moved.frontier  # before it all goes straight on
            for reference, batch in rows:
                if reference.time < known:
                    output.give(reference, batch)
                else:
                    held.append((reference.retain(), batch))
            while held or times:
                limit = min(times[0], moved.frontier) if times else moved.frontier
                waiting = []
                for right, batch in held:
                    if right.time < limit:
                        output.give(right, batch)
                        right.drop()
                    else:
                        waiting.append((right, batch))
                held[:] = waiting
                if not times or times[0] > min(rows.frontier, moved.frontier - 1):
                    break
                times.pop(0)

        return logic

    builder.build(construct)
    made.updates = stream.updates
    return made
