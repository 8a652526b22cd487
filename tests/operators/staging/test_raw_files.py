"""Raw columns of text: read back, the same however the rows come, equal texts the same bytes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from tests.errors import raises
from tokenring.engine import SchemaError, Strings
from tokenring.operators.staging import raw_files
from tokenring.operators.staging.raw_files import TextWriter

TEXTS = ["a", None, "bb", "", "a", "ccc", "dd", "bb", "ä", "dd", None, "ccc", "ee", "a", "ee"]


def write(folder: Path, cuts: list[int]) -> tuple[dict[str, Any], list[int], bytes]:
    """TEXTS as a raw column, appended in parts."""
    (folder / "columns").mkdir(parents=True)
    writer = TextWriter(folder, "bid.url")
    for start, stop in zip([0, *cuts], [*cuts, len(TEXTS)], strict=True):
        writer.append(pa.array(TEXTS[start:stop], pa.string()))
    entry = writer.close()
    words = np.fromfile(folder / entry["file"], np.int64)
    return entry, words.tolist(), (folder / entry["heap"]["file"]).read_bytes()


@pytest.mark.parametrize(("shared", "heap"), [(100, "abbcccddäee"), (3, "abbcccddäddcccee" + "ee"), (0, None)])
def test_what_is_written_is_read_however_it_comes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shared: int, heap: str | None
) -> None:
    monkeypatch.setattr(raw_files, "SHARED_TEXTS", shared)
    written = [write(tmp_path / str(index), cuts) for index, cuts in enumerate([[], [0, 4, 5, 11], [7]])]
    entry, words, octets = written[0]
    assert Strings(np.array(words), np.frombuffer(octets, np.uint8)).tolist() == TEXTS
    assert octets.decode() == ("".join(text or "" for text in TEXTS) if heap is None else heap)
    assert written[1] == written[2] == written[0]
    assert (entry["bytes"], entry["heap"]["bytes"]) == (8 * len(TEXTS), len(octets))


def test_equal_texts_have_equal_words(tmp_path: Path) -> None:
    _, words, _ = write(tmp_path, [4, 9])
    assert len(set(words)) == len(set(TEXTS))
    assert {words[at] for at, text in enumerate(TEXTS) if text is None} == {-1}


def test_a_text_that_no_word_can_hold(tmp_path: Path) -> None:
    (tmp_path / "columns").mkdir()
    writer = TextWriter(tmp_path, "bid.extra")
    with raises(SchemaError, "column bid.extra", "16,777,216 bytes", "16,777,215"):
        writer.append(pa.array(["x" * (1 << 24)]))
    writer.close()
