"""Searches, components and ranks against references that take one edge at a time, on groups in any order of steps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.errors import raises
from tests.long_form import examples
from tests.operators.graphs import references
from tests.operators.graphs.references import Edges
from tests.operators.helpers import bench
from tokenring.engine import OperatorError, Schema, SchemaError, Stream, UsageError
from tokenring.operators import map_batches
from tokenring.operators.graphs import least_values, page_rank, random_edges
from tokenring.operators.graphs.components import connected_components, ends, strongly_connected_components
from tokenring.operators.graphs.least_values import NODE_VALUE

EDGE = Schema("src dst")
graphs = st.integers(1, 12).flatmap(
    lambda nodes: st.lists(st.tuples(st.integers(0, nodes - 1), st.integers(0, nodes - 1)), max_size=30)
)


def outcomes(
    declare: Callable[[Stream], Stream], epochs: list[Edges], workers: int, **settings: Any
) -> list[dict[int, Any]]:
    """What comes out for each of the graphs, one a time: node -> value. Edges are spread over the workers."""
    with bench([EDGE], declare, workers, **settings) as made:
        for time, edges in enumerate(epochs):
            for worker in range(workers):
                share = edges[worker::workers]
                columns = {"src": [src for src, _ in share], "dst": [dst for _, dst in share]}
                made.send(columns, worker=worker, time=time)
        made.close()
        rows = made.sent()
    found: list[dict[int, Any]] = [{} for _ in epochs]
    for time, node, value in rows:
        assert node not in found[time], "a node comes once"
        found[time][node] = value
    return found


def least_reaching(edges: Stream) -> Stream:
    return least_values(edges, ends(edges))


def distances_from_3(edges: Stream) -> Stream:
    """Whoever has an edge at node 3 says that it is the root."""

    def root(batch: Any) -> Any:
        there = 3 in batch["src"] or 3 in batch["dst"]
        return {"node": [3] * there, "value": [0] * there}

    return least_values(edges, map_batches(edges, NODE_VALUE, root), step=1)


@settings(max_examples=examples(25))
@given(st.lists(graphs, min_size=1, max_size=3), st.integers(1, 3))
def test_strong_components(epochs: list[Edges], workers: int) -> None:
    found = outcomes(strongly_connected_components, epochs, workers)
    assert found == [references.strong_components(edges) for edges in epochs]


@settings(max_examples=examples(25))
@given(st.lists(graphs, min_size=1, max_size=3), st.integers(1, 3))
def test_components(epochs: list[Edges], workers: int) -> None:
    found = outcomes(connected_components, epochs, workers)
    assert found == [references.components(edges) for edges in epochs]


@settings(max_examples=examples(25))
@given(st.lists(graphs, min_size=1, max_size=3), st.integers(1, 3))
def test_distances(epochs: list[Edges], workers: int) -> None:
    found = outcomes(distances_from_3, epochs, workers)
    for edges, values in zip(epochs, found, strict=True):
        assert values == (references.distances(edges, 3) if any(3 in edge for edge in edges) else {})


@pytest.mark.parametrize("step", [0, 1])
@pytest.mark.parametrize("nodes", [31, 32, 33, 63, 64, 65, 99, 127, 128, 129, 255, 256, 257, 1023, 1024, 1025])
def test_sizes_around_the_growth_of_the_index(nodes: int, step: int) -> None:
    """Small values come before the edges have filled the index, greater ones after it: a path, seeded at its start, its
    end, in its middle, or beside it, one case a time.
    """
    path = [(node, node + 1) for node in range(1, nodes)]
    places = (1, nodes, nodes // 2, -7)
    seeds = [[(place, value)] for place in places for value in (0, 5)] + [[(-7, 0), (nodes - 3, 2), (1, 40)], []]
    with bench([EDGE, NODE_VALUE], lambda edges, seeds: least_values(edges, seeds, step)) as made:
        for time, seeded in enumerate(seeds):
            made.send({"src": [src for src, _ in path], "dst": [dst for _, dst in path]}, time=time)
            made.send({"node": [node for node, _ in seeded], "value": [value for _, value in seeded]}, to=1, time=time)
        made.close()
        found = made.sent()
    assert found == sorted(
        (time, node, value)
        for time, seeded in enumerate(seeds)
        for node, value in references.least(path, seeded, step).items()
    )


seeds_of = st.lists(st.tuples(st.integers(0, 12), st.integers(-3, 300) | st.integers(2**40, 2**61)), max_size=8)


@settings(max_examples=examples(40))
@given(st.lists(st.tuples(graphs, seeds_of), min_size=1, max_size=3), st.integers(1, 3), st.sampled_from([0, 1, 7]))
def test_least_values(epochs: list[tuple[Edges, list[tuple[int, int]]]], workers: int, step: int) -> None:
    """Seeds of all sizes, which come at their own rounds, and several of one node."""
    with bench([EDGE, NODE_VALUE], lambda edges, seeds: least_values(edges, seeds, step), workers) as made:
        for time, (edges, seeds) in enumerate(epochs):
            for worker in range(workers):
                for to, (names, rows) in enumerate(((EDGE.names, edges), (NODE_VALUE.names, seeds))):
                    columns = {name: [row[at] for row in rows[worker::workers]] for at, name in enumerate(names)}
                    made.send(columns, worker=worker, to=to, time=time)
        made.close()
        assert made.sent() == sorted(
            (time, node, value)
            for time, (edges, seeds) in enumerate(epochs)
            for node, value in references.least(edges, seeds, step).items()
        )


@settings(max_examples=examples(25))
@given(st.lists(graphs.filter(bool), min_size=1, max_size=2), st.integers(1, 3), st.integers(0, 6))
def test_ranks(epochs: list[Edges], workers: int, rounds: int) -> None:
    found = outcomes(lambda edges: page_rank(edges, 12, rounds), epochs, workers)
    for edges, ranks in zip(epochs, found, strict=True):
        assert ranks == pytest.approx(references.page_ranks(edges, 12, rounds), rel=1e-12)


@pytest.mark.parametrize("workers", [1, 2, 4])
def test_larger_graphs_through_tiny_queues(workers: int) -> None:
    edges = list(zip(*(column.tolist() for column in random_edges(2000, 4000, seed=5)), strict=True))
    tiny = {"queue_bytes": 4096, "ring_records": 64}
    assert outcomes(strongly_connected_components, [edges], workers, **tiny) == [references.strong_components(edges)]
    assert outcomes(connected_components, [edges], workers, **tiny) == [references.components(edges)]
    assert outcomes(distances_from_3, [edges], workers, **tiny) == [references.distances(edges, 3)]
    (ranks,) = outcomes(lambda stream: page_rank(stream, 2000, 5), [edges], workers, **tiny)
    assert ranks == pytest.approx(references.page_ranks(edges, 2000, 5), rel=1e-9)


@pytest.mark.parametrize("workers", [1, 3])
def test_long_ways(workers: int) -> None:
    """A path takes as many rounds as it has edges, and strong components take its edges in one turn of the outer loop.
    """
    path = [(node, node + 1) for node in range(3, 150)]
    assert outcomes(distances_from_3, [path], workers) == [{node: node - 3 for node in range(3, 151)}]
    assert outcomes(strongly_connected_components, [path], workers) == [{}]
    assert outcomes(strongly_connected_components, [[*path, (150, 3)]], workers) == [dict.fromkeys(range(3, 151), 3)]


MADE: dict[str, Callable[[Stream], Stream]] = {
    "page_rank": lambda edges: page_rank(edges, 4, 3),
    "connected_components": connected_components,
    "strongly_connected_components": strongly_connected_components,
    "ends": ends,
}


@pytest.mark.parametrize("name", MADE)
def test_edges_are_found_by_name(name: str) -> None:
    edges = {"src": [1, 2, 3, 3], "dst": [2, 3, 1, 4]}
    found = []
    for schema in (EDGE, Schema("weight dst src")):
        with bench([schema], MADE[name]) as made:
            made.send({"weight": [9, 8, 7, 6], **edges} if "weight" in schema.positions else edges)
            made.close()
            found.append(made.sent())
    assert found[0] == found[1]


@pytest.mark.parametrize("name", MADE)
@pytest.mark.parametrize(
    "schema",
    [
        Schema(src="string", dst="string"), Schema(src="int64?", dst="int64"), Schema(src="int64", dst="float64"),
        Schema(src="timestamp", dst="timestamp"), Schema("src to"),
    ],
    ids=str,
)  # fmt: skip
def test_nodes_are_numbers(name: str, schema: Schema) -> None:
    with raises(SchemaError, f"operator {name!r}", "'src' and 'dst'", "int64", "select"), bench([schema], MADE[name]):
        pass


def test_least_values_are_of_two_columns() -> None:
    with raises(SchemaError, "'least_values'", "edges (from, to)", "two columns"), bench(
        [Schema("weight src dst"), NODE_VALUE], least_values
    ):
        pass
    with raises(SchemaError, "'least_values'", "seeds (node, value)", "string"), bench(
        [EDGE, Schema(node="int64", value="string")], least_values
    ):
        pass


def test_the_greatest_number_is_a_node() -> None:
    assert outcomes(connected_components, [[(2**63 - 1, 2**63 - 1), (-(2**63), 3)]], 2) == [
        {2**63 - 1: 2**63 - 1, -(2**63): -(2**63), 3: -(2**63)}
    ]


@pytest.mark.parametrize("step", [-1, 0.5, True])
def test_values_do_not_sink(step: Any) -> None:
    with raises(UsageError, "'least_values'", "step", f"not {step!r}"), bench(
        [EDGE, NODE_VALUE], lambda edges, seeds: least_values(edges, seeds, step)
    ):
        pass


@pytest.mark.parametrize(
    ("value", "step", "fails"),
    [
        (2**63 - 1, 0, False), (2**63 - 1, 1, True), (2**63 - 2, 1, True), (2**63 - 3, 1, False), (2**63 - 3, 5, True),
        (-(2**63), 2**40, False), (2**62 + 2**61, 2**61, True),
    ],
)  # fmt: skip
def test_values_are_of_64_bits(value: int, step: int, fails: bool) -> None:
    """Two edges lead from the seed: 0 to 1, and to 2."""
    with bench([EDGE, NODE_VALUE], lambda edges, seeds: least_values(edges, seeds, step)) as made:
        made.send({"src": [0, 1], "dst": [1, 2]})
        made.send({"node": [0], "value": [value]}, to=1)
        if fails:
            with raises(OperatorError, "least_values/improve", "UsageError", "2**63 - 1"):
                made.close()
                made.sent()
        else:
            made.close()
            assert made.sent() == [(0, node, value + node * step) for node in range(3)]


@pytest.mark.parametrize(
    ("said", "numbers"),
    [
        ("nodes", (0, 3)), ("nodes", (2.5, 3)), ("rounds", (4, -1)), ("rounds", (4, 2.5)), ("damping", (4, 3, 5)),
        ("damping", (4, 3, float("nan"))), ("damping", (4, 3, "0.85")),
    ],
)  # fmt: skip
def test_ranks_of_what_is_no_number(said: str, numbers: tuple[Any, ...]) -> None:
    with raises(UsageError, "operator 'page_rank'", said, repr(numbers[-1] if said != "nodes" else numbers[0])), bench(
        [EDGE], lambda edges: page_rank(edges, *numbers)
    ):
        pass


def test_a_graph_is_the_same_however_it_is_split() -> None:
    whole = random_edges(100, 1001, seed=9)
    parts = [random_edges(100, 1001, 9, part, 3) for part in range(3)]
    for name in ("src", "dst"):
        for part, batch in enumerate(parts):
            assert batch[name].tolist() == whole[name][part::3].tolist()
    assert set(whole["src"].tolist()) == set(range(100)), "1001 draws from 100 leave none out"
    assert whole["src"].tolist() != random_edges(100, 1001, seed=8)["src"].tolist()


def _splitmix(number: int) -> int:
    """SplitMix64's answer to a state, as Steele, Lea and Flood have it."""
    word = (number + 0x9E3779B97F4A7C15) % 2**64
    word = (word ^ word >> 30) * 0xBF58476D1CE4E5B9 % 2**64
    word = (word ^ word >> 27) * 0x94D049BB133111EB % 2**64
    return word ^ word >> 31


def test_a_seed_is_the_same_graph_everywhere() -> None:
    """Published figures name graphs by their seeds."""
    edges = random_edges(1_000, 50, seed=3)
    ends = [_splitmix(_splitmix(number) ^ _splitmix(3)) % 1_000 for number in range(100)]
    assert (edges["src"].tolist(), edges["dst"].tolist()) == (ends[::2], ends[1::2])
