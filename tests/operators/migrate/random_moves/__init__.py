"""Random rows and random moves of bins through operators of the library, played by workers in a random order."""

from tests.operators.migrate.random_moves.programs import PROGRAMS
from tests.operators.migrate.random_moves.trial import Trial, wrong_of

__all__ = ["PROGRAMS", "Trial", "wrong_of"]
