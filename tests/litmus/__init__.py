"""Real processes over one segment, with the forbidden outcomes named."""
