"""What a run publishes: folders that were made under hidden names get their own once the whole run was right."""

import os
from typing import NamedTuple

from tokenring.engine.errors import UsageError


class Publication(NamedTuple):
    """A folder or file that is whole and on the disk, and the name it is to get."""

    operator: str
    made: str
    target: str


def put_in_place(publications: list[Publication]) -> None:
    """Give all of them their names. UsageError names the first that could not be had; the others have theirs."""
    from tokenring.engine.whole_files import given, sync

    first: UsageError | None = None
    for operator, made, target in publications:
        try:
            os.rename(made, target)
            given(made)
            sync(os.path.dirname(target))
        except FileNotFoundError:
            cure = "was another run started that writes there?"
            first = first or UsageError(f"operator {operator!r}: what was written for {target} is gone; {cure}")
        except OSError as error:
            cure = f"choose another folder ({error.strerror})"
            first = first or UsageError(f"operator {operator!r}: {target} has appeared meanwhile; {cure}")
    if first is not None:
        raise first
