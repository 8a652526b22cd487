"""Tests of sources: every row once, promises that hold, bad input named."""
