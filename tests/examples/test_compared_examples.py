"""The example programs over tables print what DuckDB, pandas and Polars answer."""

from __future__ import annotations

import ast
from pathlib import Path

import networkx
import numpy as np
import pandas as pd
import polars  # noqa: F401  # or each copy imports it
import pytest

from tests.duck import answer
from tests.examples.programs import FOLDER, Run, run, run_again, run_in_short


def docstring(name: str) -> str:
    return ast.get_docstring(ast.parse((FOLDER / f"{name}.py").read_text()), clean=False) or ""


def shown(name: str) -> list[str]:
    """What an example's first lines say that it prints: what stands indented, but for how it is run."""
    lines = [line.strip() for line in docstring(name).splitlines() if line.startswith("    ")]
    return [line for line in lines if not line.startswith("python ")]


AS_SHOWN = ("debounce", "frames", "one_large_batch", "orders_and_payments", "keyed_state", "staged_orders")


@pytest.mark.parametrize(("name", "runs"), [("hourly_revenue", run), *((name, run_in_short) for name in AS_SHOWN)])
def test_it_prints_what_its_first_lines_say(name: str, runs: Run) -> None:
    assert runs(name) == shown(name)


def sales(rows: int, seed: int) -> pd.DataFrame:
    """Sales, one in a hundred of which is written down long after it was made; shops and amounts may be missing."""
    random = np.random.default_rng(seed)
    seconds = np.arange(rows) * 20 + random.integers(0, 1800, rows)
    seconds -= np.where(random.random(rows) < 0.01, 86_400, 0)
    at = pd.Timestamp("2026-03-01") + pd.to_timedelta(seconds, unit="s")
    amounts = np.where(random.random(rows) < 0.1, np.nan, random.integers(1, 10_000, rows) / 4)
    shops = np.array(["Bern", "Uri", "Zug", None], object)[random.integers(0, 4, rows)]
    return pd.DataFrame({"number": np.arange(rows), "at": at, "shop": shops, "amount": amounts})


@pytest.mark.parametrize("workers", [pytest.param("1", marks=pytest.mark.slow), "2"])
def test_hourly_revenue(workers: str, tmp_path: Path) -> None:
    table = sales(20_000, seed=5)
    table.to_csv(tmp_path / "sales.csv", index=False)
    lines = run_again("hourly_revenue", str(tmp_path / "sales.csv"), "--block-bytes", "4000", "--workers", workers)
    late = [int(line.split(",")[0].removeprefix("too late: sale ")) for line in lines if line.startswith("too late")]
    assert 100 < len(late) < 400  # those of the day before, unless a block began with one
    query = f"""
        select date_trunc('hour', "at") as hour, shop, count(*), sum(amount)
        from '{tmp_path / "sales.csv"}' where number not in {tuple(late)}
        group by all order by hour, shop nulls first
    """
    expected = [
        f"{hour:%Y-%m-%d %H:%M} {shop}: {count} sale(s), {'unknown' if revenue is None else f'{revenue:.2f}'}"
        for hour, shop, count, revenue in answer(query)
    ]
    assert lines[: -len(late)] == expected


