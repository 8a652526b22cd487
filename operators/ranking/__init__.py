"""The best rows of each key, or the last: running, or once all rows have come.

top         the k best rows of each key
last_by     the last row of each key
"""

from tokenring.faces import later

with later(__name__):
    from tokenring.operators.ranking.last_by import last_by
    from tokenring.operators.ranking.top import top
