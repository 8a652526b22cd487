"""An operator of one's own with a kernel: `first_seen` passes on each key's first row and drops the others.

The kernel has a signature, so it is compiled when this module is imported: before the group forks, and for columns
that may be read-only.

    python examples/own_operator.py
"""

from collections.abc import Callable

import numpy as np

import tokenring as tr


@tr.kernel(tr.int64(tr.COLUMN, tr.WORDS, tr.WORDS))
def pick_new(slots, seen, rows):  # type: ignore[no-untyped-def]
    """Write the numbers of the rows whose key is new into `rows`; returns how many."""
    found = 0
    for i in range(len(slots)):
        if seen[slots[i]] == 0:
            seen[slots[i]] = 1
            rows[found] = i
            found += 1
    return found


def first_seen(stream: tr.Stream, key: str) -> tr.Stream:
    """The first row of each `key`, of any kind, of all workers together. Memory: some 50 bytes a key."""
    schema = stream.schema

    def construct(context: tr.OperatorContext, token: tr.Token) -> Callable[[tr.InputPort, tr.OutputPort], None]:
        token.drop()
        keys = tr.Keys(schema, (key,))  # state is made here: once a worker, after the fork
        seen = np.zeros(0, np.int64)

        def logic(rows: tr.InputPort, output: tr.OutputPort) -> None:
            nonlocal seen
            for reference, batch in rows:
                slots = keys.slots(batch)  # the number of each row's key, from 0
                seen = tr.grown(seen, keys.limit)
                chosen = np.empty(batch.rows, np.int64)
                found = pick_new(slots, seen, chosen)
                # Indexing with row numbers copies: what is sent on does not point into a queue.
                columns = {name: batch[name][chosen[:found]] for name in schema.names}
                output.give(reference, tr.Batch(schema, columns))

        return logic

    return stream.unary("first_seen", schema, construct, tr.Exchange(key), tr.Notify.NEVER)


def program(worker: tr.Worker) -> np.ndarray:
    with worker.dataflow("first seen") as scope:
        rows, stream = scope.new_input(tr.Schema("user page"))
        firsts = stream.pipe(first_seen, "user").collect()
    for time in range(5):
        users = np.arange(1000 * time, 1000 * time + 2000) % 4000
        rows.advance_to(time)
        rows.send({"user": users, "page": np.full(2000, time)})
    worker.run()
    return firsts.columns()["user"]


if __name__ == "__main__":
    parts = tr.execute(program, workers=2)
    users = [user for part in parts for user in part.tolist()]
    print(f"rows sent: {2 * 5 * 2000}, users seen: {len(users)}, distinct: {len(set(users))}")
    print(f"every worker had some: {all(map(len, parts))}")
