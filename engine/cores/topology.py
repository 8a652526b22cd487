"""What Linux says of cores in /sys: which share a physical core, and which a NUMA node."""

import re
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

SYSTEM = "sys/devices/system"
_NODE = re.compile(r"node(\d+)")


class Core(NamedTuple):
    """A core as the scheduler counts them: one hardware thread."""

    number: int
    siblings: frozenset[int]
    """The threads of its physical core, itself included."""
    node: int
    """Its NUMA node; 0 where the machine does not say."""


def read_cores(numbers: Iterable[int], root: Path) -> list[Core]:
    """What `root`/sys says of these cores, in ascending order. A core of which it says nothing (offline, or no such
    files) stands alone, on node 0.
    """
    wanted = sorted(set(numbers))
    nodes = _nodes(root / SYSTEM / "node")
    by_package = {number: _package(root, number) for number in wanted}
    cores = []
    for number in wanted:
        siblings = _list(root / SYSTEM / f"cpu/cpu{number}/topology/thread_siblings_list")
        if number not in siblings:  # no such list: those of one core in one package, as far as we know them
            same = by_package[number]
            siblings = {other for other in wanted if same is not None and by_package[other] == same} | {number}
        cores.append(Core(number, frozenset(siblings), nodes.get(number, 0)))
    return cores


def _package(root: Path, number: int) -> tuple[str, str] | None:
    """The package of a core, and the physical core's number in it."""
    folder = root / SYSTEM / f"cpu/cpu{number}/topology"
    package, core = _text(folder / "physical_package_id"), _text(folder / "core_id")
    return (package, core) if core else None


def _nodes(folder: Path) -> dict[int, int]:
    """The node of each core."""
    found: dict[int, int] = {}
    with suppress(OSError):
        for entry in sorted(folder.iterdir()):
            if match := _NODE.fullmatch(entry.name):
                found.update(dict.fromkeys(_list(entry / "cpulist"), int(match[1])))
    return found


def _list(file: Path) -> set[int]:
    """The numbers of a list such as `0-3,8`; none if there is no such file, or something else in it."""
    numbers: set[int] = set()
    with suppress(ValueError):
        for part in _text(file).split(","):
            if part:
                first, _, last = part.partition("-")
                numbers.update(range(int(first), int(last or first) + 1))
    return numbers


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="ascii", errors="replace").strip()
    except OSError:
        return ""
