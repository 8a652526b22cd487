"""Types and signatures of kernels, written down without numba: importing it takes longer than importing all of ours."""

from typing import Any


class Type:
    """A type, by what numba calls it. Called with other types it is a signature, indexed by slices a writable array of
    its elements: `void(int64, float64[::1])`. A type or signature of numba's own may stand wherever one of these may.
    """

    __slots__ = ("_found", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self._found: Any = None

    def __call__(self, *arguments: Any) -> "Signature":
        return Signature(self, arguments)

    def __getitem__(self, dimensions: slice | tuple[slice, ...]) -> "Type":
        parts = dimensions if isinstance(dimensions, tuple) else (dimensions,)
        steps = ", ".join([":" if part.step is None else f"::{part.step}" for part in parts])
        return Type(f"{self.text}[{steps}]")

    def resolve(self) -> Any:
        """What numba has for it."""
        if self._found is None:
            from numba import types

            self._found = eval(self.text, vars(types))
        return self._found

    def __repr__(self) -> str:
        return self.text


class Signature:
    """What a kernel takes and returns."""

    __slots__ = ("arguments", "returns")

    def __init__(self, returns: Any, arguments: tuple[Any, ...]) -> None:
        self.returns = returns
        self.arguments = arguments

    def resolve(self) -> Any:
        """What numba has for it."""
        return resolved(self.returns)(*[resolved(argument) for argument in self.arguments])

    def __repr__(self) -> str:
        return f"{self.returns}({', '.join([str(argument) for argument in self.arguments])})"


def resolved(written: Any) -> Any:
    """A type or signature as numba's own; what is numba's already stays."""
    return written.resolve() if isinstance(written, Type | Signature) else written


def tuple_of(element: Type, count: int) -> Type:
    """A tuple of `count` values of one type."""
    return Type(f"UniTuple({element.text}, {count})")


def readonly(element: Type) -> Type:
    """A contiguous array of one dimension, writable or not."""
    return Type(f"Array({element.text}, 1, 'C', readonly=True)")


int64 = Type("int64")
float64 = Type("float64")
boolean = Type("boolean")
void = Type("void")
COLUMN = readonly(int64)
"""A contiguous int64 column, writable or not."""
WORDS = int64[::1]
"""A writable int64 array of one dimension."""
TABLE = int64[:, ::1]
"""A writable int64 array of two dimensions."""
