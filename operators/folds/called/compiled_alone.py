"""An aggregate's function compiled by itself, before the entry around it: what is amiss in it is told by its name.

Imported when the first of them is compiled, since importing numba takes longer than importing all of ours.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numba import from_dtype, types
from numba.core.registry import cpu_target

from tokenring.engine import KernelError, SchemaError
from tokenring.engine.raw import Kernel, in_short


def check_function(said: str, function: Kernel, takes: Sequence[Any], gives: str | None) -> None:
    """Compile a function that takes this, of which a state is a dtype, first of all; `gives`: the kind that its result
    is to have, None if it has none. said: whose it is, with the place where it stands.
    KernelError if it cannot be compiled, SchemaError for a result that is no value of the kind."""
    returned = _returned(said, function, takes)
    if gives is None:
        return
    made = returned.type if isinstance(returned, types.Optional) else returned
    if isinstance(made, types.NoneType):
        raise SchemaError(f"{said} returns nothing but None; let it return a number, or None for null")
    if isinstance(made, types.Float) and gives.removesuffix("?") != "float64":
        raise SchemaError(f"{said} returns a float, and gives={gives!r}; let it return int(...), or give 'float64'")
    if not isinstance(made, types.Boolean | types.Integer | types.Float):
        raise SchemaError(f"{said} returns {types.unliteral(made)}; let it return a number, or None for null")


def _returned(said: str, function: Kernel, takes: Sequence[Any]) -> Any:
    arguments = tuple([from_dtype(each) if isinstance(each, np.dtype) else each.resolve() for each in takes])
    original = types.Dispatcher(function.original())
    try:
        return original.get_call_type(cpu_target.typing_context, arguments, {}).return_type
    except Exception as error:  # numba's own, and what its inner parts let through
        is_field = isinstance(error, KeyError)  # of a record's type
        why = f"no field {error}; the state has {', '.join(takes[0].names)}" if is_field else in_short(error)
    raise KernelError(f"{said} cannot be compiled: {why}")
