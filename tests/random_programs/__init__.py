"""Random programs of streams and collections, played by workers in a random order, beside plain Python.

A program is drawn from a seed: steps that each make one stream of others, of the same columns. Its rows, its flow
limits, moves of bins or deaths of workers, and who steps when are drawn as well. `steps` does each step by the library,
`plain` over all rows at once; of each stream every row and its time is compared.
"""

from tests.random_programs.recovery import drawn
from tests.random_programs.shrink import complaint
from tests.random_programs.steps import STEPS
from tests.random_programs.trial import EPOCHS, INPUTS, KINDS, Found, Trial, together

__all__ = ["EPOCHS", "Found", "INPUTS", "KINDS", "STEPS", "Trial", "complaint", "drawn", "together"]
