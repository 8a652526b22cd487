"""docs/rooms.md: it is what the sources say today."""

from __future__ import annotations

from functools import cache

from scripts import rooms

made_anew = cache(rooms.page)


def test_the_page_is_drawn_from_the_sources() -> None:
    assert rooms.PAGE.read_text() == made_anew(), "draw it anew: python -m scripts.rooms"


def test_every_file_stands_there_with_its_tests() -> None:
    lines = made_anew().splitlines()
    for module in rooms.MODULES.values():
        if module.path.name != "__init__.py":
            link = f"(../{module.path.relative_to(rooms.ROOT)})"
            row = next(line for line in lines if link in line)
            assert "](../tests/" in row
