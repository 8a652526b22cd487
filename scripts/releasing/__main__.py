"""`scripts/release`: the files of a release in dist/, checked and proven."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from scripts.releasing import files, proof
from tokenring.tools.errors import CommandError, OptionError

_MINORS = range(11, 15)
_PROBE = "import sys, platform; print('.'.join(map(str, sys.version_info[:3])), platform.machine())"
_FIRST = re.compile(r"^```python\n(.*?)^```\n\n```text\n(.*?)^```$", flags=re.M | re.S)


@dataclass(frozen=True)
class Python:
    """An interpreter to prove a wheel on."""

    command: tuple[str, ...]
    version: str
    machine: str

    def __str__(self) -> str:
        return f"Python {self.version} ({shlex.join(self.command)})"


def pythons() -> list[Python]:
    """One of each version, from the path or from pyenv; a name alone proves nothing."""
    versions = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv") / "versions"
    found = []
    for minor in _MINORS:
        there = [shutil.which(f"python3.{minor}"), *sorted(versions.glob(f"3.{minor}.*/bin/python"), reverse=True)]
        found += [one for one in [probed([str(path)]) for path in there if path] if one][:1]
    return found


def probed(command: Sequence[str]) -> Python | None:
    """The interpreter that a command starts; None if it does not."""
    try:
        done = subprocess.run([*command, "-c", _PROBE], capture_output=True, text=True, timeout=proof.WATCHDOG_S)
    except OSError:
        return None
    said = done.stdout.split()
    return Python(tuple(command), *said) if done.returncode == 0 and len(said) == 2 else None


def prove(python: Python, wheel: Path, find_links: str) -> dict[str, Any]:
    """What the proof told; CommandError if it failed."""
    first = _FIRST.search((files.ROOT / "README.md").read_text())
    assert first is not None
    command = [*python.command, proof.__file__, str(wheel), find_links]
    told = json.dumps({"program": first[1], "prints": first[2]})
    done = subprocess.run(command, input=told, capture_output=True, text=True)
    if done.returncode:
        raise CommandError(f"{python}: {done.stderr.strip()}")
    seen: dict[str, Any] = json.loads(done.stdout)
    return seen


@click.command(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.option("--out", type=click.Path(file_okay=False, path_type=Path), default=files.ROOT / "dist", metavar="FOLDER",
              help="Where the files come, or are (default: dist/ in the checkout).")  # fmt: skip
@click.option("--no-make", is_flag=True, help="Check and prove the files that are there.")
@click.option("--python", "named", multiple=True, metavar="COMMAND",
              help="Another interpreter to prove on, beside 3.11 to 3.14 of the path and of pyenv.")  # fmt: skip
@click.option("--find-links", default="", metavar="FOLDER",
              help="Further wheels: posix-ipc has none for Python 3.14 and needs a C compiler there.")  # fmt: skip
def release(out: Path, no_make: bool, named: tuple[str, ...], find_links: str) -> None:
    """Make the files of a release: the sdist, and a wheel for each machine, which takes a quarter of an hour. Check
    them, and prove the wheels on every Python there is: each in an empty environment, without a compiler."""
    version = files.version()
    added = {command: probed(shlex.split(command)) for command in named}
    dead = [command for command, python in added.items() if python is None]
    if dead:
        raise OptionError(f"no Python answers as {', '.join(dead)}")
    if re.search(r"^## \[Unreleased\]\n+- |^## \[Unreleased\]\n+### ", files.CHANGELOG.read_text(), flags=re.M):
        click.echo(f"note: what {files.CHANGELOG.name} has under Unreleased goes out as {version}", err=True)
    out = out.resolve()
    if no_make:
        files.check(version, out)
    else:
        files.make(version, out)
    sdist, wheels = files.names(version)
    for name in (sdist, *wheels.values()):
        click.echo(f"{out / name}: {(out / name).stat().st_size / 1e6:.1f} MB")
    _prove_all([*pythons(), *[python for python in added.values() if python]], out, wheels, find_links)
    click.echo(f"all of it holds; the tag is v{version}")


def _prove_all(there: list[Python], out: Path, wheels: dict[str, str], find_links: str) -> None:
    failed = 0
    click.echo(f"{'Python':8} {'machine':8} {'install s':>9} {'MB':>5} {'first program s':>15}  library, interpreter")
    for python in there:
        try:
            if python.machine not in wheels:
                raise CommandError(f"{python}: there is no wheel for {python.machine}")
            seen = prove(python, out / wheels[python.machine], str(Path(find_links).resolve()) if find_links else "")
        except CommandError as error:
            failed += 1
            click.echo(f"not proven on {error}", err=True)
            continue
        click.echo(
            f"{seen['python']:8} {python.machine:8} {seen['install_s']:9.1f} {seen['megabytes']:5.0f} "
            f"{seen['first_s']:15.2f}  {seen['kernels']}, {shlex.join(python.command)}"
        )
    if failed:
        raise CommandError(f"not proven on {failed} of {len(there)}")
    if not there:
        raise CommandError("there is no Python to prove it on: --python names one")


def main(arguments: list[str] | None = None) -> int:
    """Run the command; returns the exit status."""
    try:
        release.main(arguments, prog_name="scripts/release", standalone_mode=False)
    except click.ClickException as error:
        return _complain(error.format_message(), error.exit_code)
    except CommandError as error:
        return _complain(str(error), error.exit_status)
    except (click.exceptions.Abort, KeyboardInterrupt):
        return _complain("interrupted", 128 + signal.SIGINT)
    return 0


def _complain(what: str, status: int) -> int:
    click.echo(f"scripts/release: {what}", err=True)
    return status


if __name__ == "__main__":
    sys.exit(main())