def pressed(rows: int, seed: int) -> pd.DataFrame:
    """Presses of ten buttons, many in quick succession, in no order of time."""
    random = np.random.default_rng(seed)
    return pd.DataFrame({"button": random.integers(0, 10, rows), "at": random.integers(0, 40 * rows // 10, rows)})


@pytest.mark.parametrize("workers", ["1", "2"])
def test_debounce(workers: str, tmp_path: Path) -> None:
    table = pressed(3000, seed=2).drop_duplicates()
    table.to_parquet(tmp_path / "pressed.parquet", row_group_size=100)
    lines = run_again("debounce", "--file", str(tmp_path / "pressed.parquet"), "--quiet", "30", "--workers", workers)
    ordered = table.sort_values(["button", "at"])
    following = ordered.groupby("button")["at"].shift(-1, fill_value=10**9)
    settled = ordered[following - ordered["at"] >= 30]
    assert 200 < len(settled) < len(table) // 2
    assert lines == [
        f"button {button}, pressed at {at}, settled at {at + 30}" for button, at in settled.itertuples(index=False)
    ]


@pytest.mark.parametrize("workers", [pytest.param("1", marks=pytest.mark.slow), "2"])
def test_frames(workers: str) -> None:
    lines = run_again("frames", "--rows", "20000", "--workers", workers)
    assert [line.rsplit(":", 1)[1] for line in lines] == [" True"] * 3


def test_one_large_batch() -> None:
    number = np.arange(5_000_000)
    given = pd.DataFrame({"group": number % 1000, "value": number * number % 101})
    assert given.shape == (5_000_000, 2)
    query = "select \"group\", count(*), sum(value)::bigint from given group by all order by all"
    groups = answer(query, given=given)
    assert shown("one_large_batch") == [
        f"{len(number)} rows in {len(groups)} groups, {sum(total for *_, total in groups)} in all",
        *(f"group {group}: {rows} rows, {total}" for group, rows, total in groups[:3]),
    ]


def ranked(tmp_path: Path, edges: pd.DataFrame, nodes: int, rounds: int) -> pd.Series:
    """What the example says of these edges, by node."""
    edges.to_parquet(tmp_path / "edges.parquet", row_group_size=len(edges) // 8)
    size = ("--nodes", str(nodes), "--rounds", str(rounds))
    run_again("pagerank", "--file", str(tmp_path / "edges.parquet"), *size, "--out", str(tmp_path / "ranks.parquet"))
    return pd.read_parquet(tmp_path / "ranks.parquet").set_index("node")["rank"].sort_index()


def test_ranks_are_those_of_networkx(tmp_path: Path) -> None:
    random = np.random.default_rng(4)
    edges = pd.DataFrame(random.integers(0, 2000, (6000, 2)), columns=["src", "dst"])
    graph = networkx.from_pandas_edgelist(edges, "src", "dst", create_using=networkx.MultiDiGraph)
    # Its own ranks need SciPy, which numba imports at every start where it is.
    leads_to, share = networkx.google_matrix(graph), np.full(len(graph), 1 / len(graph))
    for _ in range(150):
        share = share @ leads_to
    expected = dict(zip(graph, share.tolist(), strict=True))
    ranks = ranked(tmp_path, edges, 2000, rounds=150)
    assert sorted(expected) == ranks.index.tolist()
    assert 0 in set(dict(graph.out_degree()).values()), "some lead nowhere"
    np.testing.assert_allclose(ranks, [expected[node] for node in ranks.index], rtol=1e-9)


@pytest.mark.slow
def test_ranks_along_a_million_edges(tmp_path: Path) -> None:
    """Against repeated multiplication, where what is on a node without edges from it goes anywhere."""
    random = np.random.default_rng(8)
    nodes = 300_000
    ends = (random.random((1_000_000, 2)) ** 2 * nodes).astype(np.int64)  # some nodes have very many
    edges = pd.DataFrame(ends, columns=["src", "dst"])
    present = np.unique(ends)
    degree = np.bincount(ends[:, 0], minlength=nodes)
    expected = np.zeros(nodes)
    expected[present] = 1 / len(present)
    for _ in range(100):
        shares = np.divide(expected, degree, out=np.zeros(nodes), where=degree > 0)
        nowhere = expected[degree == 0].sum()
        sums = np.bincount(ends[:, 1], shares[ends[:, 0]], minlength=nodes)
        expected[present] = ((1 - 0.85) / len(present) + 0.85 * (sums + nowhere / len(present)))[present]
    ranks = ranked(tmp_path, edges, nodes, rounds=100)
    assert ranks.index.tolist() == present.tolist()
    np.testing.assert_allclose(ranks, expected[present], rtol=1e-6)


@pytest.mark.parametrize("workers", ["1", "2"])
def test_orders_and_payments(workers: str, tmp_path: Path) -> None:
    random = np.random.default_rng(6)
    files = {}
    for name, rows, other in (("orders", 800, "by"), ("payments", 1200, "amount")):
        numbers = pd.array(random.integers(0, 100, rows), "Int64")
        numbers[random.random(rows) < 0.2] = pd.NA
        days = np.sort(random.integers(0, 10, rows))
        files[name] = tmp_path / f"{name}.csv"
        frame = pd.DataFrame({"day": days, "order": numbers, other: np.arange(rows) + 1000})
        frame.to_csv(files[name], index=False)
    options = [word for name, path in files.items() for word in (f"--{name}", str(path))]
    lines = run_again("orders_and_payments", *options, "--workers", workers)
    query = f"""
        select o."order", "by", amount
        from '{files["orders"]}' o left join '{files["payments"]}' p on o."order" = p."order" and o.day = p.day
    """
    expected = [
        f"not paid that day: order {order} of {by}" if amount is None else f"paid: order {order} of {by}, {amount}"
        for order, by, amount in answer(query)
    ]
    assert sum("order None" in line for line in expected) > 100
    assert sorted(lines) == sorted(expected)


@pytest.mark.parametrize("workers", ["1", "2"])
def test_keyed_state(workers: str, tmp_path: Path) -> None:
    random = np.random.default_rng(9)
    table = pd.DataFrame({"number": np.arange(2000), "user": random.integers(0, 50, 2000), "spent": 1})
    table["spent"] = random.integers(0, 100, 2000)
    table.to_csv(tmp_path / "spent.csv", index=False)
    lines = run_again("keyed_state", "--file", str(tmp_path / "spent.csv"), "--workers", workers)
    most = table.groupby("user")["spent"].cummax().groupby(table["user"]).shift(1, fill_value=0)
    records = table[table["spent"] > most]
    assert 100 < len(records) < 500
    assert lines == [
        f"row {number}: user {user} spent {spent}, more than ever"
        for number, user, spent in records.itertuples(index=False)
    ]
