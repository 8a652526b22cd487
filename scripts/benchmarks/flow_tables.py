"""What `bench flow` measured, as Markdown."""

from __future__ import annotations

from typing import Any

from tokenring.nexmark.bench.flow.tables import rendered


def render_bench_flow(data: dict[str, Any]) -> list[str]:
    """Memory and rows a second where rows multiply, and what the bound costs where they do not."""
    asked = data["parameters"]
    said = (
        f"{asked['rows']:,} rows, of each of which a region makes 10,000; then dataflows in which nothing is to be "
        f"held back, medians of {asked['rounds']} rounds by turns."
    )
    return [said, *rendered(data["rows"])]
