"""Collections: rows with times and multiplicities, and what is kept of them."""

from tokenring.operators.collections.collection import Arranged, Collection, collection

__all__ = ["Arranged", "Collection", "collection"]
