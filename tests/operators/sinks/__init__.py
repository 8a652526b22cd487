"""Tests of sinks: whole files or none, and what was written is what arrived."""
