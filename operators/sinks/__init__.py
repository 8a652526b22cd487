"""Sinks: where streams end. Files appear whole or not at all.

to_parquet, to_arrow_files, to_csv, to_json_lines  a folder of files, one a worker
Roll                                       of those: a file for each interval of time, as it is finished
to_database                                rows of a table in a database
to_delta                                   rows of a Delta table, in whole commits
for_each                                   a function of what arrives
gather                                     what workers collected, as one table in the launcher
(tokenring.operators.sinks.collect keeps rows on the worker.)
"""

from tokenring.faces import later

with later(__name__):
    from tokenring.operators.sinks.collect import Collected, Latest, RowsKept, collect, latest
    from tokenring.operators.sinks.dead_letters import DeadLetters
    from tokenring.operators.sinks.for_each import for_each
    from tokenring.operators.sinks.gather import Kept, gather, gathered, rows_kept
    from tokenring.operators.sinks.part_files import to_arrow_files, to_csv, to_json_lines, to_parquet
    from tokenring.operators.sinks.publication import publish
    from tokenring.operators.sinks.rolling import Roll
    from tokenring.operators.sinks.to_database import to_database
    from tokenring.operators.sinks.to_delta import to_delta
