"""What may be wrong in a compiled operator's call: noted in its row, and raised when the call is over, as the
errors that Python's operators raise for it."""

from tokenring.engine.errors import (
    ConfigError,
    DroppedTokenError,
    ExpiredReferenceError,
    SchemaError,
    TimeRegressionError,
    TokenError,
    TokenRingError,
    WrongOutputError,
)
from tokenring.engine.native.layout import operators_at, world_at
from tokenring.engine.times import MAX_TIME
from tokenring.shm.kernels import kernel

# The operator's `error`. Below zero is an operator's own.
(
    NO_ERROR,
    NOTHING_AT_HAND,
    NO_SUCH_TOKEN,
    ANOTHERS_TOKEN,
    BACK_IN_TIME,
    BEYOND_TIME,
    TOO_MANY_TOKENS,
    NO_SUCH_INPUT,
    NO_SUCH_OUTPUT,
    WRONG_WIDTH,
    EXPIRED_BURST,
    STAGE_FAILED,
    NO_MEMORY,
    TEXT_TOO_LONG,
    BEYOND_LOOP,
) = range(15)


@kernel
def fail(world: int, me: int, error: int, operand: int, operand_too: int, operand_three: int) -> None:
    """Note what is wrong, unless something was before; an operator's own errors are below zero."""
    record = operators_at(world_at(world))[me]
    if record.error == NO_ERROR:
        record.error = error
        record.operand, record.operand_too, record.operand_three = operand, operand_too, operand_three


def no_memory(lacked: int, each: int) -> MemoryError:
    """The error for so many times so many bytes that were asked for in vain."""
    return MemoryError(
        f"{lacked * each:,} bytes for messages were asked for, and there are no more; send fewer rows at once, let the "
        "workers be fewer, or raise the limit (ulimit -v)"
    )


def what_is_wrong(error: int, operands: tuple[int, int, int]) -> TokenRingError | MemoryError:
    """The error that a number stands for."""
    first, second, third = operands
    if error == NO_MEMORY:
        return no_memory(first, second)
    if error == NOTHING_AT_HAND:
        return ExpiredReferenceError(f"it answered input {first} when no message of it was at hand; call take() first")
    if error == NO_SUCH_TOKEN:
        return DroppedTokenError(f"slot {first} holds no token: it was dropped, or never retained")
    if error == ANOTHERS_TOKEN:
        return TokenError(f"slot {first} holds another operator's token; use the slot that retain() returned here")
    if error == BACK_IN_TIME:
        return TimeRegressionError(f"a token at {first} cannot go back to {second}; retain one that is early enough")
    if error == BEYOND_TIME:
        return TimeRegressionError(f"a token cannot go to {first}: the last representable time is {MAX_TIME}")
    if error == BEYOND_LOOP:
        return TimeRegressionError(
            f"what it sends around a loop at {first} would come back beyond {MAX_TIME}, the last representable time: "
            f"filter such rows out, or let them leave the loop"
        )
    if error == TOO_MANY_TOKENS:
        return TokenError(f"compiled operators hold {first} tokens, and there is room for no more; hold fewer at once")
    if error == NO_SUCH_INPUT:
        return TokenError(f"it has no input {first}: it was declared with {second}")
    if error == NO_SUCH_OUTPUT:
        return WrongOutputError(f"it has no output {first}: it was declared with {second}")
    if error == WRONG_WIDTH:
        return SchemaError(
            f"output {first} carries {second} column(s), and the message has {third}; make it with new_message()"
        )
    if error == TEXT_TOO_LONG:
        return ConfigError(
            f"a row's text does not fit queues of {8 * 4 * first} bytes, of which a message may take a quarter; use "
            f"larger ones (Config.queue_bytes)"
        )
    if error == EXPIRED_BURST:
        return TimeRegressionError(
            f"a burst that begins at {first} cannot be sent at {second}; answer it before the next is taken"
        )
    return TokenError("its logic raised, or returned that it failed, and not why: call fail(world, me, -1, ...) before")
