"""`tokenring bench`: the paper's experiments, a fresh group for each point of a sweep; rows, tables and plots."""
