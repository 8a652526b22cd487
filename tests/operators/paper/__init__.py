"""Tests of operators/paper."""
