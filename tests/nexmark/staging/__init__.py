"""Tests of nexmark/staging."""
