"""Mutants that no test can notice, since they change nothing that anybody sees: which, and why."""

from __future__ import annotations

from pathlib import Path

from scripts.mutation.mutant import Mutant

# (file, what stands in the line where it begins, before, after, why).
EQUIVALENT: tuple[tuple[str, str, str, str, str], ...] = (
    (
        "shm/queues/progress_ring.py", "for i in range(count - 1, -1, -1):", "range(count - 1, -1, -1)", "range(count)",
        "a batch is shown by its first record's sequence alone, which is stored after all: their order is nobody's",
    ),
    (
        "shm/queues/progress_ring.py", "if position + count - ring[RING_GATE] > capacity:",
        "- ring[RING_GATE] > capacity:\n            ring", "- ring[RING_GATE] >= capacity:\n            ring",
        "the gate is asked for anew a slot earlier, and the second look decides as before",
    ),
    (
        "operators/collections/words/ordering.py", "return order > 0 if is_downwards else order < 0", "<", "<=",
        "equal texts are one word, and who asks keeps one of the two",
    ),
    (
        "operators/ranking/top_state.py", "return orders[i, at] < block[row + at]", "<", "<=",
        "they are looked at where they differ",
    ),
    (
        "operators/sources/arrow_tables.py", "return schemas[0]", "0", "-1",
        "files whose schemas differ have been refused",
    ),
    (
        "operators/sources/parquet.py", "0)).columns[0]", "0", "-1",
        "the batch has this one column",
    ),
    (
        "operators/expressions/hoist.py", "self._find(term, alone, arguments)", "self._find(term, alone, arguments)",
        "pass", "nothing is remembered then, and what is computed again is the same",
    ),
    (
        "shm/memory/layout.py", "(sender - (sender > receiver))", ">", ">=",
        "a queue from a worker to itself has been refused",
    ),
    (
        "nexmark/bench/parts/machine.py", "timeout=10", "10", "9",
        "git takes neither",
    ),
    (
        "operators/collections/compiled/joining.py", "if pairs == 0:", "0", "-1",
        "a message of no rows goes on, of which nothing comes",
    ),
    (
        "engine/columns/text_kernels.py", "if first < 0 or second < 0:", "or", "and",
        "lengths are compared next, and null's would be the greatest there can be",
    ),
    (
        "shm/kernels/callees.py", "self._verify_declare_only_symbols()", "self._verify_declare_only_symbols()", "pass",
        "a check of numba's for faults of its own, which linking finds as well",
    ),
    (
        "nexmark/staging/foreign/quick_lines.py", "if at < 0 or key not in _WITHIN", "0", "1",
        "what is looked for is found from the second byte on, or not at all",
    ),
    (
        "engine/progress/nested_frontiers.py", "if here.chain_capacity > 0:", "0", "1",
        "there is room for two, or for none yet",
    ),
    (
        "operators/expressions/decimals.py", "if more < 0:", "<", "<=",
        "with as many digits as before, each word is divided by one, in place of being copied",
    ),
    (
        "operators/joins/compiled/taking.py", "return FAILED, 0", "0", "1",
        "an operator that has failed takes nothing any more, so how far it came is nobody's",
    ),
    (
        "engine/native/world.py", "due = np.zeros(2 * len(grown), np.int64)", "2", "3",
        "there is more room for who is due than operators that can be",
    ),
    (
        "engine/columns/instants.py", "nothing = pa.nulls(1, pa.large_string())[0]", "1", "2",
        "the first of two nulls is what the only one is",
    ),
    (
        "operators/collections/updates/parts.py", "times_of(spine.since, 1)[0, 0] = since", "0", "-1",
        "the one word there is",
    ),
    (
        "operators/collections/words/kinds.py", "len(nulls) > 0 else 0", "0", "-1",
        "where no column can be null all rows are looked at, and the table is the answer as before",
    ),
    (
        "engine/running/dataflows.py", "self.number = -1  # by which the tracker tells", "1", "2",
        "it is given its number before anybody looks",
    ),
    (
        "operators/capture/capture.py", "self._writer.close()", "self._writer.close()", "pass",
        "the end of the file ends Arrow's stream as well",
    ),
    (
        "operators/mechanisms/notifications.py", "seen = -1", "1", "0",
        "times begin with 0, and so nothing is over when the frontier is there",
    ),
    (
        "operators/aggregates/panes.py", "if rows > 0 and at == 0:", ">", ">=",
        "a message without rows is not sent, by Python's outputs or by edges",
    ),
    (
        "operators/collections/words/kinds.py", "len(nulls) > 0 else 0", ">", ">=",
        "where no column can be null all rows are looked at, and the table is the answer as before",
    ),
    (
        "engine/native/crossing.py", "return -1", "1", "2",
        "nobody asks but whether it is less than 0",
    ),
    (
        "engine/graph/spec.py", "kinds[0].is_text or kinds[0].is_float", "0", "-1",
        "there is one kind",
    ),
    (
        "operators/aggregates/moving_windows.py", "self._panes.make_room()", "self._panes.make_room()", "pass",
        "where keys leave, nothing of what is kept comes to lie elsewhere",
    ),
    (
        "nexmark/queries/q14.py", "(price > LEAST * 1000)", ">", ">=",
        "908 times no price is that",
    ),
    (
        "operators/folds/fold_state.py", "widest = max([BLOCK,", "2", "3",
        "there is more room than is asked for",
    ),
    (
        "engine/running/dataflows.py", "self.numbers = Numbers(0, 0, 0, 0)", "0", "-1",
        "it is given its numbers before anybody looks",
    ),
    (
        "nexmark/measure/verdict.py", "late_ns > _VISIBLE_NS", ">", ">=",
        "a clock that stands at exactly that",
    ),
    (
        "operators/joins/kept/kernels.py", "cursor.latest = -1", "1", "2",
        "both are before all times",
    ),
    (
        "operators/collections/compiled/reducing.py", "return word < first", "<", "<=",
        "they are not equal there",
    ),
    (
        "operators/expressions/stage_runs.py", "heaps = np.full(len(before) + 1", "1", "2",
        "one more that nobody looks at",
    ),
    (
        "engine/progress/counts.py", "if here.begin >= 0:", "0", "-1",
        "where it is asked for there is a token a worker, which are few",
    ),
    (
        "engine/install/failing.py", "self.number = 0", "0", "-1",
        "both are no dataflow's",
    ),
    *[
        (
            "operators/folds/called/job.py", "words_at(its.other_slots, row + 1)[row]", before, after,
            "how long a view is of which one word is taken, no kernel looks at",
        )
        for before, after in (("1", "0"), ("1", "2"), ("+", "-"))
    ],
)  # fmt: skip


def why_equivalent(mutant: Mutant, root: Path) -> str | None:
    """Why a mutant changes nothing, if that is known."""
    source = (root / mutant.file).read_bytes()
    line = source.splitlines()[mutant.line(source) - 1].decode()
    for file, text, before, after, why in EQUIVALENT:
        if (file, before, after) == (mutant.file, mutant.before, mutant.after) and text in line:
            return why
    return None
