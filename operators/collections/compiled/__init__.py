"""Operators of collections in the inner loop: they stamp, arrange, reduce, total and join."""

from tokenring.faces import later

with later(__name__):
    from tokenring.operators.collections.compiled.arranging import arranging
    from tokenring.operators.collections.compiled.joining import joining
    from tokenring.operators.collections.compiled.pending import pending_of
    from tokenring.operators.collections.compiled.reducing import reducing
    from tokenring.operators.collections.compiled.rounds import going_round
    from tokenring.operators.collections.compiled.stamping import stamping
    from tokenring.operators.collections.compiled.telling import telling
    from tokenring.operators.collections.compiled.totaling import totaling
