"""`tokenring stage --engine spark`: a table out of files that Spark reads, wherever they lie, sorted by Spark."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final

from tokenring.nexmark.scale_out.places import is_of_site, readable
from tokenring.nexmark.spark import run_spark_job
from tokenring.operators.staging import table_named
from tokenring.tools.errors import InputError, OptionError
from tokenring.tools.system import Advance

_FORMATS: Final = {".csv": "csv", ".tsv": "csv", ".json": "json", ".jsonl": "json", ".ndjson": "json"}


def stage_on_spark(
    sources: Sequence[str],
    out: Path,
    *,
    time: str,
    table: str | None,
    columns: str | None,
    unique: Sequence[str],
    force: bool,
    master: str,
    progress: Advance,
) -> dict[str, Any]:
    """Stage a table; returns its manifest. sources: paths or URIs, folders of Parquet unless their names end otherwise;
    the rest as in `stage_files`. OptionError for several formats; InputError for what cannot be read or staged.
    """
    suffixes = {Path(source).suffix.lower() for source in sources}
    formats = {_FORMATS.get(suffix, "parquet") for suffix in suffixes}
    if len(formats) > 1:
        raise OptionError(f"--engine spark reads files of one format at once, not {' and '.join(sorted(formats))}")
    with ExitStack() as stack:
        scratch = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="tokenring-spark-")))
        arguments = {
            "app": "tokenring stage",
            "master": master,
            "of_site": not master.startswith("local") or any(map(is_of_site, sources)),
            "paths": [stack.enter_context(readable(source)) for source in sources],
            "told": list(sources),
            "format": formats.pop(),
            "delimiter": "\t" if suffixes == {".tsv"} else ",",
            "columns": list(dict.fromkeys([*columns.split(), time])) if columns else None,
            "folder": str(out.absolute()),
            "time": time,
            "table": table or table_named(sources[0]),
            "unique": list(unique),
            "force": force,
        }
        told = run_spark_job(
            "tokenring.nexmark.scale_out.stage_job", arguments, scratch,
            lambda done, of: progress("sorting by Spark", done, of),
        )  # fmt: skip
    if "input_error" in told:
        raise InputError(told["input_error"])
    manifest: dict[str, Any] = told["manifest"]
    return manifest
