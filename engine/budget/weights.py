"""What an operator's state weighs: the sizes of what can be reached from its logic, found by a walk when somebody asks.

Nothing is kept for it before. The walk goes from object to object as the garbage collector would, and stops at the
engine's own. Of long containers it weighs some elements and takes the others to be like them. What lies where no object
leads (memory that kernels ask the system for) counts where an object says so, by `kept_bytes`.
"""

import sys
from bisect import bisect_right
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import suppress
from gc import get_referents
from itertools import islice
from types import CodeType, FrameType, FunctionType, ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tokenring.engine.columns import Batch, Strings
from tokenring.engine.graph import Compiled

if TYPE_CHECKING:
    from tokenring.engine.running import RunningOperator

_MOST_OBJECTS = 100_000  # that are looked at, of one operator
_SAMPLE = 300
_OURS = __name__.partition(".engine.")[0]
_NOT_THEIRS = (f"{_OURS}.engine.", f"{_OURS}.shm.", "numba", "llvmlite")
_OF_ROWS = (Batch, Strings, Compiled)
_NO_STATE = (type, ModuleType, CodeType, FrameType)
_PLAIN = (str, bytes, int, float, complex, bool, type(None))


class Weight(NamedTuple):
    """An operator on one worker: its name, the bytes of its state, and those of rows that wait at its inputs."""

    operator: str
    state_bytes: int
    waiting_bytes: int

    @property
    def bytes(self) -> int:
        """All of it."""
        return self.state_bytes + self.waiting_bytes


def weights(operators: Iterable["RunningOperator"]) -> list[Weight]:
    """What each operator weighs on this worker, the heaviest first. What several share counts for the first of them."""
    walk = _Walk()
    found = []
    for operator in operators:
        if operator.is_relay:
            continue
        waiting = walk.weigh([port.inbox.queue for port in operator.inputs if operator.compiled < 0])
        found.append(Weight(operator.name, walk.weigh([operator.logic, operator.state]), waiting))
    return sorted(found, key=lambda weight: -weight.bytes)


def weigh(*roots: Any) -> int:
    """Bytes of all that can be reached from some objects."""
    return _Walk().weigh(list(roots))


class _Walk:
    def __init__(self) -> None:
        self._seen: set[int] = set()
        self._kept: list[Any] = []  # made on the way: what is seen by its address must stay
        self._of_files = _mapped_files()
        self._left = 0

    def weigh(self, roots: list[Any]) -> int:
        """Bytes of what can be reached from some objects and was not seen before."""
        self._left = _MOST_OBJECTS
        self._kept.append(roots)
        return int(self._weigh(roots))

    def _weigh(self, roots: list[Any]) -> float:
        """Depth first, without recursion where it can be deep."""
        total = 0.0
        waiting = [iter(roots)]
        while waiting and self._left > 0:
            one = next(waiting[-1], self)
            if one is self:
                waiting.pop()
                continue
            if id(one) in self._seen or issubclass(type(one), _NO_STATE):  # isinstance would ask proxies what they are
                continue
            self._seen.add(id(one))
            self._left -= 1
            with suppress(Exception):  # of somebody's own class, asked what it keeps in the middle of a change
                total += self._of_one(one, waiting)
        return total

    def _of_one(self, one: Any, waiting: list[Iterator[Any]]) -> float:
        """The bytes of an object without what it leads to, which is put on the list; of a long container with it."""
        if issubclass(type(one), _PLAIN):
            return sys.getsizeof(one)
        if isinstance(one, np.ndarray):
            return self._of_array(one, waiting)
        own = _told(one)
        if own is not None:
            return own
        module = type(one).__module__
        if module.startswith("pyarrow"):
            buffers = list(_buffers(one))
            self._kept.append(buffers)
            waiting.append(iter(buffers))
            address = getattr(one, "address", 0)  # a buffer's: Arrow makes new objects for it whenever it is asked
            if not address or -address in self._seen or self._is_in_a_file(address):
                return 0
            self._seen.add(-address)
            return int(one.size)
        if module.startswith(_NOT_THEIRS) and not isinstance(one, _OF_ROWS):
            return sys.getsizeof(one, 0)
        if isinstance(one, list | tuple | dict | set | frozenset | deque):
            if len(one) > 2 * _SAMPLE:
                return sys.getsizeof(one) + self._of_many(one)
        if isinstance(one, FunctionType):
            parts = [one.__closure__, one.__defaults__, one.__kwdefaults__, one.__dict__]
            self._kept.append(parts)
            waiting.append(iter(parts))
        else:
            waiting.append(iter(get_referents(one)))
        return sys.getsizeof(one, 0)

    def _of_many(self, many: Any) -> float:
        """The elements of a long container, from some of them."""
        stride = max(1, len(many) // _SAMPLE) if isinstance(many, list | tuple) else 1
        elements = many.items() if isinstance(many, dict) else many
        sample = list(islice(elements, 0, None, stride)) if stride > 1 else list(islice(elements, _SAMPLE))
        flat = [part for pair in sample for part in pair] if isinstance(many, dict) else sample
        self._kept.append(flat)
        return self._weigh(flat) * len(many) / max(1, len(sample))

    def _of_array(self, array: np.ndarray, waiting: list[Iterator[Any]]) -> float:
        """A view counts with what it is of, as far as that is an array: once."""
        base: Any = array
        while isinstance(base.base, np.ndarray):
            base = base.base
        if base is not array:
            if id(base) in self._seen:
                return 0
            self._seen.add(id(base))
        if self._is_in_a_file(base.__array_interface__["data"][0]):
            return 0  # the system takes it back by itself
        if array.dtype.hasobject:
            elements = array.tolist()
            self._kept.append(elements)
            waiting.append(iter([elements]))
        if base.base is None:
            return int(base.nbytes)
        used = getattr(getattr(base.base, "obj", None), "used", None)  # of a table that grows where it is
        return base.nbytes if used is None else used

    def _is_in_a_file(self, address: int) -> bool:
        at = bisect_right(self._of_files, (address, sys.maxsize)) - 1
        return at >= 0 and address < self._of_files[at][1]


def _told(one: Any) -> int | None:
    """What an object says of its size, with all that it leads to."""
    told = getattr(one, "kept_bytes", None)
    return told if isinstance(told, int) else None


def _buffers(one: Any) -> Iterator[Any]:
    """The chunks of Arrow's columns, of tables and batches of them, and the buffers of its arrays."""
    for name in ("columns", "chunks"):
        yield from getattr(one, name, ())
    if hasattr(one, "buffers"):
        yield from one.buffers()


def _mapped_files() -> list[tuple[int, int]]:
    """Where files are mapped in this process, segments included: (first address, the one behind the last), in order."""
    found = []
    with suppress(OSError), open("/proc/self/maps", "rb") as file:
        for line in file:
            addresses, _, _, _, inode, *name = line.split(maxsplit=5)
            if inode != b"0" and not (name and name[0].startswith(b"/dev/zero")):  # that is memory, shared
                start, _, stop = addresses.partition(b"-")
                found.append((int(start, 16), int(stop, 16)))
    return found
