"""What operators weigh: arrays, containers, Arrow, what is shared, what is the engine's."""

import functools
import mmap
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from tokenring.engine import Batch, Config, Exchange, InputPort, OperatorContext, Schema, int64, kernel, void
from tokenring.engine.budget import weigh, weights
from tokenring.engine.worker.simulation import SimulatedGroup
from tokenring.operators import Count, Throttle, aggregate
from tokenring.operators.state import grown

_MIB = 2**20


class _Slotted:
    __slots__ = ("array",)

    def __init__(self, array: np.ndarray) -> None:
        self.array = array


def _closure(array: np.ndarray) -> Callable[[], Any]:
    def logic() -> Any:
        return array

    return logic


@pytest.mark.parametrize(
    "hold",
    [
        lambda array: [array, array[10:], array[:5]],
        lambda array: {"a": {"b": (array,)}},
        _closure,
        lambda array: functools.partial(print, array),
        lambda array: SimpleNamespace(rows=[_Slotted(array)]),
        lambda array: _Slotted(array.reshape(-1, 2).T),
        lambda array: Batch(Schema("n"), {"n": array}),
        lambda array: (row for row in array),
        lambda array: iter([array]),
        lambda array: _closure(_closure(array)),
    ],
)
def test_an_array_counts_once_whoever_holds_it(hold: Callable[[np.ndarray], Any]) -> None:
    held = hold(np.ones(_MIB // 8, np.int64))
    assert _MIB <= weigh(held, [held]) < _MIB + 20_000


def test_many_small_objects_are_weighed_by_some_of_them() -> None:
    many = {number: [float(number)] for number in range(50_000)}
    each = 28 + 24 + 56 + 8  # an int, a float, a list of one
    assert 0.8 * 50_000 * each < weigh(many) - many.__sizeof__() < 1.2 * 50_000 * each
    assert weigh([many, many]) < 1.01 * weigh(many) + 1_000


def test_a_table_that_grows_where_it_is_counts_by_what_is_used() -> None:
    table = np.zeros(1_000, np.int64)
    for length in (40_000, 100_000, 300_000):
        table = grown(table, length)
    assert table.nbytes <= weigh([table, table[:7]]) < 2 * table.nbytes


def test_what_is_mapped_from_files_does_not_count(tmp_path: Path) -> None:
    (tmp_path / "rows").write_bytes(bytes(_MIB))
    with open(tmp_path / "rows", "rb") as file:
        mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    assert weigh(np.frombuffer(mapped, np.int64), np.memmap(tmp_path / "rows", mode="r")) < 10_000
    assert weigh(mmap.mmap(-1, _MIB)) < 10_000 < _MIB <= weigh(np.frombuffer(mmap.mmap(-1, _MIB), np.int64))


def test_arrow_counts_by_its_buffers() -> None:
    column = np.arange(_MIB // 8)
    table = pa.table({"n": pa.array(column + 1), "m": pa.array(column + 2)})
    assert 2 * _MIB <= weigh(table, table.column("n")) < 2 * _MIB + 20_000


def test_objects_may_say_what_they_keep_elsewhere() -> None:
    class Kept:
        kept_bytes = 12_345

    class Broken:
        @property
        def kept_bytes(self) -> int:
            raise RuntimeError("in the middle of a change")

    assert 12_345 <= weigh(Kept()) <= 12_345 + 100
    assert weigh(Throttle()) < 1_000, "a bound is nothing that is kept"
    assert 0 < weigh([Broken()]) < 10_000


def test_operators_of_a_worker_the_heaviest_first() -> None:
    schema = Schema("key")
    kept = []

    def keep(context: OperatorContext) -> Callable[[InputPort], None]:
        rows: list[Batch] = []

        def logic(port: InputPort) -> None:
            for _, batch in port:
                rows.append(batch)

        return logic

    def leave(context: OperatorContext) -> Callable[[InputPort], None]:
        return lambda port: None

    group = SimulatedGroup(Config(workers=1))
    (worker,) = group.workers
    with worker.dataflow() as scope:
        handle, stream = scope.new_input(schema)
        stream.sink("keeps", keep, Exchange("key"))
        stream.sink("leaves", leave)
        aggregate(stream, "key", count=Count()).sink("nothing", leave)
    for at in range(10):
        column = np.arange(at * 20_000, (at + 1) * 20_000)
        handle.send({"key": column})
        kept.append(column.nbytes)
        worker.step()
    found = {weight.operator: weight for weight in weights(worker.inspection.operators)}
    assert sum(kept) <= found["keeps"].state_bytes < 1.1 * sum(kept)
    assert sum(kept) <= found["leaves"].waiting_bytes < 1.1 * sum(kept), "it takes nothing"
    assert found["leaves"].state_bytes < 1_000
    heavy = [weight.operator for weight in weights(worker.inspection.operators)][:3]
    assert "aggregate" in heavy, "it is compiled, and has 200,000 keys"
    assert found["aggregate"].state_bytes > 200_000 * 16
    handle.close()
    group.close()


@kernel(void(int64))
def _nothing(_):  # type: ignore[no-untyped-def]
    """So that this module declares a kernel, whose dispatcher nobody weighs."""


def test_kernels_and_modules_weigh_nothing() -> None:
    assert weigh(_closure(_nothing), np, pa) < 50_000  # type: ignore[arg-type]
