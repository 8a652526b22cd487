"""Arrangements under names: read at a time, in the program or from outside, and by other dataflows of the group."""

from tokenring.faces import later

with later(__name__):
    from tokenring.operators.collections.sharing.answering import Following, Listing, Query
    from tokenring.operators.collections.sharing.asking import Shared, listing_of, query, subscribe, views_of
    from tokenring.operators.collections.sharing.exporting import exporting
    from tokenring.operators.collections.sharing.reading import Answer
    from tokenring.operators.collections.sharing.rejected import Rejected, complaint
    from tokenring.operators.collections.sharing.subscription import Subscription
    from tokenring.operators.collections.sharing.view import Kept, Trace, View, Views
