"""Tests of engine/progress."""
