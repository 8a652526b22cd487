"""Names for places in a dataflow: operator ports, and the location numbers that progress records carry."""

from dataclasses import dataclass
from enum import StrEnum


@dataclass(frozen=True)
class Source:
    """An operator's output port: where tokens live."""

    operator: int
    port: int


@dataclass(frozen=True)
class Target:
    """An operator's input port: where messages in flight are counted."""

    operator: int
    port: int


Location = Source | Target


class Notify(StrEnum):
    """When an operator is run because a frontier of its inputs moved (the article "Speeding up Timely Dataflow by
    100x").
    """

    NEVER = "never"
    IF_TOKEN = "if_token"
    ALWAYS = "always"


NOTIFY_CODES = {Notify.NEVER: 0, Notify.IF_TOKEN: 1, Notify.ALWAYS: 2}
