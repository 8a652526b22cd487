"""Tests of engine/declare."""
