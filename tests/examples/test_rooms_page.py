"""docs/rooms.md: it is what the sources say today."""

from __future__ import annotations

from scripts import rooms


def test_the_page_is_drawn_from_the_sources() -> None:
    assert rooms.PAGE.read_text() == rooms.page(), "draw it anew: python -m scripts.rooms"


def test_every_file_stands_there_with_its_tests() -> None:
    page = rooms.page()
    for module in rooms.MODULES.values():
        if module.path.name != "__init__.py":
            row = next(line for line in page.splitlines() if f"(../{module.path.relative_to(rooms.ROOT)})" in line)
            assert "](../tests/" in row
