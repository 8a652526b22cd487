"""Figures for people: tables, plots, the files they stand in, and the machine they were measured on."""

from tokenring.faces import later

with later(__name__):
    from tokenring.nexmark.bench.rendering.machine import machine
    from tokenring.nexmark.bench.rendering.markdown import figure, machine_text, rate_text, table
    from tokenring.nexmark.bench.rendering.publish import publish, write_plots
    from tokenring.nexmark.bench.rendering.said import say
    from tokenring.nexmark.bench.rendering.tables import RENDERERS, render

__all__ = [
    "RENDERERS",
    "figure",
    "machine",
    "machine_text",
    "publish",
    "rate_text",
    "render",
    "say",
    "table",
    "write_plots",
]
