"""Tests of tools/system."""
