"""Tests of shm/kernels."""
