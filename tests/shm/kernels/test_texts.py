"""The bytes of texts in kernels: copied and compared, of all lengths, at all alignments, and nothing beside them."""

import numpy as np
import pytest

from tokenring.engine.columns.text_kernels import text_equal, text_hash
from tokenring.shm.kernels import LENGTH_BITS, copy_text, same_octets

_LENGTHS = [*range(70), 127, 128, 129, 1000]
_AT = 24


def _heap(seed: int, length: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 256, length + 2 * _AT).astype(np.uint8)


@pytest.mark.parametrize("shift", [0, 1, 7])
def test_a_text_is_copied_whole_and_nothing_beside_it(shift: int) -> None:
    for length in _LENGTHS:
        heap, target = _heap(length, length), _heap(1 + length, length)
        wanted = target.tobytes()[:_AT] + heap.tobytes()[shift : shift + length] + target.tobytes()[_AT + length :]
        word = copy_text(shift << LENGTH_BITS | length, heap.ctypes.data, target.ctypes.data, _AT)
        assert word == _AT << LENGTH_BITS | length
        assert target.tobytes() == wanted, length


@pytest.mark.parametrize("shift", [0, 1, 7])
def test_texts_are_the_same_until_any_byte_of_one_differs(shift: int) -> None:
    for length in _LENGTHS:
        heap = _heap(length, length)
        other = np.concatenate([heap[:shift], heap])
        other[2 * shift + length] ^= 1  # what is behind both differs, and what is before
        other[2 * shift - 1] ^= 1
        words = shift << LENGTH_BITS | length, 2 * shift << LENGTH_BITS | length
        first, second = heap.ctypes.data, other.ctypes.data
        assert same_octets(first + shift, second + 2 * shift, length)
        assert text_equal(words[0], first, words[1], second)
        assert text_hash(words[0], first) == text_hash(words[1], second)
        for at in {*range(min(length, 20)), *range(max(0, length - 20), length)}:
            other[2 * shift + at] ^= 1
            assert not same_octets(first + shift, second + 2 * shift, length), (length, at)
            assert not text_equal(words[0], first, words[1], second)
            assert text_hash(words[0], first) != text_hash(words[1], second)
            other[2 * shift + at] ^= 1
