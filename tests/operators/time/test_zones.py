"""Windows by the clock of a time zone, against pandas: days of 23 and 25 hours, hours that come twice or not at all."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from tests.errors import raises
from tests.operators.helpers import bench
from tokenring.engine import Schema, SchemaError, Scope
from tokenring.operators import Count, Tumbling, aggregate, join, reduce, top

STAMPED = Schema("v", at="timestamp")


@pytest.mark.parametrize("key", ["", "v"])
@pytest.mark.parametrize("workers", [1, 3])
@pytest.mark.parametrize(("width", "frequency"), [("1d", "D"), ("1h", "h"), ("30min", "30min")])
@pytest.mark.parametrize(
    ("zone", "day"),
    [
        ("Europe/Berlin", "2024-03-31"),  # 23 hours
        ("Europe/Berlin", "2024-10-27"),  # 25
        ("America/New_York", "2024-11-03"),
        ("Asia/Kolkata", "2024-07-01"),  # half an hour beside UTC's
        ("America/Sao_Paulo", "2018-11-04"),  # no midnight
    ],
)
def test_windows_are_those_of_pandas(zone: str, day: str, width: str, frequency: str, workers: int, key: str) -> None:
    middle = np.datetime64(day, "ns").astype(np.int64)
    instants = np.arange(middle - 40 * 3600 * 10**9, middle + 60 * 3600 * 10**9, 7 * 60 * 10**9).view("datetime64[ns]")
    window = Tumbling("at", width, zone=zone)
    with bench([STAMPED], lambda stream: aggregate(stream, key, window=window, n=Count()), workers) as made:
        for worker in range(workers):
            mine = instants[worker::workers]
            made.send({"v": np.ones(len(mine), np.int64), "at": mine}, worker=worker)
        made.close()
    local = pd.Series(1, index=pd.DatetimeIndex(instants, tz="UTC").tz_convert(zone))
    expected = local.resample(frequency).sum()
    expected = expected[expected > 0]
    starts = expected.index.tz_convert("UTC").as_unit("ns").asi8.tolist()
    rows = sorted((_whole(row[2]), row[-1]) for row in made.rows)
    assert rows == list(zip(starts, expected.tolist(), strict=True))


def _whole(cell: object) -> int:
    """Cells as a bench records them, of any kind, in ns."""
    return int(np.datetime64(cell, "ns").astype(np.int64)) if hasattr(cell, "year") else int(cell)  # type: ignore[call-overload]


def test_a_day_closes_when_it_is_over_there() -> None:
    """27 October 2024 in Berlin: from 22:00 UTC to 23:00 UTC of the next day."""
    start = np.datetime64("2024-10-26T22:00", "ns").astype(np.int64).item()
    hours = 3600 * 10**9
    window = Tumbling("at", "1d", zone="Europe/Berlin")
    with bench([STAMPED], lambda stream: aggregate(stream, window=window, n=Count())) as made:
        made.send({"v": [1], "at": [start]}, time=start)
        made.advance(start + 25 * hours - 1)
        assert made.sent() == []
        made.advance(start + 25 * hours + 1)
        ((time, *_, count),) = made.sent()
        assert (time, count) == (start + 25 * hours, 1)


@pytest.mark.parametrize("day", ["2024-03-31", "2024-10-27"])
def test_rows_that_are_kept_by_day(day: str) -> None:
    """Of days of 23 and 25 hours, the ones around them and all rows of one message."""
    start, hour = np.datetime64(day, "h") - np.timedelta64(50, "h"), 3600 * 10**9
    instants = (start.astype("datetime64[ns]").astype(np.int64) + hour * np.arange(100)).view("datetime64[ns]")
    local = pd.Series(np.arange(100), index=pd.DatetimeIndex(instants, tz="UTC").tz_convert("Europe/Berlin"))
    window = Tumbling("at", "1d", zone="Europe/Berlin", start=None)
    for make, expected in (
        (lambda s: reduce(s, "", lambda rows, starts: {"n": np.diff(starts, append=rows.rows)}, Schema("n"),
                          window=window), local.resample("D").count()),
        (lambda s: top(s, order="v", k=1, window=window, rank=None), local.resample("D").max()),
    ):  # fmt: skip
        with bench([STAMPED], make) as made:
            made.send({"v": np.arange(100), "at": instants})
            made.close()
            assert [row[3] for row in made.rows] == expected.tolist()


def test_what_has_no_zone() -> None:
    stream = Scope("zones").new_input(Schema("k n", at="timestamp"))[1]
    for window, says in (
        (Tumbling("at", "1d", zone="Berlin"), ("operator 'aggregate'", "'Berlin'", "'Europe/Berlin'")),
        (Tumbling("n", 10, zone="Europe/Berlin"), ("operator 'aggregate'", "timestamp", "'n' is int64")),
        (Tumbling("at", "5ms", zone="Europe/Berlin"), ("operator 'aggregate'", "whole seconds", "5000000 ns")),
    ):
        with raises(SchemaError, says):
            aggregate(stream, window=window, n=Count())
    with raises(SchemaError, "operator 'join'", "zone", "local time"):
        join(stream, stream, on="k", columns="k", window=Tumbling("at", "1d", zone="Europe/Berlin"))
