"""Sinks: where streams end. Files appear whole or not at all.

to_parquet, to_arrow_files, to_json_lines  a folder of files, one a worker
Roll                                       of those three: a file for each interval of time, as it is finished
for_each                                   a function of what arrives
gather                                     what workers collected, as one table in the launcher
(operators.collect keeps rows on the worker.)
"""

from operators.sinks.for_each import for_each
from operators.sinks.gather import gather
from operators.sinks.part_files import to_arrow_files, to_json_lines, to_parquet
from operators.sinks.rolling import Roll

__all__ = ["Roll", "for_each", "gather", "to_arrow_files", "to_json_lines", "to_parquet"]
