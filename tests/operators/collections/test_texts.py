"""Collections of texts: in loops, of several dataflows, and where there is no room for them."""

from collections import Counter
from typing import Any

import pytest

import tokenring as tr
from tests.errors import raises
from tests.operators.collections.harness import TIMES, Rows, at, made_up, run_several
from tests.operators.collections.test_graphs import closed
from tests.operators.helpers import no_text_space
from tokenring import Collection
from tokenring.operators.collections.words import Entering

NAMES = ["", "a", "Ö", "b" * 40, "日本", "b" * 39 + "c"]
EDGE = tr.Schema(k="string", v="string", time="int64", times="int64")


def named_edges(seed: int) -> list[tuple[Any, ...]]:
    return [(NAMES[k], NAMES[v], time, times) for k, v, time, times in made_up(seed, 40, len(NAMES), len(NAMES))]


def paths(edges: Collection) -> Collection:
    """The transitive closure, by names that are made anew in each round."""

    def body(found: Collection, loop: Any) -> Collection:
        ends = found.select(begin=tr.col("k"), k=tr.col("v"))
        further = ends.join(edges.enter(loop), "k").select(k=tr.col("begin"), v=tr.col("v"))
        apart = further.with_columns(v=(tr.col("v") + "/" + tr.col("v")).split_part("/", 1).fill_null(""))
        return apart.concat(edges.enter(loop)).distinct()

    return edges.distinct("edges").iterate(body)


def least_names(edges: Collection) -> Collection:
    """Each name with the least one that leads to it."""
    nodes = edges.select(k=tr.col("k"), v=tr.col("k")).concat(edges.select(k=tr.col("v"), v=tr.col("v"))).distinct()

    def body(names: Collection, loop: Any) -> Collection:
        further = names.select("k", name=tr.col("v")).join(edges.enter(loop), "k")
        found = further.select(k=tr.col("v"), v=tr.col("name")).concat(nodes.enter(loop))
        return found.arrange("k").first(1).collection()

    return nodes.iterate(body)


def least_of_paths(edges: Rows) -> Rows:
    names = {name for edge in edges for name in edge}
    leads = closed(edges)
    least = {name: min([name, *[k for k, v in leads if v == name]], key=str.encode) for name in names}
    return Counter(dict.fromkeys(least.items(), 1))


@pytest.mark.parametrize("workers", [1, 2])
def test_texts_go_round_in_loops(workers: int) -> None:
    def build(edges: Collection) -> dict[str, Collection]:
        return {"paths": paths(edges), "least names": least_names(edges)}

    for seed in range(3):
        updates = named_edges(seed)
        found = run_several([updates], build, workers, seed, schema=EDGE)
        for time in range(TIMES):
            edges = at(updates, time)
            assert at(found["paths"], time) == closed(edges), (seed, time)
            assert at(found["least names"], time) == least_of_paths(edges), (seed, time)


@pytest.mark.parametrize("workers", [1, 2])
def test_equal_texts_of_two_dataflows_are_one(workers: int) -> None:
    """And those of constants, of expressions and of columns; of many, for which the table of texts has to grow."""
    names = [f"name {number}" for number in range(5_000)]

    def program(worker: tr.Worker) -> list[list[tuple[str, str]]]:
        made = []
        mine = names[worker.index :: worker.peers]
        for number, turned in enumerate((mine, mine[::-1])):
            with worker.dataflow(f"dataflow {number}") as scope:
                left, lefts = scope.new_input(tr.Schema("n", t="string"), "left")
                right, rights = scope.new_input(tr.Schema(t="string"), "right")
                named = rights.collection().with_columns(of=tr.when(tr.col("t") == "name 3").then("").otherwise("x"))
                pairs = lefts.collection().select(t="name " + tr.col("n").cast("string"), other=tr.col("t"))
                made.append(pairs.join(named, "t").select("other", "of").changes().collect())
            left.send({"n": range(worker.index, len(names), worker.peers), "t": mine})
            right.send({"t": turned})
        worker.run()
        columns = [each.columns() for each in made]
        return [list(zip(each["other"].tolist(), each["of"].tolist(), strict=True)) for each in columns]

    found = tr.execute(program, workers=workers)
    for number in range(2):
        pairs = [pair for part in found for pair in part[number]]
        assert sorted(pairs) == sorted((name, "" if name == "name 3" else "x") for name in names)


def test_texts_for_which_there_is_no_room_are_refused_when_they_are_arranged() -> None:
    def program(worker: tr.Worker) -> None:
        with worker.dataflow() as scope:
            _, stream = scope.new_input(EDGE)
            stream.collection("time", "times").filter(tr.col("k") == "a").distinct("names")

    with (
        no_text_space(),
        raises(tr.SchemaError, "operator 'names.arrange'", "column 'k' is text", "`ulimit -v`", "numbers"),
    ):
        tr.execute(program, workers=1)


def test_workers_have_texts_of_their_own_where_the_process_that_starts_them_has_some() -> None:
    names = [f"text of {number}" for number in range(600)]
    schema = tr.Schema(t="string")
    Entering("test", schema).table_of(tr.Batch(schema, {"t": names[:10]}))

    def program(worker: tr.Worker) -> list[tuple[str, int]]:
        with worker.dataflow() as scope:
            handle, stream = scope.new_input(schema)
            made = stream.collection().count("t").changes().collect()
        for time in range(20):
            handle.send({"t": names[time * 30 :] + names[: time * 30 + 30]})
            handle.advance_to(time + 1)
            worker.step()
        worker.run()
        found = made.columns()
        rows = zip(found["t"].tolist(), found["count"].tolist(), found["times"].tolist(), strict=True)
        counts = Counter[tuple[str, int]]()
        for name, count, times in rows:
            counts[name, count] += times
        return [row for row, times in counts.items() if times]

    found = [row for part in tr.execute(program, workers=2) for row in part]
    assert sorted(found) == [(name, 42) for name in sorted(names)]
