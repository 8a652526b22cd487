"""Tests of engine/running."""
