"""The test suite: a mirror of the packages, plus litmus, model and crash tests."""
