"""How tests check an error: its type, and the facts that it names, whatever sentence stands around them.

A fact is plain text: an operator, a port, a worker, a time, a file, a row, a value, a limit, an option, a cure. A tuple
of facts is all of them, a set any one of them. Only the error's own words count, not its notes: the trace that a
worker's error brings along shows the lines of the test, and with them every fact that it asks for.
"""

from __future__ import annotations

import re
from typing import TypeVar

import pytest

Error = TypeVar("Error", bound=BaseException)
Fact = str | tuple["Fact", ...] | set[str]


def raises(kind: type[Error] | tuple[type[Error], ...], *facts: Fact) -> pytest.RaisesExc[Error]:
    """`pytest.raises` of an error that names these facts."""

    def check(error: BaseException) -> bool:
        __tracebackhide__ = True
        assert_named(error, *facts)
        return True

    return pytest.raises(kind, check=check)


def assert_named(error: BaseException, *facts: Fact) -> None:
    """Fail unless the words of an error, or of a warning, have these facts as whole words."""
    __tracebackhide__ = True
    words = str(error)
    missing = [fact for fact in facts if not _stands_in(fact, words)]
    if missing:
        pytest.fail(f"{type(error).__name__} does not name {', '.join(map(repr, missing))}; it says:\n{words}")


def _stands_in(fact: Fact, words: str) -> bool:
    """Whether these words have a fact: 'row 3' is not in 'row 30' nor in 'row 3.5', and '4' is not in '-4'."""
    if not isinstance(fact, str):
        return (any if isinstance(fact, set) else all)(_stands_in(part, words) for part in fact)
    before = r"(?<![\w-])(?<!\d[.,])" if fact[:1].isdigit() else r"(?<!\w)" if fact[:1].isidentifier() else ""
    after = r"(?!\w|[.,]\d)" if fact[-1:].isdigit() else r"(?!\w)" if fact[-1:].isidentifier() else ""
    return re.search(before + re.escape(fact) + after, words) is not None
