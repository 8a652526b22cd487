"""Tests of shm/memory."""
