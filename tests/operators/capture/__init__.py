"""Tests of capture and replay."""
