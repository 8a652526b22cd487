"""Tests of engine/group."""
