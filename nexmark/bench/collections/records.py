"""Records that numbers describe: keys and values, uniform at random, equal wherever they are made."""

import numpy as np

from tokenring.engine import WORDS, int64, kernel, void
from tokenring.operators.state import mixed


@kernel
def key_of(number, stream, keys):  # type: ignore[no-untyped-def]
    """The key of a stream's record: 0 to keys - 1."""
    return np.int64(mixed(mixed(4 * number + 2 * stream)) % np.uint64(keys))


@kernel
def value_of(number, stream, values):  # type: ignore[no-untyped-def]
    """Its value: 0 to values - 1."""
    return np.int64(mixed(mixed(4 * number + 2 * stream + 1)) % np.uint64(values))


@kernel(void(int64, int64, int64, int64, WORDS, WORDS))
def _make(first, stream, keys, values, key, value):  # type: ignore[no-untyped-def]
    for i in range(len(key)):
        key[i] = key_of(first + i, stream, keys)
        value[i] = value_of(first + i, stream, values)


def records(first: int, count: int, stream: int, keys: int, values: int) -> tuple[np.ndarray, np.ndarray]:
    """Keys and values of a stream's records from number `first` on."""
    key, value = np.empty(count, np.int64), np.empty(count, np.int64)
    _make(first, stream, keys, values, key, value)
    return key, value
