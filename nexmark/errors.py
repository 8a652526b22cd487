"""What may be wrong with what a person gives us: each text names the file, column, row or option, and the cure.

    InputError              the CLI prints it in one line and exits with status 2
    ├── OptionError         an option, or options that do not go together
    ├── ForeignDataError    events that somebody else made
    ├── StagingError        the place to stage in: it exists, it is too small, Spark failed there
    ├── StagedError         a staged folder that is not one, is damaged, or is of another version
    └── JavaError           no Java that Spark can run on
"""


class InputError(Exception):
    """Something the person can put right; the text says how."""


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
