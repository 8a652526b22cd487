"""Tests of the shm package, a file a module."""
