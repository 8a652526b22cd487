"""A budget of memory for a group: sources pause near it, and what cannot fit ends the run with a name."""

from tokenring.faces import later

with later(__name__):
    from tokenring.engine.budget.pressure import Pressure, Verdict
    from tokenring.engine.budget.relief import Relief, require_memory, trim_allocators
    from tokenring.engine.budget.resident import anonymous_bytes
    from tokenring.engine.budget.sizes import bytes_of, in_words
    from tokenring.engine.budget.watching import LOOK_S, BudgetWatch, require_budget
    from tokenring.engine.budget.weights import Weight, weigh, weights
