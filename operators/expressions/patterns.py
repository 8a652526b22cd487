"""Regular expressions of text functions: read by RE2 when they are declared, and groups named as pyarrow wants them."""

import re
from importlib import import_module

from tokenring.engine.arguments import is_whole

_TOKEN = re.compile(
    r"""\\Q.*?(?:\\E|$)                          # a quotation: nothing in it means anything
    | \\.                                        # an escape, of any character
    | \[\^?\]?(?:\[:\^?\w+:\]|\\.|[^\]\\])*\]    # a class: a ] that comes first is one of its characters
    | \(\?P?<(?![=!])                             # a group with a name
    | \(\?                                       # no group, or flags
    | .                                          # ( is a group without a name""",
    re.VERBOSE | re.DOTALL,
)


def named_groups(pattern: str) -> str:
    """The pattern with a name for each group that has none."""
    name = "group"
    while name in pattern:
        name += "_"
    tokens = _TOKEN.findall(pattern)
    return "".join([f"(?P<{name}{at}>" if token == "(" else token for at, token in enumerate(tokens)])


def fault_of(pattern: str, group: int | None = None) -> str | None:
    """What is wrong with a pattern, or with asking for its group of that number; None if nothing is."""
    pa, compute = import_module("pyarrow"), import_module("pyarrow.compute")
    nothing = pa.nulls(1, pa.large_string())  # no `pa.array`, which loads pandas
    try:
        compute.match_substring_regex(nothing, pattern)
    except pa.ArrowInvalid as error:
        return f"RE2 does not read {pattern!r}: {error}"
    if group is not None:
        there = len([token for token in _TOKEN.findall(pattern) if token in ("(", "(?P<", "(?<")])
        found = compute.extract_regex(nothing, named_groups(pattern)).type.num_fields if there else 0
        if not is_whole(group) or not 1 <= group <= found:
            return f"{pattern!r} has {found} group(s), and no group {group!r}; put what is wanted into parentheses"
    return None
