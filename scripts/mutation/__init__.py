"""Mutants: careful changes to kernels and queries, and whether the tests notice them."""
