"""Micro-batches, as Spark has them: the tokens' operators, and sources that let one time in, and the next only when
everything has finished the one before."""

from tokenring.operators.mechanisms.tokens import Tokens


class Sequential(Tokens):
    """Tokens, with sources that let one time in at once."""

    name = "sequential"
    one_at_a_time = True
