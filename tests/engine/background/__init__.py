"""Tests of engine/background."""
