"""Tests of the engine package, a file a module."""
