"""The layer rule: shm <- engine <- operators <- spark, tools <- nexmark, pure modules, and no circles."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.imports import HOUSE, PACKAGES, ROOT, Module, find_cycle, reachable, read_tree, targets, third_party
from tests.rooms import MODULES, ROOMS, room_of

# Which of our packages each may import; itself always. Nobody lists tests or scripts.
MAY_IMPORT = {
    "shm": set(),
    "engine": {"shm"},
    "operators": {"engine"},
    "spark": {"operators", "engine"},
    "tools": {"operators", "engine"},
    "nexmark": {"tools", "spark", "operators", "engine"},
    "examples": {"nexmark", "operators", "engine"},
}
# The lower layers are small on purpose; what nexmark may use is what pyproject.toml declares (scripts/lint).
MAY_USE = {
    # llvmlite is how a numba intrinsic emits an atomic; orjson: the list of a library of kernels
    "shm": {"numpy", "numba", "llvmlite", "posix_ipc", "orjson"},
    # orjson: between processes, where pickle is barred; pyarrow: what columns come from and go to
    "engine": {"numpy", "numba", "sortedcontainers", "orjson", "pyarrow"},
    # pyarrow: columns of other kinds than numbers; orjson, msgspec: sources and sinks of JSON lines;
    # xxhash: staged columns
    "operators": {"numpy", "numba", "sortedcontainers", "orjson", "msgspec", "pyarrow", "xxhash"},
    "spark": {"pyspark", "pyarrow"},
    # click and rich: what people type and read; psutil: the processes of a program that is profiled
    "tools": {"click", "rich", "psutil", "orjson", "pyarrow"},
}
# What leaves threads behind is imported by the program of one process, which no worker and no launcher imports.
MAY_ALONE = {"tokenring.operators.sinks.delta_process": {"deltalake"}}
# Order and counts: they run the same in a simulation of many workers as in a run, so they may know no machine.
PURE = ("times", "columns", "graph", "progress")
NOT_PURE = ("tokenring.engine.progress.exchange",)
NO_MACHINE = (
    *("os", "time", "mmap", "shm", "posix_ipc"),
    *("multiprocessing", "subprocess", "threading", "signal", "socket"),
)
# Of shm, these modules know no machine either: how kernels are declared and compiled, what a word of text is, and the
# exceptions. A test holds them to it.
MACHINE_FREE_SHM = (
    "tokenring.shm.kernels",
    *(f"tokenring.shm.kernels.{name}" for name in ("kernel", "signatures", "compilation", "callees", "views")),
    *(f"tokenring.shm.kernels.{name}" for name in ("loaded_library", "ingredients")),
    "tokenring.shm.errors",
)
# A constant of this process and of the kernels that it compiles, which the environment says: who takes it asks nothing
# of the machine.
CONSTANTS = ("tokenring.shm.stamp_words",)
# Evidence that would be worth nothing if it shared code with what it is evidence for.
INDEPENDENT = ("tokenring.nexmark.oracle.oracle", "tokenring.nexmark.oracle.job", "tokenring.nexmark.events.generator")

EVERYTHING = {**MODULES, **read_tree(("examples",))}


def where(module: Module, line: int) -> str:
    return f"{module.path.relative_to(ROOT)}:{line}"


@pytest.mark.parametrize("package", sorted(MAY_IMPORT))
def test_imports_go_one_way(package: str) -> None:
    allowed = MAY_IMPORT[package] | {package}
    ours = {*PACKAGES, "tests", "scripts", "examples"}
    wrong = [
        f"{where(module, imported.line)} imports {imported.name}"
        for module in EVERYTHING.values()
        if module.package == package
        for imported in module.imports
        if imported.top in ours - allowed
    ]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("package", sorted(MAY_USE))
def test_lower_layers_use_few_libraries(package: str) -> None:
    wrong = {
        name: extra
        for name, module in MODULES.items()
        if module.package == package
        and (extra := third_party(module) - MAY_USE[package] - MAY_ALONE.get(name, set()))
    }
    assert not wrong


@pytest.mark.parametrize("alone", MAY_ALONE)
def test_nobody_imports_what_leaves_threads_behind(alone: str) -> None:
    assert not [name for name, module in MODULES.items() if alone in targets(module, MODULES, typing_too=True)]


def test_no_module_imports_itself_through_others() -> None:
    cycle = find_cycle(EVERYTHING)
    assert not cycle, " -> ".join(cycle)


@pytest.mark.parametrize("package", sorted(ROOMS))
def test_rooms_stand_in_one_order(package: str) -> None:
    rooms = ROOMS[package]
    wrong = []
    for module in MODULES.values():
        own, room = room_of(module.name)
        if own != package or not room:
            continue
        for target in targets(module, MODULES, typing_too=True):
            other, used = room_of(target)
            if other == package and used and rooms.index(used) > rooms.index(room):
                wrong.append(f"{module.path.relative_to(ROOT)} imports {target}, of a later room")
    assert not wrong, "\n".join(sorted(wrong))


@pytest.mark.parametrize("package", sorted(ROOMS))
def test_rooms_are_entered_by_their_faces(package: str) -> None:
    wrong = []
    for module in MODULES.values():
        if module.package != package:
            continue
        for target in targets(module, MODULES, typing_too=True):
            other, used = room_of(target)
            here = room_of(module.name)
            inside = (other, used) == here or (other == here[0] and here[1].startswith(f"{used}."))  # a room within it
            if used and not inside and target != f"{HOUSE}.{other}.{used}":
                wrong.append(f"{module.path.relative_to(ROOT)} imports {target}: import {HOUSE}.{other}.{used}")
    assert not wrong, "\n".join(sorted(wrong))


def test_every_folder_is_a_known_room() -> None:
    rooms = {f"{HOUSE}.{package}.{room}" for package, names in ROOMS.items() for room in names}
    folders = {module.folder for module in MODULES.values()}
    assert folders - {f"{HOUSE}.{package}" for package in PACKAGES} == rooms


PURE_MODULES = [
    name
    for name in MODULES
    if (room_of(name)[0] == "engine" and room_of(name)[1] in PURE and name not in NOT_PURE) or name in MACHINE_FREE_SHM
]


@pytest.mark.parametrize("name", sorted(PURE_MODULES))
def test_pure_modules_know_no_machine(name: str) -> None:
    module = MODULES[name]
    machine = [
        f"{where(module, imported.line)} imports {imported.name}"
        for imported in module.imports
        if imported.top in NO_MACHINE
        and module.path.name != "__init__.py"
        and imported.name not in MACHINE_FREE_SHM
        and (imported.name.rpartition(".")[0] not in MACHINE_FREE_SHM or imported.name.endswith("DeferredSignals"))
        and imported.name.rpartition(".")[0] not in CONSTANTS
    ]
    pure = {*PURE_MODULES, *CONSTANTS, "tokenring.engine.arguments", "tokenring.engine.errors"}
    ours = [
        f"{module.path.relative_to(ROOT)} imports {target}, which is not pure"
        for target in targets(module, MODULES, typing_too=True)
        if target not in pure and module.path.name != "__init__.py"
    ]
    assert not machine + ours, "\n".join(machine + ours)


@pytest.mark.parametrize("name", INDEPENDENT)
def test_evidence_shares_no_code_with_the_engine(name: str) -> None:
    engine = tuple(f"{HOUSE}.{name}" for name in ("shm", "engine", "operators", "nexmark.queries"))
    shared = {other for other in reachable(name, MODULES) if other.startswith(engine)}
    assert not shared


SAMPLE = '''"""A module."""
import os, tokenring.shm.memory.segment as segment
from . import sibling
from ..engine import thing
from tokenring.engine import Token
if TYPE_CHECKING:
    from tokenring.nexmark import cli
def lazily():
    import tests.leaks
    importlib.import_module("scripts.bench")
'''


def test_the_reader_sees_every_form_of_import(tmp_path: Path) -> None:
    path = tmp_path / "sample.py"
    path.write_text(SAMPLE)
    module = Module("top.operators.sample", path)
    assert [imported.name for imported in module.imports] == [
        "os",
        "tokenring.shm.memory.segment",
        "top.operators.sibling",
        "top.engine.thing",
        "tokenring.engine.Token",
        "tokenring.nexmark.cli",
        "tests.leaks",
        "scripts.bench",
    ]
    assert [imported.name for imported in module.imports if imported.typing_only] == ["tokenring.nexmark.cli"]


def test_the_reader_finds_a_cycle_of_lazy_imports(tmp_path: Path) -> None:
    package = tmp_path / "ring"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "one.py").write_text("from ring.two import b\n")
    (package / "two.py").write_text("from ring import three\n")
    (package / "three.py").write_text("def late():\n    import ring.one\n")
    assert find_cycle(read_tree(("ring",), tmp_path)) == ["ring.one", "ring.two", "ring.three", "ring.one"]
    (package / "three.py").write_text("if TYPE_CHECKING:\n    import ring.one\n")
    assert find_cycle(read_tree(("ring",), tmp_path)) == []
