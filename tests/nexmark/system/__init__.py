"""Tests of nexmark/system."""
