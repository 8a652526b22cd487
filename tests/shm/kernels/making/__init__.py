"""Tests of what makes the library of kernels."""
