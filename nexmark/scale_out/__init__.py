"""The same queries over the same events on Spark."""

from tokenring.faces import later

with later(__name__):
    from tokenring.nexmark.scale_out.engine import LOCAL, SparkPlan, require_local, run_on_spark, verify_by_tokenring
    from tokenring.nexmark.scale_out.stage import stage_on_spark
