"""The generated strings: the same for any slice, with lengths and letters as NEXMark has them."""

from __future__ import annotations

import re

from nexmark.generator import Generator, GeneratorConfig
from nexmark.spark_generate import chunk_batch


def test_a_slice_has_the_strings_of_the_whole() -> None:
    generator = Generator(GeneratorConfig(events=20_000))
    for stream, start, stop in (("person", 33, 210), ("auction", 100, 999)):
        whole = chunk_batch(generator, stream, 0, generator.rows(stream))
        assert chunk_batch(generator, stream, start, stop).equals(whole.slice(start, stop - start))


def test_names_and_descriptions() -> None:
    generator = Generator(GeneratorConfig(events=50_000))
    auctions = chunk_batch(generator, "auction", 0, generator.rows("auction")).to_pydict()
    for column, least, most in (("item_name", 3, 19), ("description", 3, 99)):
        lengths = {len(text) for text in auctions[column]}
        assert (min(lengths), max(lengths)) == (least, most)
        assert all(re.fullmatch("[a-z]+", text) for text in auctions[column])
        assert len(set(auctions[column])) > 0.9 * len(auctions[column])


def test_persons() -> None:
    generator = Generator(GeneratorConfig(events=50_000))
    persons = chunk_batch(generator, "person", 0, generator.rows("person")).to_pydict()
    assert all(re.fullmatch(r"[A-Z][a-z]+ [A-Z][a-z]+", name) for name in persons["name"])
    assert all(re.fullmatch(r"[a-z]+@[a-z]+\.com", address) for address in persons["email_address"])
    assert all(re.fullmatch(r"\d{4} \d{4} \d{4} \d{4}", card) for card in persons["credit_card"])
    assert len(set(persons["state"])) == 6
    assert len(set(persons["city"])) == 10


def test_bids_have_no_strings() -> None:
    generator = Generator(GeneratorConfig(events=100))
    names = chunk_batch(generator, "bid", 0, 10).schema.names
    assert names == ["auction", "bidder", "price", "date_time", "event"]
