"""Tests of tools/profile."""
