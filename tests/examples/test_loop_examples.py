"""The example programs with loops and path summaries print what plain references say, on one to four workers."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.examples.programs import Run, run, run_again, run_in_short
from tests.operators.graphs import references
from tests.operators.graphs.references import Edges
from tokenring.operators.graphs import random_edges

NODES, EDGES = 3000, 6000
SIZE = ("--nodes", str(NODES), "--edges", str(EDGES))


def graph(seed: int) -> Edges:
    """The graph that the examples make of a seed."""
    edges = random_edges(NODES, EDGES, seed)
    return list(zip(edges["src"].tolist(), edges["dst"].tolist(), strict=True))


@pytest.mark.parametrize(("workers", "runs"), [("1", run), ("2", run_again)])
def test_collatz(workers: str, runs: Run) -> None:
    steps = {}
    for number in range(1, 3000):
        value = number
        steps[number] = 0
        while value != 1:
            value = 3 * value + 1 if value % 2 else value // 2
            steps[number] += 1
    first, second, _ = runs("collatz", "--numbers", "3000", "--workers", workers)
    assert first == f"2999 numbers took {sum(steps.values())} steps to 1"
    assert second == f"{max(steps, key=lambda number: steps[number])} took most: {max(steps.values())}"


@pytest.mark.parametrize(("workers", "runs"), [("1", run_in_short), ("3", run_again)])
def test_bfs(workers: str, runs: Run) -> None:
    found = references.distances(graph(4), 7)
    *lines, last = runs("bfs", *SIZE, "--workers", workers, "--seed", "4", "--root", "7")
    assert lines == [f"distance {at}: {count} nodes" for at, count in sorted(Counter(found.values()).items())]
    assert last.startswith(f"reached {len(found)} of {NODES} nodes")
    assert len(lines) > 5


@pytest.mark.parametrize(("workers", "runs"), [("1", run_in_short), ("4", run_again)])
def test_connected_components(workers: str, runs: Run) -> None:
    *lines, _ = runs("connected_components", *SIZE, "--workers", workers, "--seed", "2")
    expected = []
    for epoch in range(2):
        found = references.components(graph(2 + epoch))
        sizes = Counter(found.values())
        name, most = sizes.most_common(1)[0]
        expected.append(
            f"graph {epoch}: {len(found)} nodes in {len(sizes)} components, {most} in that of node {name}"
        )
    assert lines == expected


@pytest.mark.parametrize(("workers", "runs"), [("1", run_in_short), ("2", run_again)])
def test_strongly_connected_components(workers: str, runs: Run) -> None:
    found = references.strong_components(graph(6))
    sizes = Counter(Counter(found.values()).values())
    *lines, last = runs("strongly_connected_components", *SIZE, "--workers", workers, "--seed", "6")
    assert lines == [f"{number} component(s) of {size} nodes" for size, number in sorted(sizes.items(), reverse=True)]
    assert last.startswith(f"{len(found)} nodes on cycles")


@pytest.mark.parametrize(("workers", "runs"), [("1", run_in_short), ("2", run_again)])
def test_pagerank(workers: str, runs: Run) -> None:
    ranks = references.page_ranks(graph(3), NODES, 12)
    best = sorted(ranks.items(), key=lambda item: -item[1])[:3]
    *lines, total, _ = runs("pagerank", *SIZE, "--workers", workers, "--seed", "3", "--rounds", "12")
    assert lines == [f"node {node}: {rank * NODES:.6f} times the average" for node, rank in best]
    assert total == f"sum of ranks: {sum(ranks.values()):.9f}"


@pytest.mark.parametrize(("workers", "runs"), [(1, run_again), (2, run_in_short), (3, run_again)])
def test_diagnostics(workers: int, runs: Run) -> None:
    assert runs("diagnostics", "--workers", str(workers)) == [
        line
        for worker in range(workers)
        for line in (
            f"worker {worker}: data had got to 10 and answers to 0; then answers got to 10",
            f"worker {worker}: questions answered: [{worker}]",
        )
    ]
