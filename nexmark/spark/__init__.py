"""Spark, in a process of its own, and a Java for it."""

from tokenring.faces import later

with later(__name__):
    from tokenring.nexmark.spark.process import plain_path, require_spark, run_spark_job
