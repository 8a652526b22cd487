"""The right answers to all queries by DuckDB, from the Parquet files, which the engine does not read."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import duckdb

from tokenring.nexmark.events.schema import STREAMS

_DAY = 86_400_000_000_000
_RANKS = {
    "total": "true",
    "rank1": "price < 10_000",
    "rank2": "price >= 10_000 AND price < 1_000_000",
    "rank3": "price >= 1_000_000",
}
_COUNTS = ", ".join(
    f"{count} FILTER ({condition}) AS {rank}_{what}"
    for what, count in {
        "bids": "count(*)", "bidders": "count(DISTINCT bidder)", "auctions": "count(DISTINCT auction)"
    }.items()
    for rank, condition in _RANKS.items()
)  # fmt: skip
_WINNERS = """
    SELECT a.id, a.seller, a.category, a.expires, max(b.price) AS price FROM auction a JOIN bid b ON b.auction = a.id
    WHERE b.price >= a.reserve AND a.date_time <= b.date_time AND b.date_time < a.expires GROUP BY ALL
"""

# Columns by their names in the query's result. Sums are of DuckDB's HUGEINT, so that none overflows, and made BIGINT in
# the end, since Parquet has no such integers; // cuts off, and `divided` rounds down.
DIVIDED = "CREATE MACRO divided(a, b) AS ((a - ((a % b) + b) % b) // b)::BIGINT"
ANSWERS = {
    "q0": "SELECT auction, bidder, price, date_time FROM bid",
    "q1": "SELECT auction, bidder, divided(price * 89, 100) AS price, date_time FROM bid",
    "q2": "SELECT auction, price FROM bid WHERE auction % 123 = 0",
    "q3": """
        SELECT p.name, p.city, p.state, a.id FROM auction a JOIN person p ON a.seller = p.id
        WHERE a.category = 10 AND p.state IN ('OR', 'ID', 'CA')
    """,
    "q4": f"""
        SELECT category, divided(sum(price), count(*)) AS average, count(*) AS count FROM ({_WINNERS}) GROUP BY category
    """,
    "q5": """
        SELECT window_end, min(auction) FILTER (bids = most) AS auction, most AS bids FROM (
            SELECT *, max(bids) OVER (PARTITION BY window_end) AS most FROM (
                SELECT auction, (date_time // 1_000_000_000 + second) * 1_000_000_000 AS window_end, count(*) AS bids
                FROM bid CROSS JOIN range(1, 61) AS seconds(second) GROUP BY ALL))
        GROUP BY window_end, most
    """,
    "q6": f"""
        SELECT seller, divided(sum(price), count(*)) AS average, count(*) AS count FROM (
            SELECT *, row_number() OVER (PARTITION BY seller ORDER BY expires DESC, id DESC) AS back FROM ({_WINNERS}))
        WHERE back <= 10 GROUP BY seller
    """,
    "q7": """
        SELECT (date_time // 10_000_000_000 + 1) * 10_000_000_000 AS window_end, max(price) AS price FROM bid GROUP BY 1
    """,
    "q8": """
        SELECT p.id AS person, a.id AS auction, a.date_time FROM person p JOIN auction a ON a.seller = p.id
        WHERE a.date_time >= p.date_time AND a.date_time < p.date_time + 12 * 3_600_000_000_000
    """,
    "q11": """
        WITH bids AS (
            SELECT *, coalesce(date_time - lag(date_time) OVER following >= 10_000_000_000, true) AS opens
            FROM bid WINDOW following AS (PARTITION BY bidder ORDER BY date_time)
        ), numbered AS (
            SELECT *, sum(opens::int) OVER (PARTITION BY bidder ORDER BY date_time) AS session
            FROM bids
        )
        SELECT min(date_time) AS window_start, max(date_time) + 10_000_000_000 AS window_end, bidder, count(*) AS bids
        FROM numbered GROUP BY bidder, session
    """,
    "q12": "SELECT bidder, count(*) AS bids FROM bid GROUP BY bidder",
    "q14": """
        SELECT auction, bidder, price * 908 // 1000 AS price, date_time, extra,
            CASE WHEN hour BETWEEN 8 AND 18 THEN 'dayTime' WHEN hour <= 6 OR hour >= 20 THEN 'nightTime'
                ELSE 'otherTime' END AS bid_time_type,
            coalesce(length(extra) - length(replace(extra, 'c', '')), 0) AS c_counts
        FROM (SELECT *, date_time // 3_600_000_000_000 % 24 AS hour FROM bid)
        WHERE price * 908 > 1_000_000_000 AND price * 908 < 50_000_000_000
    """,
    "q9": """
        SELECT id, seller, category, reserve, initial_bid, date_time, expires, bidder, price, bid_time FROM (
            SELECT a.*, b.bidder, b.price, b.date_time AS bid_time,
                row_number() OVER (PARTITION BY a.id ORDER BY b.price DESC, b.date_time, b.event) AS place
            FROM auction a JOIN bid b ON b.auction = a.id AND b.date_time BETWEEN a.date_time AND a.expires)
        WHERE place = 1
    """,
    "q13": """
        SELECT auction, bidder, price, date_time, concat('value-', (auction % 10_000 + 10_000) % 10_000) AS value
        FROM bid
    """,
    "q15": f"SELECT date_time // {_DAY} AS day, {_COUNTS} FROM bid GROUP BY day",
    "q16": f"""
        SELECT channel, date_time // {_DAY} AS day, max(date_time // 60_000_000_000 % 1440) AS minute, {_COUNTS}
        FROM bid GROUP BY channel, day
    """,
    "q17": """
        SELECT auction, date_time // 86_400_000_000_000 AS day, count(*) AS total_bids,
            count(*) FILTER (price < 10_000) AS rank1_bids,
            count(*) FILTER (price >= 10_000 AND price < 1_000_000) AS rank2_bids,
            count(*) FILTER (price >= 1_000_000) AS rank3_bids,
            min(price) AS min_price, max(price) AS max_price, sum(price)::BIGINT AS sum_price,
            divided(sum(price), count(*)) AS avg_price
        FROM bid GROUP BY ALL
    """,
    "q18": """
        SELECT auction, bidder, price, channel, url, date_time FROM (
            SELECT *, row_number() OVER (PARTITION BY bidder, auction ORDER BY date_time DESC, event) AS back FROM bid)
        WHERE back = 1
    """,
    "q19": """
        SELECT auction, rank, price, bidder, date_time FROM (
            SELECT *, row_number() OVER (PARTITION BY auction ORDER BY price DESC, date_time, event) AS rank FROM bid)
        WHERE rank <= 10
    """,
    "q20": """
        SELECT b.auction, b.bidder, b.price, b.channel, b.url, b.date_time, a.item_name, a.description, a.initial_bid,
            a.reserve, a.date_time AS auction_time, a.expires, a.seller, a.category
        FROM bid b JOIN auction a ON b.auction = a.id WHERE a.category = 10
    """,
    "q10": """
        SELECT auction, bidder, price, date_time, extra, strftime(make_timestamp(date_time // 1000), '%Y-%m-%d') AS dt,
            strftime(make_timestamp(date_time // 1000), '%H:%M') AS hm FROM bid
    """,
    "q21": """
        SELECT auction, bidder, price, channel, CASE lower(replace(channel, 'İ', 'i̇'))
            WHEN 'apple' THEN '0' WHEN 'google' THEN '1' WHEN 'facebook' THEN '2' WHEN 'baidu' THEN '3'
            ELSE regexp_extract(url, '(&|^)channel_id=([^&]*)', 2) END AS channel_id
        FROM bid WHERE lower(replace(channel, 'İ', 'i̇')) IN ('apple', 'google', 'facebook', 'baidu')
            OR regexp_matches(url, '(&|^)channel_id=')
    """,
    "q22": """
        SELECT auction, bidder, price, channel, parts[4] AS dir1, parts[5] AS dir2, parts[6] AS dir3
        FROM (SELECT *, string_split(url, '/') AS parts FROM bid)
    """,
}


def write_answer(query: str, folder: Path, to: Path, events: int = 2**62) -> None:
    """Write the right answer over the first events of a staged folder as a Parquet file."""
    write_answers({query: to}, folder, events)


def write_answers(files: Mapping[str, Path], folder: Path, events: int) -> None:
    """As `write_answer`, for several queries."""
    with duckdb.connect() as database:
        database.execute(DIVIDED)
        for stream in STREAMS:
            rows = folder / f"{stream}.parquet" / "*.parquet"
            database.execute(f"CREATE VIEW {stream} AS SELECT * FROM '{rows}' WHERE event < {events}")
        for query, to in files.items():
            database.execute(f"COPY ({ANSWERS[query]}) TO '{to}' (FORMAT parquet)")
