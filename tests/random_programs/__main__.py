"""`python -m tests.random_programs KIND SEED [STEP [FORM [STEPS]]]`: plays one program."""

import sys

from tests.random_programs.recovery import drawn
from tests.random_programs.shrink import complaint

kind, seed, does, form, most, *_ = [*sys.argv[1:], *["", "", "drawn", "0"][len(sys.argv[1:]) - 1 :]]
trial = drawn(kind, seed, does, None if form == "drawn" else form, int(most))
print(trial.told(), trial.rows_told(), sep="\n")
if wrong := complaint(trial):
    sys.exit(wrong)
