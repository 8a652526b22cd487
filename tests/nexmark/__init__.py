"""Tests of nexmark/: the mirror of its modules, and the staging command as a person calls it."""
