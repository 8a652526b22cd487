"""Tests of operators/time."""
