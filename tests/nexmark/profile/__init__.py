"""Tests of nexmark/profile."""
