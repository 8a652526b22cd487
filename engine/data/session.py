"""Sessions: sending several batches with one right, which is looked at once."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from tokenring.engine.columns import Batch
from tokenring.engine.errors import TokenError
from tokenring.engine.tokens import Token, TokenRef

if TYPE_CHECKING:
    from tokenring.engine.data.output_port import OutputPort


class SendSession:
    """Sends batches at one time, or later ones, while its token is pinned. To be used once, in a `with` block."""

    __slots__ = ("_is_used", "_open", "_port", "_right", "_time")

    def __init__(self, port: "OutputPort", right: Token | TokenRef, time: Any) -> None:
        self._port = port
        self._right: Token | TokenRef | None = right
        self._time: Any = time
        self._open = self._is_used = False

    def __enter__(self) -> "SendSession":
        right: Any = self._right
        if self._is_used:
            raise TokenError(f"{self._port.describe()}: a session is entered once; ask the output for another")
        self._time = self._port.allowed(right, self._time)
        if right.__class__ is Token:
            right._pins += 1
        self._open = self._is_used = True
        return self

    def give(self, batch: Batch | Mapping[str, Any], time: Any = None) -> None:
        """Send rows at the session's time, or at a later `time`. The arrays must not change afterwards."""
        port = self._port
        right = self._right
        if not self._open or right is None:
            raise TokenError(f"{port.describe()}: a session sends only inside its `with` block")
        if right.__class__ is TokenRef and right[0].current is not right:  # a token is pinned, and cannot expire
            right.refuse()
        time = self._time if time is None else port.later(self._time, time, "session")
        port._push(time, batch if isinstance(batch, Batch) else Batch(port.schema, batch))

    def __exit__(self, *_: object) -> None:
        if self._right.__class__ is Token:
            self._right._pins -= 1
        self._right = None
        self._open = False

    def __reduce__(self) -> str:
        raise TokenError(f"a session of {self._port.describe()} cannot be copied; ask the output for another")
