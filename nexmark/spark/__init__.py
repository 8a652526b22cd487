"""Spark, in a process of its own, and the jobs it does for staging."""

from tokenring.nexmark.spark.process import plain_path, run_spark_job
from tokenring.nexmark.spark.session import ProgressReporter, spark_job
from tokenring.nexmark.spark.views import batch_views, prepare, streaming_views, what_went_wrong

__all__ = [
    "ProgressReporter",
    "batch_views",
    "plain_path",
    "prepare",
    "run_spark_job",
    "spark_job",
    "streaming_views",
    "what_went_wrong",
]
