"""The library of kernels that came with the package: machine code for each level of processor, in shared libraries that
are mapped at the first call, and a list of what they were made of.

A kernel is taken out of it only while all files that it was made of say what they said then; where one has changed,
while what is compiled in has not. Everything else numba compiles, as it does kernels of other people.
"""

import os
import platform
import sys
from collections.abc import Callable
from functools import cache
from hashlib import blake2b
from importlib import import_module
from importlib.machinery import ExtensionFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from typing import Any, Protocol

import orjson

from tokenring.shm.kernels.levels import Level, abilities, levels_for

LIBRARY_FOLDER = "_kernels"
"""Beside the packages."""
_INSTALLING_S = 60
"""Files of one installation are not older or newer than each other by more."""
LIST, PROCESSOR, ENDING, FORMAT = "kernels.json", "processor", ".abi3.so", 2


class Found(Protocol):
    """What a kernel is, to a library."""

    @property
    def name(self) -> str: ...
    @property
    def py_func(self) -> Callable[..., Any]: ...
    @property
    def signature(self) -> Any: ...


def key_of(kernel: Found) -> str:
    """What a kernel is called in a library."""
    return f"{kernel.name} {kernel.signature!r}"


def hash_of(data: bytes) -> str:
    """Of a file, as the list has it."""
    return blake2b(data, digest_size=12).hexdigest()


def python_version() -> str:
    """Whose byte code the list's hashes are of."""
    return f"{sys.implementation.name} {sys.version_info.major}.{sys.version_info.minor}"


def stamp_of(listed: dict[str, Any], level: str) -> str:
    """What the machine code bears that was made for a level with this list: a hash of all that it says of kernels."""
    told = [level, *[listed[name] for name in ("compilers", "python", "sources", "kernels")]]
    return blake2b(orjson.dumps(told), digest_size=16).hexdigest()


class Library:
    """The kernels of one list, which fit this processor and platform."""

    def __init__(self, package: Path, folder: Path, listed: dict[str, Any], module: Any, level: str) -> None:
        self._listed_s = (folder / LIST).stat().st_mtime
        self.level = level
        self.kernels: dict[str, tuple[int, str, list[int]]] = {
            key: (number, made_of, sources) for number, (key, made_of, sources) in enumerate(listed["kernels"])
        }
        self._sources: list[list[str]] = listed["sources"]
        self._python: str = listed["python"]
        self._package = package
        self._module = module
        self._unchanged: dict[int, bool] = {}
        self._changed: list[str] | None = None

    def find(self, kernel: Found) -> Callable[..., Any] | None:
        """What Python calls; None if the library has no such kernel, or has it of other sources."""
        found = self.kernels.get(key_of(kernel))
        if found is None or not self._fits(kernel, found):
            return None
        function: Callable[..., Any] = getattr(self._module, f"k{found[0]}")
        return function

    def address(self, kernel: Found) -> int:
        """Where an entry is that `find` has found."""
        return int(self._module.address(self.kernels[key_of(kernel)][0]))

    def changed(self, for_sure: bool = False) -> list[str]:
        """The modules of kernels whose files have changed since: as far as their dates say, or `for_sure`. Files are
        looked at once in a process, which has imported its own by then."""
        if self._changed is not None and not for_sure:
            return self._changed
        if not for_sure and all([self._is_older(path) for path, _ in self._sources]):
            self._changed = []
            return self._changed
        self._changed = sorted(
            {
                key.split()[0].rpartition(".")[0]
                for key, (_, _, sources) in self.kernels.items()
                if not all(map(self._is_unchanged, sources))
            }
        )
        return self._changed

    def _is_older(self, path: str) -> bool:
        try:
            return os.stat(f"{self._package}/{path}").st_mtime < self._listed_s + _INSTALLING_S
        except OSError:
            return False

    def _fits(self, kernel: Found, found: tuple[int, str, list[int]]) -> bool:
        _, made_of, sources = found
        if all([self._is_unchanged(source) for source in sources]):
            return True
        if self._python != python_version():
            return False
        try:
            from tokenring.shm.kernels.ingredients import ingredients

            return ingredients(kernel.py_func) == made_of
        except ImportError:  # no numba, whose types are among them
            return False

    def _is_unchanged(self, source: int) -> bool:
        known = self._unchanged.get(source)
        if known is None:
            path, hashed = self._sources[source]
            try:
                with open(self._package / path, "rb", buffering=0) as file:
                    known = hash_of(file.read()) == hashed
            except OSError:
                known = False
            self._unchanged[source] = known
        return known


@cache
def library() -> tuple[Library | None, str]:
    """The library of this installation, or in the folder that TOKENRING_KERNELS names, and its level; or none, and why:
    TOKENRING_KERNELS=numba asks for none, and so does what checks bounds.
    """
    package = Path(sys.modules["tokenring"].__path__[0])
    asked = os.environ.get("TOKENRING_KERNELS", "")
    if asked == "numba" or os.environ.get("NUMBA_BOUNDSCHECK", "0") != "0":
        return None, "the environment asks for numba"
    return opened(package, Path(asked) if asked else package / LIBRARY_FOLDER)


def opened(package: Path, folder: Path) -> tuple[Library | None, str]:
    """The library in a folder; or none, and why."""
    from tokenring.shm.stamp_words import STAMP_WORDS

    if "t" in getattr(sys, "abiflags", ""):
        return None, "the library is not for a Python without its lock"
    try:
        listed = orjson.loads((folder / LIST).read_bytes())
        if listed["format"] != FORMAT:
            return None, "the library is another version's"
        if listed["coordinates"] != STAMP_WORDS:
            return None, f"the library is for times of {listed['coordinates']} coordinates, not {STAMP_WORDS}"
        if not _is_whole(folder, PROCESSOR, listed):
            return None, f"{folder / PROCESSOR}{ENDING} is not whole"
        levels = [level for level in levels_here(folder) if level.name in listed["files"]]
        if not levels:
            return None, f"the library has nothing for this processor ({platform.machine()})"
        name = levels[0].name
        file = folder / f"{name}{ENDING}"
        if not _is_whole(folder, name, listed):
            return None, f"{file} is not whole"
        module = _imported("kernels", file)
        if module.made_of() != stamp_of(listed, name):
            return None, f"{file} is not what {LIST} says"
        module.begin(import_module("numpy._core._multiarray_umath")._ARRAY_API)
    except FileNotFoundError as error:
        return None, f"there is no library ({error.filename})"
    except (OSError, ImportError, ValueError, KeyError, TypeError) as error:
        return None, f"the library cannot be used ({error})"
    return Library(package, folder, listed, module, name), name


def _is_whole(folder: Path, name: str, listed: dict[str, Any]) -> bool:
    """Whether a file is as long as it was: a shorter one would end the process that maps it."""
    return bool((folder / f"{name}{ENDING}").stat().st_size == listed["files"][name])


def levels_here(folder: Path) -> list[Level]:
    """The levels of this processor, the best first. OSError, ImportError if it cannot be asked."""
    words = _imported(PROCESSOR, folder / f"{PROCESSOR}{ENDING}").words()
    return levels_for(platform.machine(), abilities(platform.machine(), words))


def _imported(name: str, file: Path) -> Any:
    loader = ExtensionFileLoader(name, str(file))
    spec = spec_from_loader(name, loader)
    assert spec is not None
    return module_from_spec(spec)
