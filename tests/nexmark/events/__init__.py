"""Tests of nexmark/events."""
