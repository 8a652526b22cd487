"""Tests of operators/flow."""
