"""What became of mutants: a file with a line for each as soon as it is known, where a run goes on that was stopped."""

from __future__ import annotations

from pathlib import Path

import orjson


class Results:
    """By a mutant's words, which say file, line, and both texts: where a file has changed there, it is another one."""

    def __init__(self, path: Path | None) -> None:
        """Without a path nothing is kept."""
        self._path = path
        self._outcomes: dict[str, str] = {}
        if path is not None and path.exists():
            told = path.read_bytes()
            whole = told[: told.rfind(b"\n") + 1]
            if whole != told:  # a run was killed while it wrote
                path.write_bytes(whole)
            self._outcomes = {kept["mutant"]: kept["outcome"] for kept in map(orjson.loads, whole.splitlines())}

    def outcome(self, words: str) -> str | None:
        """What became of it when it was tried last, if it was."""
        return self._outcomes.get(words)

    def keep(self, words: str, outcome: str) -> None:
        self._outcomes[words] = outcome
        if self._path is not None:
            with self._path.open("ab") as file:
                file.write(orjson.dumps({"mutant": words, "outcome": outcome}) + b"\n")
