"""Joins, of two streams and with versions: what they match, keep, send and let go."""

from tokenring.faces import later

with later(__name__):
    from tokenring.operators.joins.compiled.join import compiled_join, nothing_kept
    from tokenring.operators.joins.compiled.look_up import compiled_look_up
    from tokenring.operators.joins.compiled.versions import compiled_versioned
    from tokenring.operators.joins.compiled.windows import expanding
