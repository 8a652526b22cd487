"""Windows by the clock of a time zone, against pandas: days of 23 and 25 hours, hours that come twice or not at all."""

from __future__ import annotations

from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import pytest

from tests.errors import raises
from tests.operators.helpers import bench
from tokenring.engine import Schema, SchemaError, Scope
from tokenring.operators import SECOND, Count, Tumbling, aggregate, join, reduce, top
from tokenring.operators.time.zones import WallClock

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


def by_definition(zone: str, width: int, offset: int, first: int, last: int) -> list[int]:
    """Where windows end, in seconds: each time that is a multiple, asked for one by one; what is skipped, or is there
    twice, as `datetime` has it."""
    epoch, ends = datetime(1970, 1, 1), set()
    for wall in range((first - 3 * 86400 - offset) // width - 1, (last + 3 * 86400 - offset) // width + 3):
        shown = epoch + timedelta(seconds=wall * width + offset)
        once, again = [shown.replace(tzinfo=ZoneInfo(zone), fold=fold).timestamp() for fold in (0, 1)]
        ends |= {int(once), int(again)} if again > once and (again - once) % width == 0 else {int(once)}
    return sorted(ends)


CHANGES = {
    "Europe/Berlin": ("2024-03-31T01:00", "2024-10-27T01:00"),
    "America/Sao_Paulo": ("2018-11-04T03:00",),
    "Australia/Lord_Howe": ("2024-04-06T15:00", "2024-10-05T15:30"),  # half an hour
    "Pacific/Apia": ("2011-12-30T10:00",),  # a day that was not
    "America/Caracas": ("2007-12-09T07:00",),
    "Africa/Freetown": ("1939-09-01T00:00", "1939-09-05T00:00"),  # twice in four days
    "Asia/Kolkata": ("1945-10-14T17:30",),
    "UTC": ("2200-01-01T00:00",),
}


@pytest.mark.parametrize("offset", [0, 1])
@pytest.mark.parametrize("width", [2400, 3600, 5000, 86400, 7 * 86400, 40 * 86400])
@pytest.mark.parametrize("zone", CHANGES)
def test_they_end_as_their_definition_says(zone: str, width: int, offset: int) -> None:
    """Around each change, in kernels and beside them, whatever part of time was asked for before."""
    offset *= 777
    window = Tumbling("at", f"{width}s", f"{offset}s", zone=zone)
    for change in CHANGES[zone]:
        at = int(np.datetime64(change, "s").astype(np.int64))
        span = max(2 * width, 2 * 86400)
        seconds = sorted({at, at - 1, at + 1, *range(at - span, at + span, max(width // 7, 600))})
        known = np.array(by_definition(zone, width, offset, seconds[0], seconds[-1]))
        ends = known[np.searchsorted(known, seconds, "right")]
        starts = known[np.searchsorted(known, ends) - 1]
        clock = WallClock(ZoneInfo(zone), width * SECOND, offset * SECOND)
        for part in (seconds[:3], seconds[-3:], seconds):
            expected = ends[np.searchsorted(seconds, part)] * SECOND
            assert clock.ends(np.array(part, np.int64) * SECOND).tolist() == expected.tolist()
        assert [clock.start(int(end) * SECOND) for end in ends] == (starts * SECOND).tolist()
        if seconds[0] < 0:
            continue
        with bench([STAMPED], lambda stream: aggregate(stream, window=window, n=Count())) as made:
            for part in (seconds[1::3], seconds[::3], seconds[2::3]):
                made.send({"v": [1] * len(part), "at": (np.array(part) * SECOND).view("datetime64[ns]")})
            made.close()
        both, counts = np.unique(np.stack([starts, ends]), axis=1, return_counts=True)
        found = sorted((*map(_whole, row[2:4]), row[4]) for row in made.rows)
        assert found == [(*pair, n) for pair, n in zip((both * SECOND).T.tolist(), counts.tolist(), strict=True)]


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
