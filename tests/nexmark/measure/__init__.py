"""Tests of nexmark/measure."""
