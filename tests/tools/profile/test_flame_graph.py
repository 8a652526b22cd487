"""Flame graphs: boxes as wide as their share of the samples."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import pytest

from tests.tools.profile.samples import STACKS, A, B, C
from tokenring.tools.profile.flame_graph import flame_graph
from tokenring.tools.profile.frame import Frame

SVG = "{http://www.w3.org/2000/svg}"


def _boxes(svg: str) -> list[ET.Element]:
    return [group for group in ET.fromstring(svg).iter(f"{SVG}g") if group.get("class") == "f"]


def test_boxes_are_as_wide_as_their_share() -> None:
    svg = flame_graph(STACKS, "a < b & c", "six samples")
    widths = {(int(b.get("data-d", "")), b.get("data-n")): float(b.get("data-w", "")) for b in _boxes(svg)}
    assert widths == {
        (0, "all samples"): pytest.approx(1),
        (1, str(A)): pytest.approx(5 / 6, abs=1e-8),
        (1, str(B)): pytest.approx(1 / 6, abs=1e-8),
        (2, str(B)): pytest.approx(3 / 6, abs=1e-8),
        (2, str(C)): pytest.approx(1 / 6, abs=1e-8),
        (3, str(A)): pytest.approx(1 / 6, abs=1e-8),
    }
    assert "a &lt; b &amp; c" in svg


def test_no_samples_are_an_empty_graph() -> None:
    (box,) = _boxes(flame_graph([], "none", ""))
    assert box.get("data-n") == "all samples"


def test_half_a_name_is_drawn_too() -> None:
    torn = Frame("wor\x00\x1f\ud800er", "engine/worker/worker.py", 1)
    assert "wor\ufffd\ufffd\ufffder" in ET.tostring(
        ET.fromstring(flame_graph([(torn,)], "torn\x01", "one sample")), encoding="unicode"
    )
