"""Which cores a group gets, and whether its workers may spin there."""
