"""The columns that updates have behind their data: when a row is added, and how many times."""

TIMES = tuple([f"@{at}" for at in range(4)])
"""A row's own time, a column for each coordinate; a message's is less than or equal to those of its rows."""
TIMES_ADDED = "@times"
"""How many times a row is added; below 0, taken away."""
