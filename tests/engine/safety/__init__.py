"""Random programs under adversarial schedules, against an oracle that knows every live token and message."""
