"""What `benchmark hops` measured, as Markdown."""

from __future__ import annotations

from typing import Any

from tokenring.nexmark.bench.rendering import figure, table


def render_hops(data: dict[str, Any]) -> list[str]:
    """One table, a row for each chain and number of messages, and how the two forms compare."""
    found = {(row["operator"], row["operators"], row["at_once"], row["compiled"]): row["ns"] for row in data["rows"]}
    rows = []
    for (what, count, at_once, is_compiled), compiled in found.items():
        if is_compiled:
            python = found[what, count, at_once, False]
            ratio = python["median"] / compiled["median"]
            rows.append(
                [f"{count} × {what}", str(at_once), figure(compiled["median"]), figure(python["median"]), figure(ratio)]
            )
    asked = data["parameters"]
    return [
        f"ns for a message of one row and each operator beyond the first; one worker, {asked['messages']:,} messages a "
        f"run, a twentieth of them in Python; medians of {asked['rounds']} rounds.",
        table(["chain", "messages at once", "compiled, ns", "in Python, ns", "ratio"], rows),
    ]
