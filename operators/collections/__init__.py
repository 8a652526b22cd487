"""Collections: rows with times and multiplicities, and what is kept of them."""

from tokenring.faces import later

with later(__name__):
    from tokenring.operators.collections.arranged import Arranged
    from tokenring.operators.collections.collection import Collection, Variable, variable
    from tokenring.operators.collections.graphs import (
        SURFERS,
        closure,
        connected_components,
        distances,
        least_labels,
        page_rank,
        strong_edges,
    )
    from tokenring.operators.collections.imported import import_arrangement, imported_at_one_time
    from tokenring.operators.collections.inputs import CollectionInput, UpsertInput, collection, new_collection
    from tokenring.operators.collections.sharing import (
        Answer,
        Following,
        Listing,
        Query,
        Shared,
        Subscription,
        View,
        Views,
        listing_of,
        query,
        subscribe,
        views_of,
    )
