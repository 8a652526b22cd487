"""Reads which modules import which, from the sources alone: nothing is imported to find out."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

ROOT = Path(__file__).parents[1]
HOUSE = "tokenring"
PACKAGES = ("shm", "engine", "operators", "spark", "tools", "nexmark")
LINKED = ("shm", "engine", "operators", "nexmark")
"""Those that lie at the root, where tokenring/ has links to them; the others lie in it."""


@dataclass(frozen=True)
class Import:
    """One imported module or name, as a full dotted name; `typing_only` where it stands under TYPE_CHECKING."""

    name: str
    line: int
    typing_only: bool

    @property
    def top(self) -> str:
        """Its package: one of ours without the house's name, or another distribution's."""
        return package_of(self.name)


@dataclass(frozen=True)
class Module:
    """One source file: its dotted name, its docstring and everything it imports, inside functions too.

    It is read when somebody asks for more than its name: collecting tests asks for names.
    """

    name: str
    path: Path

    @property
    def package(self) -> str:
        return package_of(self.name)

    @property
    def folder(self) -> str:
        """The dotted name of the package that it lies in, or is."""
        return self.name if self.path.name == "__init__.py" else self.name.rpartition(".")[0]

    @property
    def docstring(self) -> str | None:
        return self._read[0]

    @property
    def imports(self) -> tuple[Import, ...]:
        return self._read[1]

    def binds(self, name: str) -> bool:
        """Whether it is a package whose face imports this name out of one of its files."""
        return name in self._bound

    @cached_property
    def _read(self) -> tuple[str | None, tuple[Import, ...]]:
        source = self.path.read_text(encoding="utf-8")
        tree = ast.parse(source, filename=str(self.path))
        # Imports are statements, but for calls of this name: where there are none, expressions need no look.
        skipped = () if "import_module" in source else (ast.expr,)
        return ast.get_docstring(tree), tuple(_imports(tree, self.folder, skipped, typing_only=False))

    @cached_property
    def _bound(self) -> frozenset[str]:
        """The names that a face imports out of other files; each module is asked for them very often."""
        if self.path.name != "__init__.py":
            return frozenset()
        apart = [imported.name.rpartition(".") for imported in self.imports]
        return frozenset(last for within, _, last in apart if within and within != self.name)


def package_of(name: str) -> str:
    """The package of a dotted name: what follows `tokenring.` where that is one of ours, else what stands first."""
    inner = name.removeprefix(f"{HOUSE}.").partition(".")[0]
    return inner if inner in PACKAGES else name.partition(".")[0]


def read_tree(packages: Iterable[str], root: Path = ROOT) -> dict[str, Module]:
    """Return every module of these packages, by dotted name."""
    modules = {}
    for package in packages:
        folder = folder_of(package, root)
        for path in sorted(folder.rglob("*.py")):
            parts = (package, *path.relative_to(folder).with_suffix("").parts)
            name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
            name = f"{HOUSE}.{name}" if package in PACKAGES else name
            modules[name] = Module(name, path)
    return modules


def folder_of(package: str, root: Path = ROOT) -> Path:
    """Where a package's files lie: at the root, or in tokenring/ itself."""
    return root / HOUSE / package if package in PACKAGES and package not in LINKED else root / package


def targets(module: Module, modules: Mapping[str, Module], *, typing_too: bool) -> set[str]:
    """Return the tree's modules that a module imports: `from a import b` means a.b where that is a module, else a; a,
    too, where a's face has a name b of its own (a function called like the file that it stands in).
    """
    found = set()
    for imported in module.imports:
        if typing_too or not imported.typing_only:
            within, _, last = imported.name.rpartition(".")
            is_of_face = within != module.name and within in modules and modules[within].binds(last)
            name = within if is_of_face or imported.name not in modules else imported.name
            if name in modules:
                found.add(name)
    return found - {module.name}


def reachable(start: str, modules: Mapping[str, Module]) -> set[str]:
    """Return everything that a module imports, directly or through others."""
    seen: set[str] = set()
    todo = [start]
    while todo:
        new = targets(modules[todo.pop()], modules, typing_too=False) - seen
        seen |= new
        todo.extend(new)
    return seen


def find_cycle(modules: Mapping[str, Module], *, typing_too: bool = False) -> list[str]:
    """Return one import cycle as a path that ends where it starts, or an empty list."""
    done: set[str] = set()

    def visit(name: str, path: list[str]) -> list[str]:
        if name in path:
            return [*path[path.index(name) :], name]
        if name not in done:
            for target in sorted(targets(modules[name], modules, typing_too=typing_too)):
                if cycle := visit(target, [*path, name]):
                    return cycle
            done.add(name)
        return []

    return next((cycle for name in sorted(modules) if (cycle := visit(name, []))), [])


def third_party(module: Module) -> set[str]:
    """Return the top-level names that are neither ours nor the standard library's."""
    ours = {*PACKAGES, HOUSE, "tests", "scripts", "examples"}
    return {imported.top for imported in module.imports} - ours - sys.stdlib_module_names


def _imports(node: ast.AST, base: str, skipped: tuple[type[ast.AST], ...], *, typing_only: bool) -> Iterator[Import]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, skipped):
            continue
        match child:
            case ast.Import(names=names):
                yield from (Import(alias.name, child.lineno, typing_only) for alias in names)
            case ast.ImportFrom(module=source, names=names, level=level):
                prefix = _absolute(source, level, base)
                yield from (Import(f"{prefix}.{alias.name}", child.lineno, typing_only) for alias in names)
            case ast.Call(args=[ast.Constant(value=str(name)), *_]) if _called(child).endswith("import_module"):
                yield Import(name, child.lineno, typing_only)
            case ast.If(test=test) if "TYPE_CHECKING" in ast.unparse(test):
                for statement in child.body:
                    yield from _imports(ast.Module([statement], []), base, skipped, typing_only=True)
                for statement in child.orelse:
                    yield from _imports(ast.Module([statement], []), base, skipped, typing_only=typing_only)
                continue
        yield from _imports(child, base, skipped, typing_only=typing_only)


def _absolute(source: str | None, level: int, base: str) -> str:
    if level == 0:
        return source or ""
    parents = base.split(".")[: len(base.split(".")) - (level - 1)]
    return ".".join([*parents, *([source] if source else [])])


def _called(call: ast.Call) -> str:
    return ast.unparse(call.func)
