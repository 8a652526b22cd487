"""Sources: where streams begin. Each deals its rows to the workers and sends no more than the dataflow can take.

read_columns     raw columns, mapped into memory
read_arrow       an Arrow table, or Arrow files
read_parquet     Parquet files, by row groups
read_json_lines  files of a JSON object a line
read_csv         files of comma-separated values
from_generator   what a Python generator yields
engine_events    what the engine does, as it does it
from_callback    live data, as it arrives
Throttle         how much of them may be under way
"""

from tokenring.faces import later

with later(__name__):
    from tokenring.operators.sources.arguments import chosen_columns, meant_by, named_rows, require_positive
    from tokenring.operators.sources.arrow_tables import ZoneWarning, fitting, has_nulls, read_arrow, schema_of
    from tokenring.operators.sources.csv_files import read_csv
    from tokenring.operators.sources.csv_rows import CsvRows
    from tokenring.operators.sources.engine_events import engine_events
    from tokenring.operators.sources.feeder import Piece, Position, columns_wanted, feed, rows_may_pass
    from tokenring.operators.sources.files import Paths, files_of, mapped, resolved
    from tokenring.operators.sources.generated import from_generator
    from tokenring.operators.sources.json_lines import read_json_lines
    from tokenring.operators.sources.json_rows import JsonRows
    from tokenring.operators.sources.lines import (
        BLOCK_BYTES,
        MARK,
        Block,
        blocks_of,
        lines_of,
        not_utf_8,
        taken_at_once,
    )
    from tokenring.operators.sources.live import ARRIVAL, END_OF_STREAM, from_callback
    from tokenring.operators.sources.parquet import read_parquet
    from tokenring.operators.sources.raw_columns import read_columns
    from tokenring.operators.sources.throttle import Throttle
