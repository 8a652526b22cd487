"""Questions from outside a container, or to a program that has a /tmp of its own: they find the way."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from tests.engine.ask.test_ask import STUCK, WATCHDOG_S
from tests.imports import ROOT
from tokenring.engine.ask import Group, ask, group_of, hold, running_groups
from tokenring.engine.ask.places import own_number

_MORE = "--mount-proc --kill-child"
_OURS = {Path(folder) for folder in (ROOT, sys.prefix, sys.base_prefix)}
_NEEDED = sorted([str(folder) for folder in _OURS if folder.is_relative_to("/tmp")])
OWN_TMP = " && ".join(
    [
        "mount --bind /tmp /mnt && mount -t tmpfs none /tmp",
        *[f"mkdir -p {folder} && mount --bind /mnt{folder.removeprefix('/tmp')} {folder}" for folder in _NEEDED],
        "umount -l /mnt",
    ]
)
"""An empty /tmp, but for what the tests themselves have there."""
OF_ITS_OWN = {"a /tmp": "-Urm", "numbers": f"-Urpf {_MORE}", "both": f"-Urmpf {_MORE}"}
"""What a program may have for itself, and how `unshare` makes that."""


@contextmanager
def contained(options: str) -> Iterator[Group]:
    """The stuck group of test_ask, in namespaces of its own."""
    mount = f"{OWN_TMP} && " if "m" in options.split()[0] else ""
    script = f"{mount}exec {sys.executable} -c \"$PROGRAM\" asleep fork"
    command = ["unshare", *options.split(), "sh", "-c", script]
    if subprocess.run([*command[:-1], f"{mount}true"], capture_output=True, check=False).returncode:
        pytest.skip("no right to make namespaces")
    environment = os.environ | {"PYTHONPATH": str(ROOT), "PROGRAM": STUCK}
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE) as launcher:
        try:
            assert launcher.stdout is not None
            assert [launcher.stdout.readline() for _ in range(2)] == [b"ready\n"] * 2
            below = {launcher.pid, *[child.pid for child in psutil.Process(launcher.pid).children(recursive=True)]}
            (group,) = [one for one in running_groups() if one.launcher in below]
            yield group
        finally:
            launcher.kill()


@pytest.mark.parametrize("what", OF_ITS_OWN)
def test_it_can_be_asked_and_held(what: str) -> None:
    with contained(OF_ITS_OWN[what]) as group:
        assert (own_number(group.launcher) == group.launcher) == (what == "a /tmp")
        assert group_of(group.workers[1]) == group
        answers = ask(group.launcher, timeout_s=WATCHDOG_S)
        assert answers.at.keys() == {0, 1}
        assert [explanation.frontier for explanation in answers.explanations] == [(3,)]
        with hold(group.launcher, "inner/keeper", ("input", 0), 60, timeout_s=WATCHDOG_S) as held:
            assert held.lasts
            (place,) = ask(group.launcher, "inner/keeper", ("input", 0), 70, WATCHDOG_S).explanations
            assert "hold" in str(place)
        number = own_number(group.launcher)
        assert not [*group.folder.glob(f"*-{number}"), *group.folder.glob(f"*-{number}-*")]
        assert what != "a /tmp" or not group.folder.exists()  # which nobody else asks in
