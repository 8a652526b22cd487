"""Tests of engine/install."""
