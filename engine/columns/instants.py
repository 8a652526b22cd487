"""Instants from text: the one reader of ISO 8601."""

from contextlib import suppress
from typing import Any

_OFFSET = "[+-][0-9]{2}(:?[0-9]{2})?"


def instants_of(texts: Any) -> Any:
    """ISO 8601 texts, an Arrow array, as timestamps of ns in UTC; one without an offset is in UTC. ArrowInvalid names a
    text that is none, or beyond what 64 bits of ns reach.

    A date; or a date and hours, minutes, seconds, up to nine decimals, as far as they are given, behind "T" or a space;
    then "Z" or an offset (+02, +0200, +02:00), if there is one, which a space may stand before.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    texts = pc.cast(texts, pa.large_string())  # an array's own `cast` loads pandas
    wanted = pa.timestamp("ns", "UTC")
    if pc.all(pc.match_substring(texts, ":")).as_py() is not False:  # a date ends as an offset does
        with suppress(pa.ArrowInvalid):  # all with an offset, as Arrow writes it
            return pc.cast(texts, wanted)
    with suppress(pa.ArrowInvalid):  # all without
        return pc.cast(pc.cast(texts, pa.timestamp("ns")), wanted)
    texts = pc.replace_substring_regex(texts, r"([0-9]) ?[Zz]$", r"\1Z")
    texts = pc.replace_substring_regex(texts, rf"([0-9]) ({_OFFSET})$", r"\1\2")
    zoned = pc.match_substring_regex(texts, rf"[0-9](Z|{_OFFSET})$")  # null where the text is
    zoned = pc.and_(zoned, pc.match_substring(texts, ":"))
    nothing = pa.nulls(1, pa.large_string())[0]
    there = pc.cast(pc.if_else(zoned, texts, nothing), wanted)
    return pc.coalesce(there, pc.cast(pc.cast(pc.if_else(zoned, nothing, texts), pa.timestamp("ns")), wanted))
