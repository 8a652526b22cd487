"""Blocks of memory of compiled operators: given back with them, sent as messages, merged while nothing else happens."""

from tokenring.engine import int64, kernel, void
from tokenring.engine.compiled import (
    Record,
    Words,
    addresses_of,
    deallocate,
    monotonic_now_ns,
    new_message,
    table_at,
    wake_at,
)
from tokenring.operators.collections.updates import is_merged, merge_at


@kernel(void(int64))
def _free(block: int) -> None:
    deallocate(block)


class Blocks:
    """The blocks whose addresses these fields of an operator's records are, as long as it is there."""

    def __init__(self, *fields: tuple[Record, str]) -> None:
        self._fields = fields

    def __del__(self) -> None:
        for record, field in self._fields:
            if block := getattr(record, field):
                _free(block)
                setattr(record, field, 0)


@kernel
def table_of_message(message: int, columns: int) -> Words:
    """The columns of a message that is being made, two at least, as a table of (columns, at least its rows)."""
    addresses = addresses_of(message)
    return table_at(addresses[0], columns, (addresses[1] - addresses[0]) // 8)


@kernel
def copy_of(world: int, me: int, address: int, shape: tuple[int, int], rows: int) -> int:
    """A message of the first rows of a block of this shape."""
    message = new_message(world, me, 0, rows)
    target, block = table_of_message(message, shape[0]), table_at(address, shape[0], shape[1])
    for column in range(shape[0]):
        target[column, :rows] = block[column, :rows]
    return message


@kernel
def merge_on(world: int, me: int, spine: int) -> None:
    """Merges of a spine (the address of its state) go on at times at which nothing is added, too, each for a bounded
    number of rows."""
    if not is_merged(spine):
        due_ns = merge_at(spine, monotonic_now_ns())
        if due_ns > 0:
            wake_at(world, me, due_ns)
