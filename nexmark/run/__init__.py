"""A run of a query over staged events: its pace, its source, its results."""

from tokenring.faces import later

with later(__name__):
    from tokenring.nexmark.run.on_behalf import execute_plan, executed, verify
    from tokenring.nexmark.run.pace import NOT_YET, SPIN_NS, Measured, Measurements, Pace
    from tokenring.nexmark.run.repeated import repeat_query
    from tokenring.nexmark.run.report import add_rows, count, in_ms, print_report
    from tokenring.nexmark.run.result_files import require_known, write_rows
    from tokenring.nexmark.run.runner import Plan, declare, prepare, run_query
