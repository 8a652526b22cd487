"""Random programs of collections, played by workers in a random order, beside recomputation from scratch."""

from tests.operators.collections.random_programs.trial import Trial, wrong_of

__all__ = ["Trial", "wrong_of"]
