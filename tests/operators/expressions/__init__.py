"""Tests of operators/expressions."""
