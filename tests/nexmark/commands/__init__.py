"""Tests of nexmark/commands."""
