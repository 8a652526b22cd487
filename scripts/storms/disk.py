"""What a disk has after the power failed: of what processes did to files, in the order in which it was done, that which
was brought to it by fsync for certain, and of the rest what the disk likes.

POSIX promises no more: what was written to a file is there once the file was synced, a name once its folder was. Disks
do better mostly, and each otherwise; so a state is drawn between nothing of the rest and all names of it.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import NamedTuple

CALLS = (
    *("open", "openat", "creat", "write", "pwrite64", "writev", "pwritev", "pwritev2", "lseek", "truncate"),
    *("ftruncate", "fallocate", "copy_file_range", "sendfile", "fsync", "fdatasync", "link", "linkat", "rename"),
    *("renameat", "renameat2", "unlink", "unlinkat", "rmdir", "mkdir", "mkdirat", "symlink", "symlinkat"),
)
"""The system calls that change what is on a disk, or bring it there."""
MANNERS = ("nothing", "names", "some")
"""What a disk does with what was not synced: it has nothing of it; the names, but not what is in the files; or some."""
_LINE = re.compile(r"(\d+)\.(\d+) (\w+)\((.*)\) += (-?\d+)(<[^>]*>)?.* <([\d.]+)>$")
_TEXT, _PLACE = r'"((?:\\x[0-9a-f]{2})*)"', r"(?:AT_FDCWD|\d+)<((?:\\x[0-9a-f]{2})*)>"


class Call(NamedTuple):
    """A system call that did something, and when it returned, ns."""

    end_ns: int
    name: str
    arguments: str
    result: int
    opened: str


def why_untraced() -> str:
    """Why nothing can be noted of what processes do here; "" if it can."""
    try:
        done = subprocess.run(["strace", "-qq", "-e", "trace=none", "true"], capture_output=True, timeout=60)
    except FileNotFoundError:
        return "strace is not installed: apt install strace"
    return "" if done.returncode == 0 else f"strace may not look at processes: {done.stderr.decode().strip()}"


def traced(command: Iterable[str], folder: Path) -> list[str]:
    """The command that runs another one, and writes what its processes do to files in a folder."""
    shown = ["-y", "-xx", "-s", f"{1 << 24}", "--timestamps=unix,ns", "-T", "-e", "signal=none"]
    return ["strace", "-ff", "-o", str(folder / "trace"), *shown, "-e", f"trace={','.join(CALLS)}", *command]


def calls(folder: Path) -> list[Call]:
    """What was traced, in the order in which it was done."""
    found = []
    for file in folder.iterdir():
        for line in file.read_text().splitlines():
            parts = _LINE.match(line)
            if parts and int(parts[5]) >= 0:
                begun_ns, took_ns = int(parts[1]) * 10**9 + int(parts[2]), int(float(parts[7]) * 1e9)
                found.append(Call(begun_ns + took_ns, parts[3], parts[4], int(parts[5]), (parts[6] or "")[1:-1]))
    return sorted(found)


def paths_of(call: Call) -> list[str]:
    """The paths that a call names, or of what it writes to."""
    found = [os.fsdecode(_bytes(text)) for text in re.findall(_PLACE, call.arguments)]
    return found if call.name in ("write", "pwrite64") else found + [
        os.fsdecode(_bytes(text)) for text in re.findall(_TEXT, call.arguments)
    ]  # fmt: skip


def _bytes(text: str) -> bytes:
    return bytes.fromhex(text.replace("\\x", ""))


@dataclass(eq=False)
class _File:
    content: bytearray = field(default_factory=bytearray)
    synced: bytes = b""
    at: int = 0
    """Where the next write goes."""


@dataclass(eq=False)
class _Folder:
    entries: dict[str, _File | _Folder] = field(default_factory=dict)
    states: list[dict[str, _File | _Folder]] = field(default_factory=lambda: [{}])
    """The entries as of the last sync, and after each change since."""


class Disk:
    """A folder as the calls of processes leave it, and what of it a power failure leaves."""

    def __init__(self, path: Path) -> None:
        """path: of the folder, which is there, and empty, and whose own name is safe."""
        self._path = os.fspath(path)
        self._root = _Folder()

    def do(self, call: Call) -> bool:
        """Have a call change it; whether it did. Names that are made or changed are to be whole paths."""
        texts = [os.fsdecode(_bytes(text)) for text in re.findall(_TEXT, call.arguments)]
        places = [os.fsdecode(_bytes(place)) for place in re.findall(_PLACE, call.arguments)]
        name = call.name.removesuffix("at2").removesuffix("at") if call.name.endswith(("at", "at2")) else call.name
        if name in ("open", "creat", "link", "rename", "unlink", "rmdir", "mkdir"):
            bases = places if call.name.endswith(("at", "at2")) else []
            paths = [os.path.normpath(os.path.join(*parts)) for parts in zip(bases or [""] * 2, texts, strict=False)]
            return bool(paths) and self._name(name, paths, call)
        return bool(places) and self._write(name, places, call)

    def _name(self, name: str, paths: list[str], call: Call) -> bool:
        if name in ("open", "creat"):
            return self._open(paths[0], call)
        found = [self._entry(path) for path in paths]
        if name in ("link", "rename"):
            (folder, own), (target, other) = found
            if target is None:
                assert folder is None, f"{paths} leads out of what is watched"
                return False
            assert folder is not None, f"{paths} leads into what is watched"
            target.entries[other] = folder.entries[own]
            if name == "rename":
                del folder.entries[own]
                _changed(folder)
            if target is not folder or name == "link":
                _changed(target)
            return True
        folder, own = found[0]
        if folder is None:
            return False
        if name == "mkdir":
            folder.entries[own] = _Folder()
        else:
            del folder.entries[own]
        _changed(folder)
        return True

    def _open(self, path: str, call: Call) -> bool:
        folder, own = self._entry(path)
        if folder is None or not re.search("O_WRONLY|O_RDWR", call.arguments):
            return False
        assert "O_TMPFILE" not in call.arguments, "files without names are not known here"
        file = folder.entries.get(own)
        if file is None:
            file = folder.entries[own] = _File()
            _changed(folder)
        assert isinstance(file, _File), path
        if "O_TRUNC" in call.arguments:
            file.content.clear()
        file.at = len(file.content) if "O_APPEND" in call.arguments else 0
        return True

    def _write(self, name: str, places: list[str], call: Call) -> bool:
        folder, own = self._entry(places[0])
        node = self._root if places[0] == self._path else None if folder is None else folder.entries.get(own)
        if node is None:  # of a file that has no name any more
            return False
        if isinstance(node, _Folder):
            if name in ("fsync", "fdatasync"):
                node.states = [dict(node.entries)]
            return name in ("fsync", "fdatasync")
        if name in ("fsync", "fdatasync"):
            node.synced = bytes(node.content)
        elif name == "lseek":
            node.at = call.result
            return False
        elif name == "ftruncate":
            size = int(call.arguments.rsplit(",", 1)[1])
            node.content[size:] = bytes(max(0, size - len(node.content)))
        elif name in ("write", "pwrite64"):
            (written,) = re.findall(_TEXT, call.arguments)
            at = node.at if name == "write" else int(call.arguments.rsplit(",", 1)[1])
            octets = _bytes(written)[: call.result]
            node.content.extend(bytes(max(0, at - len(node.content))))
            node.content[at : at + len(octets)] = octets
            if name == "write":
                node.at = at + len(octets)
        else:
            raise AssertionError(f"{call.name} is not known here: {call.arguments[:200]}")
        return True

    def _entry(self, path: str) -> tuple[_Folder | None, str]:
        """The folder that a path lies in, and its name there; None if it lies elsewhere."""
        if not path.startswith(f"{self._path}/") or path.endswith(" (deleted)"):
            return None, ""
        *parents, own = path[len(self._path) + 1 :].split("/")
        folder: _File | _Folder | None = self._root
        for name in parents:
            folder = folder.entries.get(name) if isinstance(folder, _Folder) else None
        return (folder, own) if isinstance(folder, _Folder) else (None, "")

    def fail(self, manner: str, random: Random) -> None:
        """Have in the folder, which is empty, what a disk has that does so (MANNERS) with what was not synced."""
        names: dict[_File, str] = {}
        for path, node in _left(self._root, manner, random, self._path):
            if isinstance(node, _Folder):
                os.makedirs(path, exist_ok=True)
            elif node in names:
                os.link(names[node], path)
            else:
                Path(path).write_bytes(random.choice(_contents(node, manner)))
                names[node] = path


def _changed(folder: _Folder) -> None:
    folder.states.append(dict(folder.entries))


def _left(folder: _Folder, manner: str, random: Random, path: str) -> Iterator[tuple[str, _File | _Folder]]:
    """The paths that are left in a folder, each with what it leads to."""
    states = {"nothing": folder.states[:1], "names": folder.states[-1:], "some": folder.states}[manner]
    for name, node in random.choice(states).items():
        own = f"{path}/{name}"
        yield own, node
        if isinstance(node, _Folder):
            yield from _left(node, manner, random, own)


def _contents(file: _File, manner: str) -> list[bytes]:
    """What there may be in a file."""
    synced, written = file.synced, bytes(file.content)
    if manner == "names":  # it may be as long as it was, and hold nothing
        return [synced, synced + bytes(max(0, len(written) - len(synced)))]
    if manner == "some":
        return [synced, written, written[: max(len(synced), len(written) // 2)]]
    return [synced]
