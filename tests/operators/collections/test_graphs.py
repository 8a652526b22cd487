"""Graphs kept up to date, beside networkx and plain loops at every time."""

from collections import Counter
from collections.abc import Callable

import networkx
import pytest

import tokenring as tr
from tests.errors import raises
from tests.operators.collections.harness import Rows, check, run
from tokenring.operators.collections import Collection, graphs

ROUNDS = 6


def edges_of(rows: Collection) -> Collection:
    return rows.select(src=tr.col("k"), dst=tr.col("v"))


def texts_of(rows: Collection) -> Collection:
    """The same, of texts, the other way round, and with something else beside."""
    return rows.select(weight=tr.lit(7), dst=tr.col("v").cast("string"), src=tr.col("k").cast("string"))


def numbers_of(rows: Collection) -> Collection:
    return rows.select(**{name: tr.col(name).cast("int64") for name in rows.schema.names})


def null_for_4(build: Callable[..., Collection]) -> Callable[..., Collection]:
    """A program whose greatest node is null instead: where it comes in, and in what comes out."""

    def nulled(value: tr.Expression) -> tr.Expression:
        return tr.when(value != 4).then(value)

    def with_null(edges: Collection, *others: Collection) -> Collection:
        of_edges = edges.with_columns(k=nulled(tr.col("k")), v=nulled(tr.col("v")))
        made = build(of_edges, *[other.with_columns(k=nulled(tr.col("k"))) for other in others])
        kinds = zip(made.schema.names, made.schema.kinds, strict=True)
        return made.with_columns(**{name: tr.col(name).fill_null(4) for name, kind in kinds if kind.nullable})

    return with_null


def nan_for_4(build: Callable[..., Collection]) -> Callable[..., Collection]:
    """The same of floats, and NaN."""

    def nan(value: tr.Expression) -> tr.Expression:
        return tr.when(value != 4).then(value.cast("float64")).otherwise(float("nan"))

    def with_nan(edges: Collection, *others: Collection) -> Collection:
        of_edges = edges.with_columns(k=nan(tr.col("k")), v=nan(tr.col("v")))
        made = build(of_edges, *[other.with_columns(k=nan(tr.col("k"))) for other in others])
        floats = {name: tr.col(name) for name, kind in made.schema.spec().items() if kind == "float64"}
        return made.with_columns(
            **{name: tr.when(each == each).then(each).otherwise(4.0).cast("int64") for name, each in floats.items()}
        )

    return with_nan


def graph_of(edges: Rows) -> networkx.DiGraph:
    return networkx.DiGraph(list(edges))


def found_once(rows: object) -> Rows:
    return Counter(dict.fromkeys(rows, 1))  # type: ignore[call-overload]


def distances(edges: Rows, roots: Rows) -> Rows:
    found = {root: 0 for root, _ in roots}
    graph = graph_of(edges)
    graph.add_nodes_from(found)
    return found_once(networkx.multi_source_dijkstra_path_length(graph, set(found)).items() if found else ())


def components(edges: Rows) -> Rows:
    whole = networkx.connected_components(graph_of(edges).to_undirected())
    return found_once((node, min(component)) for component in whole for node in component)


def strong(edges: Rows) -> Rows:
    parts = {
        node: number
        for number, part in enumerate(networkx.strongly_connected_components(graph_of(edges)))
        for node in part
    }
    return found_once((src, dst) for src, dst in edges if parts[src] == parts[dst])


def closed(edges: Rows) -> Rows:
    return found_once(networkx.transitive_closure(graph_of(edges)).edges)


