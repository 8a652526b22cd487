"""Sizes as people write them."""

import pytest

from tests.errors import raises
from tokenring.engine import ConfigError
from tokenring.engine.budget import bytes_of, in_words


@pytest.mark.parametrize(
    ("text", "size_bytes"),
    [
        ("4G", 4 * 2**30), ("512M", 512 * 2**20), ("1.5GiB", 3 * 2**29), ("2 gb", 2**31), ("64k", 2**16),
        ("1T", 2**40), ("800000000", 800_000_000), (".5g", 2**29), (" 7B ", 7), ("1", 1), (f"1{400 * '0'}", 10**400),
    ],
)  # fmt: skip
def test_a_size_is_bytes(text: str, size_bytes: int) -> None:
    assert bytes_of(text) == size_bytes


@pytest.mark.parametrize("text", ["", "G", "4X", "-4G", "4 G G", "nan", "1e9", "4,5G", "0", "0.0M", "inf", "1.2.3G"])
def test_what_is_none_is_refused_with_what_it_was(text: str) -> None:
    with raises(ConfigError, repr(text), "4G"):
        bytes_of(text)


def test_bytes_are_said_with_a_unit() -> None:
    said = [in_words(size) for size in (3, 2048, 150 * 2**20, 3 * 2**29)]
    assert said == ["3 bytes", "2.0 KiB", "150 MiB", "1.5 GiB"]
