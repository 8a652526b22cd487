"""Tests of tokenring.spark: what Spark has comes out of a staged table."""
