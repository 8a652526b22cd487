"""Tests of engine/times."""
