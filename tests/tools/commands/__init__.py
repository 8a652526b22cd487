"""Tests of tools/commands."""
