"""TokenRing."""
