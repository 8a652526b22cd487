"""Running aggregates, against plain references and one another."""
