"""What late=True gives: several streams, which are to be unpacked."""

from typing import Any, NoReturn

from tokenring.engine import Stream
from tokenring.engine.errors import NoSuchMethodError


class WithLate(tuple[Stream, ...]):
    """The streams of late=True, which are to be unpacked: as one stream they say so."""

    names = ""

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("_"):  # tools ask any object for such names
            raise AttributeError(name)
        raise NoSuchMethodError(
            f"late=True gives {len(self)} streams; unpack them, `{self.names} = ...`, and say .{name} of one"
        )

    def count(self, *arguments: Any, **options: Any) -> NoReturn:
        """Not that of a tuple, which would be 0."""
        self.__getattr__("count")

    def index(self, *arguments: Any, **options: Any) -> NoReturn:
        """Nor this."""
        self.__getattr__("index")


def with_late(names: str, *streams: Stream) -> Any:
    """Streams and those of late rows beside them, by the names that an author may give them."""
    made = WithLate(streams)
    made.names = names
    return made
