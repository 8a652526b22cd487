"""What a command says and how it exits when it cannot do what was asked; each text names the culprit and the cure.

CommandError            one line on stderr, exit status 1: something failed while we worked
├── RunError            a run did not complete
└── InputError          exit status 2: something the person can put right
    ├── OptionError         an option out of range, or options that do not go together
    └── MissingExtra        what was asked for needs packages that are not installed
"""


class CommandError(Exception):
    """The command cannot finish; the text is the one line that the person sees."""

    exit_status = 1


class RunError(CommandError):
    """A run that did not complete; the text says which worker or operator failed, and how."""


class InputError(CommandError):
    """Something the person can put right; the text says how."""

    exit_status = 2


class OptionError(InputError):
    """An option out of range, or that does not go with another."""


class MissingExtra(InputError):
    """Packages that only some commands need are not installed; the text says how to install them."""
