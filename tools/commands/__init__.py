"""Subcommands of `tokenring` that are about any program: why, hold, profile, warm-up."""

from tokenring.tools.commands.profile import profile_program

__all__ = ["profile_program"]
