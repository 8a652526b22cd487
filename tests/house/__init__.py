"""The house as strangers meet it: its one name, what is installed, and the places where it has to work."""
