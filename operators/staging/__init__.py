"""Staged tables: written once into a folder of raw columns, with what is proved of them, and mapped when they are read.

read_staged  a source: a staged table's columns, in order of time
stage_files  files of Parquet, CSV or JSON lines as a staged table
"""

from tokenring.faces import later

with later(__name__):
    from tokenring.operators.staging.column_files import ColumnFiles
    from tokenring.operators.staging.folder import staging_folder
    from tokenring.operators.staging.inputs import Rows, table_named
    from tokenring.operators.staging.kinds_found import CODE, LONG
    from tokenring.operators.staging.manifest import WORD
    from tokenring.operators.staging.raw_files import COLUMNS, TextWriter, WordWriter
    from tokenring.operators.staging.read_staged import read_staged
    from tokenring.operators.staging.stage import stage_files, stage_rows
    from tokenring.operators.staging.staged_table import StagedTable
