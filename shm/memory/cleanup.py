"""Reclaims what a killed launcher left in /dev/shm: segments and semaphores whose owner no longer lives.

A name says who made it; and while it is there its segment is held (`locks`), since a launcher in another PID namespace
that shares /dev/shm has a number that means nothing here, or somebody else. A group's semaphores, which cannot be held,
go with the segment: they are made after it, and their names removed before its own.
"""

import os
import re
from contextlib import suppress

from tokenring.shm.memory.locks import is_held
from tokenring.shm.memory.segment import NAME_PREFIX, SHM_FOLDER, process_start_ticks

_SEMAPHORE = "sem."
_OURS = re.compile(rf"^(?:{re.escape(_SEMAPHORE)})?{re.escape(NAME_PREFIX[1:])}(\d+)-(\d+)-[0-9a-f]+(?:-\w+)?$")


def owner_of(name: str) -> tuple[int, int] | None:
    """Who made a file of /dev/shm, as its name says: process id, and the clock tick that it started at; None for a
    name that is not TokenRing's.
    """
    match = _OURS.match(name)
    return (int(match[1]), int(match[2])) if match else None


def leftovers(folder: str = SHM_FOLDER) -> list[str]:
    """File names in `folder` that TokenRing made and whose owner is dead (pid gone, or reused by a later process, and
    nobody holds a segment of that owner's)."""
    try:
        names = os.listdir(folder)
    except OSError:
        return []
    found = {name: owner for name in names if (owner := owner_of(name)) and process_start_ticks(owner[0]) != owner[1]}
    living = {owner for name, owner in found.items() if not name.startswith(_SEMAPHORE) and _is_held(folder, name)}
    return sorted([name for name, owner in found.items() if owner not in living])


def _is_held(folder: str, name: str) -> bool:
    with suppress(OSError):  # it has gone, or is another user's
        return is_held(os.path.join(folder, name))
    return False


def reclaim(folder: str = SHM_FOLDER) -> list[str]:
    """Remove the leftovers that are ours to remove; return the names removed."""
    removed = []
    for name in leftovers(folder):
        try:
            os.unlink(os.path.join(folder, name))
        except OSError:
            continue  # another user's, or another launcher was quicker
        removed.append(name)
    return removed
