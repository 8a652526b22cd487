"""Tests of joins, against nested loops."""