def ranked(edges: Rows) -> Rows:
    degrees = Counter[int]()
    for (src, _), times in edges.items():
        degrees[src] += times
    nodes = {node for edge in edges for node in edge}
    now = dict.fromkeys(nodes, graphs.SURFERS)
    for _ in range(ROUNDS):
        following = dict.fromkeys(nodes, graphs.SURFERS // 6)
        for (src, dst), times in edges.items():
            following[dst] += times * (5 * now[src] // (6 * degrees[src]))
        now = following
    return found_once(now.items())


def labelled(edges: Rows, labels: Rows) -> Rows:
    found: dict[int, int] = {}
    graph = graph_of(edges)
    for node, label in labels:
        for reached in {node} | (networkx.descendants(graph, node) if node in graph else set()):
            found[reached] = min(label, found.get(reached, label))
    return found_once(found.items())


def least_labels(edges: Collection, labels: Collection) -> Collection:
    return graphs.least_labels(edges_of(edges), labels.select(node=tr.col("k"), label=tr.col("v")))


PROGRAMS: dict[str, tuple[int, Callable[..., Collection], Callable[..., Rows]]] = {
    "distances": (2, lambda rows, roots: graphs.distances(edges_of(rows), roots.select(node=tr.col("k"))), distances),
    "components": (1, lambda rows: graphs.connected_components(edges_of(rows)), components),
    "strong edges": (1, lambda rows: graphs.strong_edges(edges_of(rows)), strong),
    "closure": (1, lambda rows: graphs.closure(edges_of(rows)), closed),
    "ranks": (1, lambda rows: graphs.page_rank(edges_of(rows), ROUNDS), ranked),
    "labels": (2, least_labels, labelled),
    "components of texts": (1, lambda rows: numbers_of(graphs.connected_components(texts_of(rows))), components),
    "strong edges of texts": (1, lambda rows: numbers_of(graphs.strong_edges(texts_of(rows))), strong),
    "closure of texts": (1, lambda rows: numbers_of(graphs.closure(texts_of(rows))), closed),
    "ranks of texts": (1, lambda rows: numbers_of(graphs.page_rank(texts_of(rows), ROUNDS)), ranked),
}


@pytest.mark.parametrize(
    ("name", "other"),
    [(name, null_for_4) for name in PROGRAMS] + [(name, nan_for_4) for name in PROGRAMS if not name.endswith("texts")],
)
def test_null_and_nan_are_nodes_too(name: str, other: Callable[..., Callable[..., Collection]]) -> None:
    """Null was where edges end, and not where they begin; NaN was not where both ends of an edge are."""
    inputs, build, expected = PROGRAMS[name]
    check(other(build), expected, inputs, 2, seeds=2)


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_graph_has_at_every_time_what_follows_from_its_edges(name: str, workers: int) -> None:
    inputs, build, expected = PROGRAMS[name]
    check(build, expected, inputs, workers, seeds=3)


@pytest.mark.parametrize("name", ["connected_components", "strong_edges", "closure", "page_rank"])
def test_edges_without_ends_are_refused(name: str) -> None:
    graph = getattr(graphs, name)
    with raises(tr.SchemaError, f"operator {name!r}", "'src' and 'dst'", "Schema(k=int64, v=int64)", "select"):
        run([[(1, 2, 0, 1)]], graph, 1, 0)
    with raises(tr.SchemaError, f"operator {name!r}", "of one kind", "src=int64, dst=string"):
        run([[(1, 2, 0, 1)]], lambda rows: graph(rows.select(src=tr.col("k"), dst=tr.col("v").cast("string"))), 1, 0)


def test_ranks_are_of_one_round_at_least() -> None:
    with raises(tr.UsageError, "operator 'page_rank'", "rounds", "1 or more", "not 0"):
        run([[(1, 2, 0, 1)]], lambda rows: graphs.page_rank(edges_of(rows), 0), 1, 0)


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize(
    "build",
    [
        lambda edges: graphs.distances(edges, edges.select(node=tr.lit(0)).distinct("root")),
        graphs.connected_components, graphs.strong_edges, graphs.closure, graphs.page_rank,
        lambda edges: edges.iterate(lambda found, loop: found.concat(edges.enter(loop)).distinct()),
    ],
)  # fmt: skip
def test_no_operator_of_a_loop_is_pythons(build: Callable[[Collection], Collection], workers: int) -> None:
    """But edges across its border, which run nowhere."""

    def program(worker: tr.Worker) -> list[str]:
        with worker.dataflow("loop") as scope:
            handle, rows = scope.new_input(tr.Schema("src dst"), name="edges")
            build(tr.collection(rows)).changes().sink("sink", lambda context: lambda port: [*port] and None)
        handle.close()
        inside = [
            operator
            for operator in worker.inspection.operators
            if not operator.is_relay and operator.inputs and operator.inputs[0].depth > 1
        ]
        assert len(inside) > 2
        return [operator.name for operator in inside if operator.compiled < 0]

    assert tr.execute(program, workers=workers) == [[]] * workers
