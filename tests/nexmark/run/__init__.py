"""Tests of nexmark/run."""
