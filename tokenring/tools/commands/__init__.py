"""Subcommands of `tokenring` that are about any program: why, hold, profile and run of programs, warm-up."""

from tokenring.faces import later

with later(__name__):
    from tokenring.tools.commands.arguments import first_argument
    from tokenring.tools.commands.profile import profile_function, profile_program
    from tokenring.tools.commands.run import run_program
