"""Records that numbers describe: keys and values, uniform at random, equal wherever they are made."""

from collections.abc import Sequence

import numpy as np

from tokenring.engine import WORDS, int64, kernel, void
from tokenring.engine.compiled import Words, signed, unsigned
from tokenring.operators.state import mixed


@kernel
def key_of(number: int, stream: int, keys: int) -> int:
    """The key of a stream's record: 0 to keys - 1."""
    return signed(mixed(mixed(4 * number + 2 * stream)) % unsigned(keys))


@kernel
def value_of(number: int, stream: int, values: int) -> int:
    """Its value: 0 to values - 1."""
    return signed(mixed(mixed(4 * number + 2 * stream + 1)) % unsigned(values))


@kernel(void(int64, int64, int64, int64, WORDS, WORDS))
def _make(first: int, stream: int, keys: int, values: int, key: Words, value: Words) -> None:
    for i in range(len(key)):
        key[i] = key_of(first + i, stream, keys)
        value[i] = value_of(first + i, stream, values)


def records(first: int, count: int, stream: int, keys: int, values: int) -> tuple[np.ndarray, np.ndarray]:
    """Keys and values of a stream's records from number `first` on."""
    key, value = np.empty(count, np.int64), np.empty(count, np.int64)
    _make(first, stream, keys, values, key, value)
    return key, value


def latency_row(latencies_ms: Sequence[float] | np.ndarray) -> dict[str, float]:
    """What a row says of its epochs: p50_ms, p99_ms, max_ms, and how many there were."""
    p50, p99, most = np.quantile(latencies_ms, [0.5, 0.99, 1.0]).tolist()
    return {"p50_ms": p50, "p99_ms": p99, "max_ms": most, "epochs": len(latencies_ms)}
