"""Tests of shm/queues."""
