"""Machines that are not there: the files that Linux would have of them, below a folder."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

SYSTEM = "sys/devices/system"


def write(root: Path, files: Mapping[str, str]) -> Path:
    """Make these files below a folder."""
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


def machine(
    root: Path, siblings: Iterable[str] = (), nodes: Iterable[str] = (), cores: Mapping[int, tuple[int, int]] = {}
) -> Path:
    """Lists of the threads of each physical core, and of each node's; package and core numbers, where the former are
    not to be had."""
    files = {f"{SYSTEM}/node/node{number}/cpulist": f"{text}\n" for number, text in enumerate(nodes)}
    for text in siblings:
        first, _, last = text.partition("-")
        threads = range(int(first), int(last) + 1) if last else map(int, text.split(","))
        files |= {f"{SYSTEM}/cpu/cpu{thread}/topology/thread_siblings_list": f"{text}\n" for thread in threads}
    for number, (package, core) in cores.items():
        folder = f"{SYSTEM}/cpu/cpu{number}/topology"
        files |= {f"{folder}/physical_package_id": f"{package}\n", f"{folder}/core_id": f"{core}\n"}
    return write(root, {**files, f"{SYSTEM}/cpu/online": "0\n", f"{SYSTEM}/node/possible": "0\n"})
