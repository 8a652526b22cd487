"""What a command says and how it exits when it cannot do what was asked; each text names the culprit and the cure.

CommandError            one line on stderr, exit status 1: something failed while we worked
├── SparkError          a Spark job failed
└── InputError          exit status 2: something the person can put right
    ├── OptionError         an option out of range, or options that do not go together
    ├── ForeignDataError    events that somebody else made: file, column and row
    ├── StagingError        the place to stage in: it exists, it is too small, it is not writable
    ├── StagedError         a folder that holds no staged events, or other bytes than its manifest promises
    └── JavaError           no Java that Spark can run on
"""


class CommandError(Exception):
    """The command cannot finish; the text is the one line that the person sees."""

    exit_status = 1


class SparkError(CommandError):
    """A Spark job failed; the text carries what Spark said."""


class InputError(CommandError):
    """Something the person can put right; the text says how."""

    exit_status = 2


class OptionError(InputError):
    """An option out of range, or that does not go with another."""


class ForeignDataError(InputError):
    """Events from elsewhere that cannot be staged: the text names file, column and row."""


class StagingError(InputError):
    """The target folder cannot be written as asked."""


class StagedError(InputError):
    """A folder that does not hold staged events, or whose bytes are not those the manifest promises."""


class JavaError(InputError):
    """Spark has no Java to run on."""
