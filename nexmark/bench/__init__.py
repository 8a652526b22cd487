"""`tokenring bench`: the paper's experiments and collections, a fresh group for each point; rows, tables and plots."""
