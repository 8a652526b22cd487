"""Which kernel a line of Python calls, read out of the sources: a sampler sees the line and not the kernel."""

from __future__ import annotations

import ast
import os
import sys
from functools import cache, lru_cache
from typing import Final

from tokenring.tools.profile.frame import Frame

_DECORATORS: Final = ("kernel", "kernel_for_columns")


def kernel_called_at(file: str, line: int) -> Frame | None:
    """The kernel that is called in this line of this file (its whole path), as a frame; of several, the first."""
    return _calls(file).get(line)


def kernel_of(module: str, name: str) -> Frame:
    """A kernel of a module of ours, as a frame; its file is shortened."""
    found = _declared(_file_of(module, beside=__file__))[name]
    return found._replace(file=shortened(found.file))


@cache
def shortened(file: str) -> str:
    """A path without the folder it was imported from, and our name: engine/worker/worker.py, numba/core/caching.py."""
    longest = max((p for p in map(os.path.abspath, sys.path) if file.startswith(p + os.sep)), key=len, default="")
    return (file[len(longest) + 1 :] if longest else file).removeprefix("tokenring/")


@cache
def _calls(file: str) -> dict[int, Frame]:
    """Kernels that are called, by line: by their names, or by an attribute that a kernel for columns was put into."""
    tree = _tree(file)
    names, attributes = _known(file), {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call) and isinstance(node.value.func, ast.Name):
            target, kernel = node.targets[0], names.get(node.value.func.id)
            if isinstance(target, ast.Attribute) and kernel is not None:
                attributes[target.attr] = kernel
    found: dict[int, Frame] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            called, kernel = node.func, None
            if isinstance(called, ast.Name):
                kernel = names.get(called.id)
            elif isinstance(called, ast.Attribute):
                kernel = attributes.get(called.attr)
            if kernel is not None:
                found.setdefault(node.lineno, kernel)
    return found


@cache
def _known(file: str) -> dict[str, Frame]:
    """The kernels that a file declares or imports, also by the face of a package, by the names it has for them."""
    names = dict(_declared(file))
    for node in ast.walk(_tree(file)):
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            origin = _file_of(node.module, beside=file)
            known = _of_face(origin) if origin.endswith("__init__.py") else _declared(origin)
            for alias in node.names:
                if alias.name in known:
                    names[alias.asname or alias.name] = known[alias.name]
    return names


@cache
def _of_face(file: str) -> dict[str, Frame]:
    """The kernels that a package's face has from its files."""
    found: dict[str, Frame] = {}
    for node in ast.walk(_tree(file)):
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            declared = _declared(_file_of(node.module, beside=file))
            names = [alias for alias in node.names if alias.name in declared]
            found |= {alias.asname or alias.name: declared[alias.name] for alias in names}
    return found


@cache
def _declared(file: str) -> dict[str, Frame]:
    return {
        node.name: Frame(f"kernel {node.name}", file, node.lineno)
        for node in _tree(file).body
        if isinstance(node, ast.FunctionDef)
        and any(
            isinstance(name := one.func if isinstance(one, ast.Call) else one, ast.Name) and name.id in _DECORATORS
            for one in node.decorator_list
        )
    }


@lru_cache(maxsize=8)  # of hundreds of files they would be hundreds of megabytes
def _tree(file: str) -> ast.Module:
    try:
        with open(file, encoding="utf-8") as source:
            return ast.parse(source.read())
    except (OSError, ValueError, SyntaxError):  # no file, or not Python: nothing is known of it
        return ast.Module([], [])


def _file_of(module: str, beside: str) -> str:
    """A module's file, as seen from another file, which may be a program that we have not imported; "" if unknown."""
    folders = (os.path.dirname(beside), *sys.path)
    places = [os.path.abspath(os.path.join(folder, *module.split("."))) for folder in folders]
    paths = (path for place in places for path in (f"{place}.py", os.path.join(place, "__init__.py")))
    return next((path for path in paths if os.path.isfile(path)), "")
