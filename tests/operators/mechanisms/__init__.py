"""Tests of operators/mechanisms."""
