"""Proves a wheel where nothing else is: run by the interpreter to prove it on, prints what it saw as JSON.

`python proof.py WHEEL [FOLDER]`, with the first program and what it is to print as JSON on standard input; FOLDER may
hold further wheels. Standard library only. The wheel is installed into an environment of its own, without variables,
without anything on the path, and without a home; there the program runs, and the command. Any word on stderr, file at
home, or numba is a failure: exit status 1 and a line that says which.
"""

import json
import os
import platform
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NoReturn

WATCHDOG_S = 900
_FOR_PIP = re.compile(r"PIP_|SSL_CERT_|.*_PROXY$", flags=re.I)
"""How the package index is reached may stand in the environment."""


def prove(wheel: str, find_links: str, program: str, prints: str, folder: Path) -> dict[str, object]:
    """What there is to tell; folder: an empty one."""
    home, here, nowhere = [folder / name for name in ("home", "here", "path")]
    for empty in (home, here, nowhere):
        empty.mkdir()
    plain = {"PATH": str(nowhere), "HOME": str(home)}

    def run(*command: str | Path, **more: str) -> tuple[str, str, int, float]:
        start = time.perf_counter()
        done = subprocess.run(command, cwd=here, env=plain | more, capture_output=True, text=True, timeout=WATCHDOG_S)
        return done.stdout, done.stderr, done.returncode, time.perf_counter() - start

    def quiet(*command: str | Path) -> tuple[str, float]:
        out, said, status, seconds = run(*command)
        if status or said:
            fail(f"{' '.join(str(word) for word in command[1:])}: status {status}, and said: {said.strip()}")
        return out, seconds

    installed = folder / "installed"
    python, tokenring = installed / "bin" / "python", installed / "bin" / "tokenring"
    pip: list[str | Path] = [python, "-m", "pip"]
    _, said, status, _ = run(sys.executable, "-m", "venv", installed)
    if status:  # Debian splits ensurepip off
        pip = [sys.executable, "-m", "pip", "--python", python]
        _, said, status, _ = run(sys.executable, "-m", "venv", "--clear", "--without-pip", installed)
    if status:
        fail(f"no environment can be made: {said.strip()}")
    before = _bytes(installed)
    _, said, status, install_s = run(
        *(*pip, "install", "-q", "--no-input", "--no-cache-dir", "--disable-pip-version-check"),
        *("--only-binary", ":all:", *(["--find-links", find_links] if find_links else []), wheel),
        **{name: value for name, value in os.environ.items() if _FOR_PIP.match(name)},
    )
    if status:
        lacks = re.search(r"satisfies the requirement (\S+)", said)
        fail(
            f"{lacks[1]} has no wheel for it and needs a C compiler there: give --find-links a folder that has one"
            if lacks
            else f"pip could not install the wheel: {said.strip()}"
        )
    grown = _bytes(installed) - before
    out, _ = quiet(python, "-c", "import importlib.util, tokenring; print(importlib.util.find_spec('numba'))")
    if out != "None\n":
        fail("numba is installed")
    (here / "first.py").write_text(program)
    out, first_s = quiet(python, "first.py")
    if out != prints:
        fail(f"the first program printed {out!r}")
    quiet(tokenring, "--help")
    kernels, _ = quiet(tokenring, "kernels")
    if not re.fullmatch(r"\d+ kernels for [\w.-]+\n", kernels):
        fail(f"`tokenring kernels` said {kernels.strip()!r}")
    left = [str(path) for path in (*home.rglob("*"), *here.rglob("*")) if path.name != "first.py"]
    if left:
        fail(f"left behind: {', '.join(left)}")
    return {
        "python": platform.python_version(),
        "install_s": install_s,
        "megabytes": grown / 1e6,
        "first_s": first_s,
        "kernels": kernels.strip(),
    }


def _bytes(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file() and not path.is_symlink())


def fail(why: str) -> NoReturn:
    """End with a line."""
    print(why, file=sys.stderr)
    sys.exit(1)


if __name__ == "__main__":
    given = json.load(sys.stdin)
    with tempfile.TemporaryDirectory(prefix="tokenring-proof-") as scratch:
        print(json.dumps(prove(sys.argv[1], "".join(sys.argv[2:3]), given["program"], given["prints"], Path(scratch))))
