"""Tests of nexmark/spark."""
