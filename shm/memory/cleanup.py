"""Reclaims what a killed launcher left in /dev/shm: segments and semaphores whose owner no longer lives."""

import os
import re

from tokenring.shm.memory.segment import NAME_PREFIX, SHM_FOLDER, process_start_ticks

_OURS = re.compile(rf"^(?:sem\.)?{re.escape(NAME_PREFIX[1:])}(\d+)-(\d+)-[0-9a-f]+(?:-\w+)?$")


def owner_of(name: str) -> tuple[int, int] | None:
    """Who made a file of /dev/shm, as its name says: process id, and the clock tick that it started at; None for a
    name that is not TokenRing's.
    """
    match = _OURS.match(name)
    return (int(match[1]), int(match[2])) if match else None


def leftovers(folder: str = SHM_FOLDER) -> list[str]:
    """File names in `folder` that TokenRing made and whose owner is dead (pid gone, or reused by a later process)."""
    try:
        names = os.listdir(folder)
    except OSError:
        return []
    return sorted(name for name in names if (owner := owner_of(name)) and process_start_ticks(owner[0]) != owner[1])


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
