"""Tests of operators/rows."""
