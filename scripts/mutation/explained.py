"""Mutants that no test can notice, since they change nothing that anybody sees: which, and why."""

from __future__ import annotations

from pathlib import Path

from scripts.mutation.mutant import Mutant

# (file, what stands in the changed line, before, after, why); "" for any text.
EQUIVALENT: tuple[tuple[str, str, str, str, str], ...] = ()


def why_equivalent(mutant: Mutant, root: Path) -> str | None:
    """Why a mutant changes nothing, if that is known."""
    source = (root / mutant.file).read_bytes()
    line = source.splitlines()[mutant.line(source) - 1].decode()
    for file, text, before, after, why in EQUIVALENT:
        if (file, before or mutant.before, after or mutant.after) == (mutant.file, mutant.before, mutant.after):
            if text in line:
                return why
    return None
