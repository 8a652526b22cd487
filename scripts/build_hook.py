"""What hatchling calls when the package is built: makes the library of kernels, as a part of installing.

A wheel gets every level of its machine (TOKENRING_MACHINE: x86_64 or aarch64, otherwise this one); an editable install
the one level of this processor, into the checkout, unless a library that fits is there.
"""

import atexit
import os
import platform
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

FOLDER = "tokenring/_kernels"
_EVERY = 10  # percent


class KernelsHook(BuildHookInterface):  # type: ignore[type-arg]
    """Makes the library."""

    PLUGIN_NAME = "custom"

    def dependencies(self) -> list[str]:
        """A linker, where the machine has none for what it is to make."""
        machine = _machine()
        own = ["ld"] if machine == platform.machine() else [f"{machine}-linux-gnu-ld"]
        return [] if any(map(shutil.which, ["ld.lld", *own])) else ["ziglang>=0.13"]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        sys.path.insert(0, self.root)
        from tokenring.engine.kernel_library import library, make

        if version == "editable":
            found, _ = library()
            if found is None or found.changed(for_sure=True):
                make(progress=_say())
            return
        machine = _machine()
        self._made = tempfile.mkdtemp(prefix="tokenring-kernels-")
        atexit.register(shutil.rmtree, self._made, ignore_errors=True)  # a build that fails is not finalized
        folder = Path(self._made) / "kernels"
        make(("all",), machine, _say(), folder)
        build_data["force_include"].update({str(file): f"{FOLDER}/{file.name}" for file in folder.iterdir()})
        build_data["pure_python"] = False
        build_data["tag"] = f"cp311-abi3-manylinux_2_17_{machine}"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        if version != "editable":
            shutil.rmtree(self._made, ignore_errors=True)


def _machine() -> str:
    return os.environ.get("TOKENRING_MACHINE", "") or platform.machine()


def _say() -> Any:
    """Say how far it is, now and then: pip shows it with -v."""
    last = -_EVERY

    def progress(done: int, of: int) -> None:
        nonlocal last
        if 100 * done // of >= last + _EVERY:
            last = 100 * done // of
            print(f"compiling kernels: {last} %", file=sys.stderr, flush=True)

    return progress
