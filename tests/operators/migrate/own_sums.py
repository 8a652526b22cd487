"""An operator of a user's own with state by key, which moves: running sums, as docs/migration.md has it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tokenring.engine import COMPLETE, Batch, Exchange, InputPort, Notify, OutputPort, Schema, Stream, Token
from tokenring.operators.migrate import Leaving, Table, offer, state_moves

VALUES, SUMS = Schema("key value"), Schema("key total")
TABLES = (Table(SUMS, ("key",)),)


class Sums:
    """The sum of each key so far."""

    def __init__(self, on_out: Callable[[], list[Batch] | None] = lambda: None) -> None:
        self.totals: dict[int, int] = {}
        self._on_out = on_out

    def take_out(self, leaving: Leaving) -> list[Batch]:
        """One table, of the keys that leave."""
        if (other := self._on_out()) is not None:
            return other
        keys = np.array(sorted(self.totals), np.int64)
        keys = keys[leaving.words(keys)]
        return [Batch(SUMS, {"key": keys, "total": [self.totals.pop(key) for key in keys.tolist()]})]

    def put_in(self, tables: Sequence[Batch]) -> Any:
        """What others had."""
        for key, total in zip(tables[0]["key"].tolist(), tables[0]["total"].tolist(), strict=True):
            assert key not in self.totals
            self.totals[key] = total
        return COMPLETE


def sums(
    stream: Stream,
    on_out: Callable[[], list[Batch] | None] = lambda: None,
    offers: int = 1,
    tables: Any = TABLES,
    by: str | tuple[str, ...] = "key",
) -> Stream:
    """For each message the sums so far of the keys in it.

    on_out: called when state is taken out, which is tried at the start; it may say what is returned instead. tables,
    by: what it says of its state, and what its rows are exchanged by.
    """
    builder = stream.operator("sums", Notify.NEVER)
    builder.input(stream, Exchange(by))
    made = builder.output(SUMS)
    state_moves(builder, tables)

    def construct(context: Any, token: Token) -> Callable[[InputPort, OutputPort], None]:
        token.drop()
        own = Sums(on_out)
        for _ in range(offers):
            offer(own)

        def logic(rows: InputPort, output: OutputPort) -> None:
            for reference, batch in rows:
                for key, value in zip(batch["key"].tolist(), batch["value"].tolist(), strict=True):
                    own.totals[key] = own.totals.get(key, 0) + value
                keys = sorted(set(batch["key"].tolist()))
                output.give(reference, Batch(SUMS, {"key": keys, "total": [own.totals[key] for key in keys]}))

        return logic

    builder.build(construct)
    return made
