"""CSV files by Spark, as `stage_files` reads them, or an error: Spark by itself would fill, drop and change values."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from math import inf
from typing import Final

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql.functions import coalesce, col, decode, encode, input_file_name, lit, struct, when
from pyspark.sql.functions import max as most
from pyspark.sql.types import StringType, StructField, StructType

from tokenring.operators.staging import CODE, LONG
from tokenring.tools.errors import InputError

_LINE: Final = "tokenring: a line that does not fit"
_FILE: Final = "tokenring: its file"
_FRACTION: Final = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?|NaN|[-+]?Inf"
_DAY: Final = r"\d{4}-\d\d-\d\d"
_INSTANT: Final = rf"{_DAY}(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d{{1,6}})?)?(?:Z|[-+]\d\d(?::?\d\d)?)?)?"
_FORMS: Final = {
    "int": r"[-+]?\d+",
    "bigint": r"[-+]?\d+",
    "decimal(19,0)": r"[-+]?\d+",
    "decimal(20,0)": r"[-+]?\d+",
    "double": rf"(?!(?:{LONG.pattern})$)(?:{_FRACTION})",
    "boolean": ".*",
    "date": _DAY,
    "timestamp": _INSTANT,
}
"""How values of a type that Spark finds are written where it loses nothing of them: it takes 12d, 2024-01 and 10:30 for
a number, a day and a time of today as well."""
_NUMBERS: Final = ("int", "bigint", "decimal(19,0)", "decimal(20,0)", "double")
_OTHER_HEADER: Final = re.compile(r"CSV header.*?CSV file: (\S+)", re.DOTALL)


def read_csv_by_spark(session: SparkSession, paths: Sequence[str], told: Sequence[str], delimiter: str) -> DataFrame:
    """All rows of files with a line of names, each column of the kind as which nothing in it is lost, else text, where
    the empty one is itself. told: what the person calls the paths.

    Spark reads the files four times. InputError, naming the file, for a line that is no CSV, or has not as many values
    as names, or is not in UTF-8; for a value in quotes that goes across lines; for files with other names.
    """

    def named(file: str) -> str:
        for path, said in zip(paths, told, strict=True):
            if file.startswith(path):
                return said + file[len(path) :]
        return file

    options = {"header": True, "sep": delimiter, "quote": '"', "escape": '"', "enforceSchema": False}
    found = session.read.csv([*paths], inferSchema=True, **options).schema
    _look_at_lines(session, paths, delimiter, named)
    # Of a line that is cut down to some columns Spark would not see how many values it has.
    session.conf.set("spark.sql.csv.parser.columnPruning.enabled", "false")
    texts = [StructField(name, StringType()) for name in [*found.names, _LINE]]
    rows = session.read.csv([*paths], StructType(texts), columnNameOfCorruptRecord=_LINE, **options)
    rows = rows.withColumn(_FILE, input_file_name())
    kinds = {field.name: field.dataType.simpleString() for field in found}
    misfit = when(col(_LINE).isNotNull(), struct(_FILE, _LINE))
    lossy = [most(_is_lossy(called(name), kind)).alias(str(at)) for at, (name, kind) in enumerate(kinds.items())]
    try:
        first, *are_lossy = rows.agg(most(misfit).alias("misfit"), *lossy).collect()[0]
    except (PySparkException, Py4JJavaError) as error:
        other = _OTHER_HEADER.search(str(error))
        if other is None:
            raise
        raise InputError(
            f"{named(other[1])}: its first line has not the names of the first file in the same order, or one is empty "
            f"or there twice; mend it"
        ) from None
    if first is not None:
        raise InputError(
            f"{named(first[0])}: the line {first[1]!r:.60} has not one value for each of the names "
            f"{', '.join(kinds)}; mend it"
        )
    return rows.select(
        [
            (coalesce(called(name), lit("")) if kind == "string" or is_lossy else called(name).cast(kind)).alias(name)
            for (name, kind), is_lossy in zip(kinds.items(), are_lossy, strict=True)
        ]
    )


def _look_at_lines(session: SparkSession, paths: Sequence[str], delimiter: str, named: Callable[[str], str]) -> None:
    """Refuse lines that Spark would read otherwise than we do, or would change."""
    value = rf'(?:"[^"]*+(?:""[^"]*+)*+"|(?!")[^{delimiter}]*+)'
    octets = col("value").cast("binary")
    fault = when(encode(decode(octets, "UTF-8"), "UTF-8") != octets, lit("is not in UTF-8: convert the file")).when(
        ~col("value").rlike(rf"^(?:{value}{delimiter})*+{value}$"),
        lit('has a value in quotes that goes on behind them, or on the next line, which Spark would change; write a '
            'quote in it as "", or stage a copy of the file on this machine by --engine pyarrow'),
    )  # fmt: skip
    said = [input_file_name().alias("file"), "value", fault.alias("fault")]
    found = session.read.text([*paths]).select(*said).where("fault is not null").head()
    if found is not None:
        raise InputError(f"{named(found.file)}: the line {found.value!r:.60} {found.fault}")


def _is_lossy(values: Column, kind: str) -> Column:
    """Whether a text is not written as those of a kind are."""
    if kind == "string":
        return lit(False)
    is_lossy = ~values.rlike(f"^(?:{_FORMS.get(kind, '(?!)')})$")
    if kind == "double":
        is_lossy |= values.cast(kind).isin(inf, -inf) & ~values.endswith("Inf")  # 1e400
    return is_lossy | values.rlike(f"^{CODE.pattern}") if kind in _NUMBERS else is_lossy


def called(name: str) -> Column:
    """The column that is called so, also with dots and backticks."""
    return col(f"`{name.replace('`', '``')}`")
