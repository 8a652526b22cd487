"""TPC-H kept up to date: queries as collections over its tables, while orders come and go."""
