"""Questions about a graph, beside networkx: a degree, neighbours, neighbours' neighbours, the steps of a short path."""

from __future__ import annotations

from collections import Counter

import networkx
import pytest

from tokenring.engine import Config, Worker, execute
from tokenring.nexmark.bench.collections import interactive as module
from tokenring.nexmark.bench.collections.closed_loop import ROWS
from tokenring.nexmark.bench.collections.records import records
from tokenring.operators import collect
from tokenring.operators.collections import collection

NODES, EDGES, QUESTIONS = 40, 120, 80


@pytest.mark.parametrize("is_shared", [True, False])
def test_every_question_is_answered(is_shared: bool) -> None:
    sources, targets = records(0, EDGES, 0, NODES, NODES)
    asked, ends = records(0, QUESTIONS, 1, NODES, NODES)

    def program(worker: Worker) -> list[tuple[int, ...]]:
        with worker.dataflow() as scope:
            edges, rows = scope.new_input(ROWS)
            questions, stream = scope.new_input(module.QUESTION, "questions")
            graph = module.Graph(collection(rows, times="times"), is_shared)
            found = collect(module.answers(collection(stream, "time", "times"), graph).changes())
        if worker.index == 0:
            edges.send({"key": sources, "value": targets, "times": [1] * EDGES})
            ids = list(range(QUESTIONS))
            kinds = [number % module.KINDS for number in ids]
            when, often = [0] * QUESTIONS, [1] * QUESTIONS
            questions.send({"kind": kinds, "id": ids, "node": asked, "target": ends, "time": when, "times": often})
        worker.run()
        return list(zip(*[column.tolist() for column in found.columns().values()], strict=True))

    found = Counter[tuple[int, int]]()
    for part in execute(program, config=Config(workers=2)):
        for number, answer, _, times in part:
            found[number, answer] += times
    graph = networkx.MultiDiGraph(list(zip(sources.tolist(), targets.tolist(), strict=True)))
    expected = Counter[tuple[int, int]]()
    for number, (node, target) in enumerate(zip(asked.tolist(), ends.tolist(), strict=True)):
        following = [end for _, end in graph.out_edges(node)] if node in graph else []
        kind = number % module.KINDS
        if kind == 0 and following:
            expected[number, len(following)] += 1
        elif kind == 1:
            expected.update((number, end) for end in following)
        elif kind == 2:
            expected.update((number, end) for one in following for _, end in graph.out_edges(one))
        elif kind == 3:
            if node == target:
                expected[number, 0] += 1
            elif node in graph and target in graph and networkx.has_path(graph, node, target):
                steps = networkx.shortest_path_length(graph, node, target)
                expected.update({(number, steps): 1} if steps <= 4 else {})
    assert +found == expected
