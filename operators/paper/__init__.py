"""Operators of the paper's experiments and of NEXMark's queries alone."""

from tokenring.faces import later

with later(__name__):
    from tokenring.operators.paper.arrange import Arrangement, arrange
    from tokenring.operators.paper.average_of_last import average_of_last
    from tokenring.operators.paper.best_offers import best_offers
    from tokenring.operators.paper.no_op import no_op
    from tokenring.operators.paper.running_average import running_average
    from tokenring.operators.paper.tumbling_average import tumbling_average
    from tokenring.operators.paper.word_count import word_count
