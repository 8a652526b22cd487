"""Tests of nexmark/staging/foreign."""
