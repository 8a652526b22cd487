"""What the engine found wrong in a compiled operator's call, as the errors that Python's operators raise for it."""

from tokenring.engine.errors import (
    DroppedTokenError,
    ExpiredReferenceError,
    TimeRegressionError,
    TokenError,
    TokenRingError,
    WrongOutputError,
)
from tokenring.engine.native import rights
from tokenring.engine.times import MAX_TIME


def what_is_wrong(error: int, operands: tuple[int, int, int]) -> TokenRingError:
    """The error that a number stands for."""
    first, second, _ = operands
    if error == rights.NOTHING_AT_HAND:
        return ExpiredReferenceError(f"it answered input {first} when no message of it was at hand; call take() first")
    if error == rights.NO_SUCH_TOKEN:
        return DroppedTokenError(f"slot {first} holds no token: it was dropped, or never retained")
    if error == rights.ANOTHERS_TOKEN:
        return TokenError(f"slot {first} holds another operator's token; use the slot that retain() returned here")
    if error == rights.BACK_IN_TIME:
        return TimeRegressionError(f"a token at {first} cannot go back to {second}; retain one that is early enough")
    if error == rights.BEYOND_TIME:
        return TimeRegressionError(f"a token cannot go to {first}: the last representable time is {MAX_TIME}")
    if error == rights.TOO_MANY_TOKENS:
        return TokenError(f"compiled operators hold {first} tokens, and there is room for no more; hold fewer at once")
    if error == rights.NO_SUCH_PORT:
        return WrongOutputError(f"it has no output {first}")
    return TokenError("its logic returned that it failed, and not why: call fail(world, me, -1, ...) before")
