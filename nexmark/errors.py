"""What a command of NEXMark's says when it cannot do what was asked; each text names the culprit and the cure.

CommandError, InputError: see tokenring.tools.errors
├── SparkError          a CommandError: a Spark job failed
├── ForeignDataError    an InputError: events that somebody else made: file, column and row
├── StagingError        an InputError: the place to stage in: it exists, it is too small, it is not writable
├── StagedError         an InputError: a folder that holds no staged events, or other bytes than its manifest promises
└── JavaError           an InputError: no Java that Spark can run on
"""

from tokenring.tools.errors import CommandError, InputError


class SparkError(CommandError):
    """A Spark job failed; the text carries what Spark said."""


class ForeignDataError(InputError):
    """Events from elsewhere that cannot be staged: the text names file, column and row."""


class StagingError(InputError):
    """The target folder cannot be written as asked."""


class StagedError(InputError):
    """A folder that does not hold staged events, or whose bytes are not those the manifest promises."""


class JavaError(InputError):
    """Spark has no Java to run on."""
