"""Tests of nexmark/queries."""
