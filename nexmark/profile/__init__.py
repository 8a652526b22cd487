"""Profiles of workers: py-spy's stacks, which kernel a line calls, flame graphs."""

from tokenring.nexmark.profile.files import output_folder, print_profile, write_profile
from tokenring.nexmark.profile.program import ProgramOrQuery
from tokenring.nexmark.profile.py_spy import Recorders
from tokenring.nexmark.profile.run import repeat_query
from tokenring.nexmark.profile.stacks import read_recording

__all__ = [
    "ProgramOrQuery",
    "Recorders",
    "output_folder",
    "print_profile",
    "read_recording",
    "repeat_query",
    "write_profile",
]
