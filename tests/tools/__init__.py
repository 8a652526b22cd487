"""Tests of the tools package, a file a module."""
