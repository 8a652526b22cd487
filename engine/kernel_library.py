"""The library of kernels of this checkout or installation: which is in use, and how it is made of all that the package
declares."""

import platform
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages

from tokenring.engine.errors import KernelError, UsageError
from tokenring.shm.kernels import LEVELS, LIBRARY_FOLDER, kernels_to_make_ready, library

__all__ = ["import_everything", "library", "make"]
_HOUSE = "tokenring"
_OF_EXTRAS = ("pyspark", "py4j", "matplotlib", "numba", "llvmlite")
_NOBODYS = (f"{_HOUSE}.shm.kernels.making", f"{_HOUSE}.__main__")


def import_everything(packages: Sequence[str] = ("shm", "engine", "operators", "tools", "nexmark")) -> None:
    """Import all modules of these packages of the house, and so declare all kernels.

    What Spark, plots and the compiler of kernels need declares none, and is passed over where they are not installed.
    """
    for found in walk_packages(import_module(_HOUSE).__path__, f"{_HOUSE}."):
        if found.name.split(".")[1] in packages and not found.name.startswith(_NOBODYS):
            try:
                import_module(found.name)
            except ModuleNotFoundError as error:
                if (error.name or "").partition(".")[0] not in _OF_EXTRAS:
                    raise


def make(
    levels: Sequence[str] = (),
    machine: str = "",
    progress: Callable[[int, int], None] = lambda done, of: None,
    folder: Path | None = None,
) -> list[str]:
    """Make the library for levels of a machine, in `folder` or where the package looks for it; returns their names.

    levels: their names, or "all"; none for the best that this processor has. machine: x86_64 or aarch64, this one if
    none is given. UsageError for other names; KernelError if numba, or a linker, is missing.
    """
    machine = machine or platform.machine()
    there = [level for level in LEVELS if level.machine == machine]
    if not there:
        raise UsageError(f"no kernels are made for {machine}: there are x86_64 and aarch64")
    unknown = {*levels} - {"all", *[level.name for level in there]}
    if unknown:
        names = ", ".join([level.name for level in there])
        raise UsageError(f"no level {', '.join(sorted(unknown))} of {machine}: there are {names}, and all")
    try:
        from tokenring.shm.kernels.making import make_library, this_level
    except ModuleNotFoundError as error:
        if error.name not in ("numba", "llvmlite"):
            raise
        from tokenring.how_to_install import how_to_install

        raise KernelError(
            f"kernels are compiled by numba, which is not installed: {how_to_install('kernels')}"
        ) from None
    import_everything()
    package = Path(import_module(_HOUSE).__path__[0])
    chosen = there if "all" in levels else [level for level in there if level.name in levels]
    if not levels:
        chosen = [this_level(machine)]
    make_library(kernels_to_make_ready(), chosen, package, folder or package / LIBRARY_FOLDER, progress=progress)
    return [level.name for level in chosen]
