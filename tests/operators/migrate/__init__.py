"""Tests of live migration."""
