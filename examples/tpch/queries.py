"""The queries: of each, the columns it reads, and what is kept up to date.

Money is in hundredths, discounts and taxes in percent: what is multiplied by a discount is in ten-thousandths, by a tax
too in millionths.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

import tokenring as tr
from tokenring import Collection, Count, Sum, col, lit


@dataclass(frozen=True)
class Query:
    """columns: of each table, as words; build: given these tables by name, the answer."""

    columns: dict[str, str]
    build: Callable[..., Collection]


def date(text: str) -> datetime:
    """Its midnight."""
    return datetime.fromisoformat(text)


REVENUE = col("l_extendedprice") * (100 - col("l_discount"))


def best(rows: Collection, number: int, **order: tr.Expression) -> Collection:
    """The first rows of all, in the order of these columns, then of their own."""
    columns = rows.schema.names
    ordered = rows.select(all=lit(0), **order, **{name: col(name) for name in columns})
    return ordered.arrange("all").first(number).collection().select(*columns)


def q1(lineitem: Collection) -> Collection:
    """What was shipped until a day, by flag and status."""
    shipped = lineitem.filter(col("l_shipdate") <= date("1998-09-02"))
    sums = shipped.select(
        "l_returnflag", "l_linestatus", "l_quantity", "l_extendedprice", "l_discount",
        price=REVENUE, charge=REVENUE * (100 + col("l_tax")),
    ).aggregate(
        "l_returnflag l_linestatus",
        sum_qty=Sum("l_quantity"), sum_base_price=Sum("l_extendedprice"), sum_disc_price=Sum("price"),
        sum_charge=Sum("charge"), sum_disc=Sum("l_discount"), count_order=Count(),
    )  # fmt: skip

    def mean(total: str) -> tr.Expression:
        return col(total).cast("float64") / (100 * col("count_order")).cast("float64")

    return sums.with_columns(
        avg_qty=mean("sum_qty"), avg_price=mean("sum_base_price"), avg_disc=mean("sum_disc")
    ).select(
        "l_returnflag", "l_linestatus", "sum_qty", "sum_base_price", "sum_disc_price", "sum_charge",
        "avg_qty", "avg_price", "avg_disc", "count_order",
    )  # fmt: skip


def q3(customer: Collection, orders: Collection, lineitem: Collection) -> Collection:
    """The ten orders of a segment that are not shipped yet and bring most."""
    theirs = customer.filter(col("c_mktsegment") == "BUILDING").select("c_custkey")
    before = orders.filter(col("o_orderdate") < date("1995-03-15"))
    open_orders = before.semijoin(theirs, {"o_custkey": "c_custkey"})
    lines = lineitem.filter(col("l_shipdate") > date("1995-03-15")).select("l_orderkey", revenue=REVENUE)
    revenue = lines.join(open_orders, {"l_orderkey": "o_orderkey"})
    found = revenue.aggregate("l_orderkey o_orderdate o_shippriority", revenue=Sum("revenue"))
    return best(found, 10, most=-col("revenue"), earliest=col("o_orderdate"))


def q4(orders: Collection, lineitem: Collection) -> Collection:
    """Orders of a quarter with a line that came too late, by priority."""
    quarter = orders.filter(
        (col("o_orderdate") >= date("1993-07-01")) & (col("o_orderdate") < date("1993-10-01"))
    )
    late = lineitem.filter(col("l_commitdate") < col("l_receiptdate")).select("l_orderkey")
    found = quarter.semijoin(late, {"o_orderkey": "l_orderkey"})
    return found.aggregate("o_orderpriority", order_count=Count())


def q5(
    customer: Collection, orders: Collection, lineitem: Collection, supplier: Collection, nation: Collection,
    region: Collection,
) -> Collection:  # fmt: skip
    """Revenue within each nation of a region, in a year."""
    asia = region.filter(col("r_name") == "ASIA").select("r_regionkey")
    nations = nation.semijoin(asia, {"n_regionkey": "r_regionkey"}).select("n_nationkey", "n_name")
    suppliers = supplier.join(nations, {"s_nationkey": "n_nationkey"})
    year = orders.filter((col("o_orderdate") >= date("1994-01-01")) & (col("o_orderdate") < date("1995-01-01")))
    theirs = year.select("o_orderkey", "o_custkey").join(customer, {"o_custkey": "c_custkey"})
    lines = lineitem.select("l_orderkey", "l_suppkey", revenue=REVENUE)
    sold = lines.join(theirs.select("o_orderkey", "c_nationkey"), {"l_orderkey": "o_orderkey"})
    within = sold.join(suppliers, {"l_suppkey": "s_suppkey", "c_nationkey": "s_nationkey"})
    return within.aggregate("n_name", revenue=Sum("revenue"))


def q6(lineitem: Collection) -> Collection:
    """What some discounts of a year cost."""
    found = lineitem.filter(
        (col("l_shipdate") >= date("1994-01-01"))
        & (col("l_shipdate") < date("1995-01-01"))
        & col("l_discount").between(5, 7)
        & (col("l_quantity") < 2400)
    ).select(all=lit(0), lost=col("l_extendedprice") * col("l_discount"))
    return found.aggregate("all", revenue=Sum("lost")).select("revenue")


def q9(
    part: Collection, supplier: Collection, lineitem: Collection, partsupp: Collection, orders: Collection,
    nation: Collection,
) -> Collection:  # fmt: skip
    """Profit on a kind of parts, by nation and year."""
    green = part.filter(col("p_name").contains("green")).select("p_partkey")
    lines = lineitem.select("l_orderkey", "l_partkey", "l_suppkey", "l_quantity", revenue=REVENUE)
    costs = lines.semijoin(green, {"l_partkey": "p_partkey"}).join(
        partsupp, {"l_partkey": "ps_partkey", "l_suppkey": "ps_suppkey"}
    )
    profits = costs.select(
        "l_orderkey", "l_suppkey", amount=col("revenue") - col("ps_supplycost") * col("l_quantity")
    )
    of_nations = supplier.join(nation, {"s_nationkey": "n_nationkey"}).select("s_suppkey", "n_name")
    dated = profits.join(orders, {"l_orderkey": "o_orderkey"}).join(of_nations, {"l_suppkey": "s_suppkey"})
    years = dated.select("n_name", "amount", o_year=col("o_orderdate").year())
    return years.aggregate("n_name o_year", sum_profit=Sum("amount"))


def q10(customer: Collection, orders: Collection, lineitem: Collection, nation: Collection) -> Collection:
    """The twenty customers who sent back most in a quarter."""
    quarter = orders.filter(
        (col("o_orderdate") >= date("1993-10-01")) & (col("o_orderdate") < date("1994-01-01"))
    )
    returned = lineitem.filter(col("l_returnflag") == "R").select("l_orderkey", revenue=REVENUE)
    lost = returned.join(quarter.select("o_orderkey", "o_custkey"), {"l_orderkey": "o_orderkey"})
    totals = lost.aggregate("o_custkey", revenue=Sum("revenue"))
    named = totals.join(customer, {"o_custkey": "c_custkey"}).join(nation, {"c_nationkey": "n_nationkey"})
    found = named.select(
        "revenue", "c_name", "c_acctbal", "n_name", "c_address", "c_phone", "c_comment", c_custkey=col("o_custkey")
    )
    return best(found, 20, most=-col("revenue"), key=col("c_custkey"))


def q13(customer: Collection, orders: Collection) -> Collection:
    """How many customers have how many orders, none among them."""
    plain = orders.filter(~col("o_comment").matches("special.*requests")).select("o_orderkey", "o_custkey")
    both = customer.left_join(plain, {"c_custkey": "o_custkey"})
    counts = both.aggregate("c_custkey", c_count=Count("o_orderkey"))
    return counts.aggregate("c_count", custdist=Count())


def q18(customer: Collection, orders: Collection, lineitem: Collection) -> Collection:
    """The hundred dearest of the large orders."""
    large = lineitem.aggregate("l_orderkey", quantity=Sum("l_quantity")).filter(col("quantity") > 30_000)
    named = orders.join(large, {"o_orderkey": "l_orderkey"}).join(customer, {"o_custkey": "c_custkey"})
    found = named.select(
        "c_name", "o_orderkey", "o_orderdate", "o_totalprice", "quantity", c_custkey=col("o_custkey")
    )
    return best(found, 100, dearest=-col("o_totalprice"), earliest=col("o_orderdate"), key=col("o_orderkey"))


def q21(supplier: Collection, lineitem: Collection, orders: Collection, nation: Collection) -> Collection:
    """Suppliers of a nation who alone were late with orders of several suppliers."""
    saudi = nation.filter(col("n_name") == "SAUDI ARABIA").select("n_nationkey")
    suppliers = supplier.semijoin(saudi, {"s_nationkey": "n_nationkey"}).select("s_suppkey", "s_name")
    filled = orders.filter(col("o_orderstatus") == "F").select("o_orderkey")
    lines = lineitem.semijoin(filled, {"l_orderkey": "o_orderkey"})
    late = lines.filter(col("l_receiptdate") > col("l_commitdate")).select("l_orderkey", "l_suppkey")
    served = lines.select("l_orderkey", "l_suppkey").distinct().count("l_orderkey").filter(col("count") > 1)
    blamed = late.distinct().count("l_orderkey").filter(col("count") == 1)
    alone = late.semijoin(served, "l_orderkey").semijoin(blamed, "l_orderkey")
    waits = alone.join(suppliers, {"l_suppkey": "s_suppkey"}).aggregate("s_name", numwait=Count())
    return best(waits, 100, most=-col("numwait"), name=col("s_name"))


_SUPPLIER, _NATION = "s_suppkey s_nationkey", "n_nationkey n_name"
QUERIES: dict[str, Query] = {
    "q1": Query(
        {
            "lineitem": "l_orderkey l_returnflag l_linestatus l_quantity l_extendedprice l_discount l_tax l_shipdate",
        },
        q1,
    ),
    "q3": Query(
        {
            "customer": "c_custkey c_mktsegment",
            "orders": "o_orderkey o_custkey o_orderdate o_shippriority",
            "lineitem": "l_orderkey l_extendedprice l_discount l_shipdate",
        },
        q3,
    ),
    "q4": Query(
        {"orders": "o_orderkey o_orderdate o_orderpriority", "lineitem": "l_orderkey l_commitdate l_receiptdate"}, q4
    ),
    "q5": Query(
        {
            "customer": "c_custkey c_nationkey",
            "orders": "o_orderkey o_custkey o_orderdate",
            "lineitem": "l_orderkey l_suppkey l_extendedprice l_discount",
            "supplier": _SUPPLIER,
            "nation": f"{_NATION} n_regionkey",
            "region": "r_regionkey r_name",
        },
        q5,
    ),
    "q6": Query({"lineitem": "l_orderkey l_shipdate l_discount l_quantity l_extendedprice"}, q6),
    "q9": Query(
        {
            "part": "p_partkey p_name",
            "supplier": _SUPPLIER,
            "lineitem": "l_orderkey l_partkey l_suppkey l_quantity l_extendedprice l_discount",
            "partsupp": "ps_partkey ps_suppkey ps_supplycost",
            "orders": "o_orderkey o_orderdate",
            "nation": _NATION,
        },
        q9,
    ),
    "q10": Query(
        {
            "customer": "c_custkey c_name c_address c_nationkey c_phone c_acctbal c_comment",
            "orders": "o_orderkey o_custkey o_orderdate",
            "lineitem": "l_orderkey l_extendedprice l_discount l_returnflag",
            "nation": _NATION,
        },
        q10,
    ),
    "q13": Query({"customer": "c_custkey", "orders": "o_orderkey o_custkey o_comment"}, q13),
    "q18": Query(
        {
            "customer": "c_custkey c_name",
            "orders": "o_orderkey o_custkey o_orderdate o_totalprice",
            "lineitem": "l_orderkey l_quantity",
        },
        q18,
    ),
    "q21": Query(
        {
            "supplier": f"{_SUPPLIER} s_name",
            "lineitem": "l_orderkey l_suppkey l_commitdate l_receiptdate",
            "orders": "o_orderkey o_orderstatus",
            "nation": _NATION,
        },
        q21,
    ),
}
