"""The best rows of each key, against DuckDB and plain Python."""
