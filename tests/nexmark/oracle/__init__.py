"""Tests of nexmark/oracle."""
