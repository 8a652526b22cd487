"""Tests of tools/programs."""
