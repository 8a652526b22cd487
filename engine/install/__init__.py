"""Dataflows that are installed in a running group, and removed: both sides."""

from tokenring.engine.install.asking import install, remove
from tokenring.engine.install.code import Code, code_of
from tokenring.engine.install.installing import Installed, Installing, Removing

__all__ = ["Code", "Installed", "Installing", "Removing", "code_of", "install", "remove"]
