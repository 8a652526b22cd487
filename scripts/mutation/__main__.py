"""`scripts/mutants`: makes mutants, runs the tests about each, and says which of them nobody noticed."""

from __future__ import annotations

import random
import tempfile
from pathlib import Path

import click

from scripts.mutation.careful import careful
from scripts.mutation.changes import changes
from scripts.mutation.explained import why_equivalent
from scripts.mutation.mutant import Mutant
from scripts.mutation.results import Results
from scripts.mutation.tests_of import in_turn
from scripts.mutation.trial import SURVIVED, UNJUDGED, Trials
from tokenring.tools.system.signals import Ended, ending_signals_raise

ROOT = Path(__file__).parents[2]
PACKAGES = ("shm", "engine", "operators", "nexmark")
LEAST_KILLED = 0.95
_SHOWN_LINES = 30


@click.command()
@click.option("--seed", type=int, default=1, show_default=True, help="Of the sample.")
@click.option("--cases", type=click.IntRange(0), default=50, show_default=True, help="Mutants to sample.")
@click.option("--careful/--no-careful", "with_careful", default=True, help="The changes that somebody thought of, too.")
@click.option(
    "--file", "files", multiple=True, metavar="TEXT", help="Only files whose path holds this; may be repeated."
)
@click.option("--list", "is_list", is_flag=True, help="Only say which there are.")
@click.option("--limit", type=click.FloatRange(1), default=100.0, show_default=True, help="Seconds for one test.")
@click.option(
    "--memory", type=click.FloatRange(0.5), default=4.0, show_default=True, help="GiB for the processes of a test."
)
@click.option(
    "--json",
    "file",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Keep what became of each here, a line each; those that it tells of are not tried again.",
)
@click.option("--again", is_flag=True, help="With --json: those that nobody noticed are.")
def main(
    seed: int,
    cases: int,
    with_careful: bool,
    files: tuple[str, ...],
    is_list: bool,
    limit: float,
    memory: float,
    file: Path | None,
    again: bool,
) -> None:
    """Change kernels, other functions and queries, one place at a time, and run the tests about each.

    Exit status 1 if less than 95 % of the mutants are noticed, those that change nothing left out; 2 if some could
    not be judged, since a test that failed does so without a change, or not again.
    """
    chosen = [one for one in careful(ROOT) if with_careful and _is_asked(one.file, files)] + sample(seed, cases, files)
    if is_list:
        for mutant in chosen:
            click.echo(mutant.in_words(ROOT))
        return
    with ending_signals_raise(), tempfile.TemporaryDirectory(prefix="tokenring-mutants-") as folder:
        trials = Trials(ROOT, Path(folder), limit, int(memory * 2**30))
        survivors, counted, unjudged = _try_all(chosen, trials, Results(file), again)
    share = 1 - len(survivors) / counted if counted else 1.0
    click.echo(f"{counted - len(survivors)} of {counted} noticed ({share:.1%})")
    if unjudged:
        click.echo(f"{unjudged} not judged: a test that failed does so without a change, or not again", err=True)
        raise SystemExit(2)
    raise SystemExit(0 if share >= LEAST_KILLED else 1)


def sample(seed: int, cases: int, files: tuple[str, ...]) -> list[Mutant]:
    """Mutants of all functions and queries, chosen by the seed; each file has the same chance."""
    dice = random.Random(seed)
    by_file = []
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            file = str(path.relative_to(ROOT))
            if _is_asked(file, files) and (found := changes(file, path.read_bytes())):
                by_file.append(found)
    chosen: list[Mutant] = []
    while len(chosen) < cases and by_file:
        of_one = dice.choice(by_file)
        chosen.append(of_one.pop(dice.randrange(len(of_one))))
        by_file = [some for some in by_file if some]
    return chosen


def _is_asked(file: str, files: tuple[str, ...]) -> bool:
    return not files or any(text in file for text in files)


def _try_all(chosen: list[Mutant], trials: Trials, results: Results, again: bool) -> tuple[list[Mutant], int, int]:
    """Try each of which no result is kept, and say what became of it; returns those that nobody noticed, how many
    count, and how many could not be judged."""
    survivors, counted, unjudged = [], 0, 0
    for number, mutant in enumerate(chosen, 1):
        # As it was when the copy was made: the checkout may have gone on meanwhile.
        words = mutant.in_words(trials.pristine)
        outcome = results.outcome(words)
        if outcome is None or (again and outcome in (SURVIVED, UNJUDGED)):
            outcome = _judged(mutant, trials)
            results.keep(words, outcome)
        if outcome == UNJUDGED:
            click.echo(f"[{number}/{len(chosen)}] no evidence: {words}")
            unjudged += 1
            continue
        reason = why_equivalent(mutant, trials.pristine) if outcome == SURVIVED else None
        became = outcome if reason is None else "changes nothing"
        click.echo(f"[{number}/{len(chosen)}] {became}: {words}")
        if reason is not None:
            click.echo(f"  {reason}")
            continue
        counted += 1
        if outcome == SURVIVED:
            survivors.append(mutant)
    return survivors, counted, unjudged


def _judged(mutant: Mutant, trials: Trials) -> str:
    """What becomes of it, among its tests in turn."""
    outcome = SURVIVED
    for tests in in_turn(mutant.file, trials.pristine):
        outcome = trials.outcome(mutant, tests)
        if outcome == UNJUDGED:
            click.echo("\n".join(trials.failure.splitlines()[-_SHOWN_LINES:]), err=True)
        if outcome != SURVIVED:
            break
    return outcome


if __name__ == "__main__":
    try:
        main()
    except Ended as ended:
        raise SystemExit(ended.exit_status) from None
