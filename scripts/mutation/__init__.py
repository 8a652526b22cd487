"""Mutants: careful changes to functions, kernels and queries, and whether the tests notice them."""
