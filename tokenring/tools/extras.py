"""Packages that only some commands need: asked for before the work, and said in one line with the cure."""

from __future__ import annotations

from importlib.util import find_spec

from tokenring.how_to_install import how_to_install
from tokenring.tools.errors import MissingExtra


def require_extra(extra: str, what: str, *modules: str) -> None:
    """Raise MissingExtra unless these modules, which `what` needs, can be imported."""
    missing = [module for module in modules if find_spec(module) is None]
    if missing:
        raise MissingExtra(f"{what} needs {', '.join(missing)}, not installed: {how_to_install(extra)}")
