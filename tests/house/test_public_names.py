"""docs/public_names.txt has the public names there are, so that none changes unseen."""

from __future__ import annotations

from difflib import unified_diff

from scripts import public_names

CURE = """
Was that meant? Then `python -m scripts.public_names` writes them anew, and docs/CHANGELOG.md wants a line under
Unreleased (docs/releases.md says what a version may change, and how a name goes)."""


def test_the_public_names_are_those_that_are_written_down() -> None:
    written, there = public_names.PAGE.read_text().splitlines(), public_names.page().splitlines()
    changed = [line for line in unified_diff(written, there, "written", "there", n=0, lineterm="") if line[:2] != "@@"]
    assert not changed, "\n".join(["public names have changed:", *changed[2:], CURE])
