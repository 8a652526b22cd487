"""`python -m scripts.lint`: the house's rules of form, beside ruff's; each finding is a line `file:line: sentence`."""
