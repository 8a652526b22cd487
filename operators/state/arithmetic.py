"""Arithmetic of int64 in kernels: whether a sum stays in range.

Looked at beforehand: LLVM takes a sum never to overflow, and would optimise a look at it afterwards away.
"""

from tokenring.engine import kernel

MOST, LEAST = 2**63 - 1, -(2**63)
"""The range of int64."""


@kernel
def overflows(before, value):  # type: ignore[no-untyped-def]
    """Whether the sum of two int64 leaves their range."""
    return (value > 0 and before > MOST - value) or (value < 0 and before < LEAST - value)
