"""Arrangements under names: read at a time, in the program or from outside, and by other dataflows of the group."""

from tokenring.faces import later

with later(__name__):
    from tokenring.operators.collections.sharing.answering import Listing, Query
    from tokenring.operators.collections.sharing.asking import Answer, Shared, query, views_of
    from tokenring.operators.collections.sharing.exporting import exporting
    from tokenring.operators.collections.sharing.rejected import Rejected, complaint
    from tokenring.operators.collections.sharing.view import Kept, Trace, View, Views

__all__ = [
    "Answer",
    "Kept",
    "Listing",
    "Query",
    "Rejected",
    "Shared",
    "Trace",
    "View",
    "Views",
    "complaint",
    "exporting",
    "query",
    "views_of",
]
