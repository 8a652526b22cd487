"""What Spark's own processes run: sessions, views of the events, and the jobs of staging."""

from tokenring.nexmark.spark.jobs.session import ProgressReporter, spark_job
from tokenring.nexmark.spark.jobs.views import batch_views, prepare, streaming_views, what_went_wrong

__all__ = [
    "ProgressReporter",
    "batch_views",
    "prepare",
    "spark_job",
    "streaming_views",
    "what_went_wrong",
]
