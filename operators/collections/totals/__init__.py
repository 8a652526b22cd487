"""Totals of collections' columns, and orders of rows: planned from what users say of them."""

from tokenring.faces import later

with later(__name__):
    from tokenring.operators.collections.totals.orders import in_order
    from tokenring.operators.collections.totals.planning import (
        columns_folded,
        said_of,
        table_of_rows,
        tables_of_parts,
        totals_of,
    )
