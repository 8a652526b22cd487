"""`python -m tests.random_programs KIND SEED [STEP [STEPS]]`: plays one program."""

import sys

from tests.random_programs.recovery import drawn
from tests.random_programs.shrink import complaint

kind, seed, does, most, *_ = [*sys.argv[1:], *["", "", "0"][len(sys.argv[1:]) - 1 :]]
trial = drawn(kind, seed, does, int(most))
print(trial.told(), trial.rows_told(), sep="\n")
if wrong := complaint(trial):
    sys.exit(wrong)
