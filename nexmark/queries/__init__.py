"""NEXMark queries, one a file: each names the columns it reads and builds its dataflow from library operators."""
import sys
from collections.abc import Iterator, Mapping

from tokenring.faces import later

with later(__name__):
    from tokenring.nexmark.queries.q0 import Q0
    from tokenring.nexmark.queries.q1 import Q1
    from tokenring.nexmark.queries.q2 import Q2
    from tokenring.nexmark.queries.q3 import Q3
    from tokenring.nexmark.queries.q4 import Q4
    from tokenring.nexmark.queries.q5 import Q5
    from tokenring.nexmark.queries.q6 import Q6
    from tokenring.nexmark.queries.q7 import Q7
    from tokenring.nexmark.queries.q8 import Q8
    from tokenring.nexmark.queries.q9 import Q9
    from tokenring.nexmark.queries.q10 import Q10
    from tokenring.nexmark.queries.q11 import Q11
    from tokenring.nexmark.queries.q12 import Q12
    from tokenring.nexmark.queries.q13 import Q13
    from tokenring.nexmark.queries.q14 import Q14
    from tokenring.nexmark.queries.q15 import Q15
    from tokenring.nexmark.queries.q16 import Q16
    from tokenring.nexmark.queries.q17 import Q17
    from tokenring.nexmark.queries.q18 import Q18
    from tokenring.nexmark.queries.q19 import Q19
    from tokenring.nexmark.queries.q20 import Q20
    from tokenring.nexmark.queries.q21 import Q21
    from tokenring.nexmark.queries.q22 import Q22
    from tokenring.nexmark.queries.query import SENT_AT, Query

__all__ = [
    "QUERIES",
    "Query",
    "SENT_AT",
    "Q0", "Q1", "Q2", "Q3", "Q4", "Q5", "Q6", "Q7", "Q8", "Q9", "Q10", "Q11",
    "Q12", "Q13", "Q14", "Q15", "Q16", "Q17", "Q18", "Q19", "Q20", "Q21", "Q22",
]  # fmt: skip


class _Queries(Mapping[str, "Query"]):
    """Each is imported when it is asked for."""

    def __getitem__(self, name: str) -> "Query":
        if name not in _NAMES:
            raise KeyError(name)
        return getattr(sys.modules[__name__], name.upper())

    def __iter__(self) -> Iterator[str]:
        return iter(_NAMES)

    def __len__(self) -> int:
        return len(_NAMES)


_NAMES = tuple([name.lower() for name in __all__ if name[1:].isdigit()])
QUERIES = _Queries()
"""By name, as on the command line."""
