"""`scripts/storm`: runs cases of each kind and prints a line for each that fails, with how to replay it."""

from __future__ import annotations

import argparse
import signal
import sys
import tempfile
import time
from pathlib import Path
from random import Random

from scripts.storms import deaths, files, full, kills, options, power, programs
from scripts.storms.setting import Setting
from tests.random_programs import KINDS as KINDS_OF_PROGRAMS

KINDS = {
    "kills": kills.case,
    "deaths": deaths.case,
    "power": power.case,
    "full": full.case,
    "files": files.case,
    "options": options.case,
    **{kind: programs.cases_of(kind) for kind in KINDS_OF_PROGRAMS},
}


def storm(kinds: list[str], seed: int, cases: int, minutes: float = 1e9) -> list[str]:
    """Run cases seed, seed + 1, ... of each kind; returns a line for each that failed."""
    failed = []
    deadline = time.monotonic() + 60 * minutes
    with tempfile.TemporaryDirectory(prefix="tokenring-storm-") as folder:
        setting = Setting(Path(folder))
        for kind in kinds:
            done = 0
            try:
                for number in range(seed, seed + cases):
                    if time.monotonic() > deadline:
                        break
                    told, wrong = KINDS[kind](setting, Random(f"{kind} {number}"))
                    done += 1
                    if wrong:
                        failed.append(f"./scripts/storm {kind} --seed {number} --cases 1: {told}: {wrong}")
                        print(failed[-1].encode(errors="backslashreplace").decode(), flush=True)
            finally:  # somebody may have seen enough
                wrong_ones = sum([f" {kind} " in line for line in failed])
                print(f"{kind}: {done} cases from seed {seed}, {wrong_ones} failed", flush=True)
    return failed


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(prog="scripts/storm", description=__doc__)
    parser.add_argument("kinds", nargs="*", metavar="KIND", help=f"{', '.join(KINDS)} (default: all)")
    parser.add_argument("--seed", type=int, default=0, help="of the first case")
    parser.add_argument("--cases", type=int, default=1000, help="of each kind")
    parser.add_argument("--minutes", type=float, default=1e9, help="stop after so many")
    asked = parser.parse_args()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    unknown = set(asked.kinds) - set(KINDS)
    if unknown:
        parser.error(f"no kind {', '.join(sorted(unknown))}; there are {', '.join(KINDS)}")
    return 1 if storm(asked.kinds or list(KINDS), asked.seed, asked.cases, asked.minutes) else 0


if __name__ == "__main__":
    sys.exit(main())
