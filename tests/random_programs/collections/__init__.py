"""Random plans of collections, what they come to from scratch, and as operators."""

from tests.random_programs.collections.plan import LARGE, SMALL, VALUES, Plan, Size, random_plan, run_plan
from tests.random_programs.collections.scratch import Scratch
from tests.random_programs.collections.views import Views

__all__ = ["LARGE", "SMALL", "VALUES", "Plan", "Scratch", "Size", "Views", "random_plan", "run_plan"]
