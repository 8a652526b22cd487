"""The generated strings: the same for any slice, with lengths and letters as NEXMark has them."""

from __future__ import annotations

import re

import xxhash

from tokenring.nexmark.events.generator import Generator, GeneratorConfig
from tokenring.nexmark.events.schema import STREAMS
from tokenring.nexmark.spark.jobs.generate import chunk_batch


def test_a_slice_has_the_strings_of_the_whole() -> None:
    generator = Generator(GeneratorConfig(events=20_000))
    for stream, start, stop in (("person", 33, 210), ("auction", 100, 999), ("bid", 7, 5_000)):
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


def test_bids() -> None:
    generator = Generator(GeneratorConfig(events=50_000))
    bids = chunk_batch(generator, "bid", 0, generator.rows("bid")).to_pydict()
    assert list(bids) == ["auction", "bidder", "price", "channel", "url", "date_time", "extra", "event"]
    hot = [channel for channel in bids["channel"] if not channel.startswith("channel-")]
    assert sorted(set(hot)) == ["Apple", "Baidu", "Facebook", "Google"]
    assert 0.48 < len(hot) / len(bids["channel"]) < 0.52
    url_of = dict(zip(bids["channel"], bids["url"], strict=True))
    assert set(url_of.items()) == set(zip(bids["channel"], bids["url"], strict=True))
    shape = r"https://www\.nexmark\.com/[a-z_]{3,4}/[a-z_]{3,4}/[a-z_]{3,4}/item\.htm\?query=1(&channel_id=\d+)?"
    assert all(re.fullmatch(shape, url) for url in url_of.values())
    named = [url for channel, url in url_of.items() if "&channel_id=" in url]
    assert 0.88 < len(named) / len(url_of) < 0.92
    assert len({url.partition("&channel_id=")[2] for url in named}) == len(named)
    assert not any("channel_id" in url_of[channel] for channel in set(hot))
    lengths = [len(text) for text in bids["extra"]]
    assert (min(lengths), max(lengths)) == (54, 81)
    assert 9_500 < len(set(bids["extra"])) <= 10_000


def test_golden_digest_over_machines_and_versions() -> None:
    """As the integers have one: the texts too are part of the contract."""
    digest = xxhash.xxh3_64()
    generator = Generator(GeneratorConfig(events=10_000, seed=3))
    for stream in STREAMS.values():
        batch = chunk_batch(generator, stream.name, 0, generator.rows(stream.name))
        for name in stream.string_columns:
            digest.update("\n".join([name, *batch[name].to_pylist()]).encode())
    assert digest.hexdigest() == "8e7275623daf231d"
