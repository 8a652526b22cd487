"""Tests of operators/folds."""
