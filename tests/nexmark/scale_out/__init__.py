"""Tests of nexmark/scale_out."""
