"""What every benchmark is made of, whichever command runs it: options, rounds, sweeps, tables, plots, files."""

from tokenring.faces import later

with later(__name__):
    from tokenring.nexmark.bench.parts.machine import machine
    from tokenring.nexmark.bench.parts.options import ExperimentCommand, ListCommand, option, with_options
    from tokenring.nexmark.bench.parts.plots import Draw, Panels, ticks
    from tokenring.nexmark.bench.parts.record import by_experiment, record, render, write_beside, write_plots
    from tokenring.nexmark.bench.parts.rounds import hiccup_row, in_turns, median_of, paired, spread, take_turns, worst
    from tokenring.nexmark.bench.parts.sweep import Experiment, Row, Sweep, measure_all, points
    from tokenring.nexmark.bench.parts.tables import Column, cell_text, figure, ranged, rate_text, table, workers_text
