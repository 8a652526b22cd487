"""What Spark has, for TokenRing: a DataFrame as a staged table.

    import tokenring.spark

    tokenring.spark.stage(session.read.parquet("s3a://shop/orders"), "staged/orders", time="at")

It runs in the process that has the Spark session, whose settings say what `hdfs://` and `s3a://` are; the extra
`tokenring[spark]` brings a Spark of one machine.
"""

from tokenring.faces import later

with later(__name__):
    from tokenring.spark.stage import stage

__all__ = ["stage"]
