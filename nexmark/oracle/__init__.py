"""The oracle: answers by Spark SQL, and how results are compared with them."""

from tokenring.faces import later

with later(__name__):
    from tokenring.nexmark.oracle.compare import differences
    from tokenring.nexmark.oracle.oracle import answers
