"""Memory order as it is emitted: on x86-64 plain moves publish just as well, so the code for ARM64 is looked at, and
the order in which each kernel stores.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from types import FunctionType
from typing import Any

import llvmlite.binding as llvm
import numpy as np
import pytest
from numba import njit, types

from tokenring.shm.kernels import address_of
from tokenring.shm.memory import intrinsics
from tokenring.shm.memory.atomics import load_word, store_release, store_word
from tokenring.shm.memory.layout import MAX_WORKERS
from tokenring.shm.queues import data_queue, parking, progress_ring

STATE, STATES, WORD = types.int64[::1], types.int64[:, ::1], types.int64
_TARGET = "aarch64-unknown-linux-gnu"
_RELEASE, _ACQUIRE, _FENCE = r"\bstlr\b", r"\b(ldar|ldapr)\b", r"\bdmb\s+ish\b"

# Every label of docs/concurrency.md that is a kernel's: both ends, and the instruction that carries it.
ENDS: dict[str, tuple[Any, tuple[Any, ...], str]] = {
    "ring-publish: release": (progress_ring.publish, (STATE, STATE, WORD, WORD), _RELEASE),
    "ring-publish: acquire": (progress_ring.available, (STATE,), _ACQUIRE),
    "ring-release: release": (progress_ring.release, (STATE,), _RELEASE),
    "ring-release: acquire": (progress_ring.slowest_read_position, (STATE,), _ACQUIRE),
    "queue-publish: release": (data_queue.commit_all, (STATES,), _RELEASE),
    "queue-publish: acquire": (data_queue.receive, (STATES, STATE), _ACQUIRE),
    "queue-bell: release": (data_queue.commit_all, (STATES,), _RELEASE),
    "queue-bell: acquire": (data_queue.anything_waiting, (STATES,), _ACQUIRE),
    "queue-release: release": (data_queue.release_all, (STATES,), _RELEASE),
    "queue-release: acquire": (data_queue.has_room, (STATE, WORD), _ACQUIRE),
    "parking: parker's half": (parking.begin_parking, (WORD, WORD), _FENCE),
    "parking: waker's half": (parking.any_parked, (WORD, WORD), _FENCE),
}


@cache
def _all_targets() -> None:
    assert intrinsics.as_pointer  # numba knows of atomics that are imported before it compiles
    data_queue.has_room.numba_comes()  # which then knows what kernels are
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()


def on_arm64(function: Callable[..., Any], signature: tuple[Any, ...]) -> list[str]:
    """The instructions of a kernel's own code on ARM64."""
    _all_targets()
    fresh = njit(error_model="numpy")(function)
    fresh.compile(signature)
    text = fresh.inspect_llvm(fresh.signatures[0])
    # numba counts references to arrays by an instruction of this machine, which has nothing to do with ours.
    text = re.sub(r"(= )(tail )?call i8 @llvm\.x86\.atomic\.sub\.cc.*", r"\1add i8 0, 1", text)
    text = re.sub(r"declare i8 @llvm\.x86\..*", "", text)
    machine = llvm.Target.from_triple(_TARGET).create_target_machine(opt=3)
    module = llvm.parse_assembly(text)
    module.triple, module.data_layout = _TARGET, str(machine.target_data)
    code = machine.emit_assembly(module)
    name = function.__name__
    found = re.search(rf"^_ZN\S*?{len(name)}{name}B\S*:.*?\n(.*?)^\.Lfunc_end", code, re.S | re.M)
    assert found, f"no code of {name}"
    lines = [line.strip() for line in found[1].splitlines()]
    return [line for line in lines if line and not line.startswith((".", "//", ";"))]


@pytest.mark.parametrize("end", ENDS)
def test_each_end_carries_its_order(end: str) -> None:
    kernel, signature, instruction = ENDS[end]
    assert any(re.search(instruction, line) for line in on_arm64(kernel.py_func, signature))


def test_this_test_can_fail() -> None:
    def publish_plainly(at: int, value: int) -> None:
        store_word(at, value)

    def publish(at: int, value: int) -> None:
        store_release(at, value)

    assert not any(re.search(_RELEASE, line) for line in on_arm64(publish_plainly, (WORD, WORD)))
    assert any(re.search(_RELEASE, line) for line in on_arm64(publish, (WORD, WORD)))


def test_a_batch_is_read_after_its_sequence() -> None:
    """Nothing is loaded from the record before the acquire; the first loads are of private state."""
    code = on_arm64(progress_ring.available.py_func, (STATE,))
    acquire = next(number for number, line in enumerate(code) if re.search(_ACQUIRE, line))
    record = re.search(r"\[(x\d+)\]", code[acquire])
    assert record
    assert not any(re.match(rf"ldr\s.*\[{record[1]}\b", line) for line in code[:acquire])
    assert any(re.match(rf"ldr\s.*\[{record[1]}, #8\]", line) for line in code[acquire:])


Stores = list[tuple[str, int, int]]


def traced(kernel: Any) -> tuple[Callable[..., Any], Stores]:
    """The kernel's source run as Python, and what it stores in shared memory: (how, address, value), in its order."""
    stores: Stores = []

    def note(how: str) -> Callable[[int, int], None]:
        return lambda address, value: stores.append((how, int(address), int(value)))

    function = kernel.py_func
    names = {"store_word": note("plain"), "store_release": note("release")}
    return FunctionType(function.__code__, function.__globals__ | names), stores


@pytest.mark.parametrize("count", [1, 2, 5])
def test_a_batch_is_published_last(count: int) -> None:
    """All words of all records come before the one store that shows them, which is the first record's sequence."""
    records, positions = np.zeros(8 * 8, np.int64), np.zeros(progress_ring.LINE_BYTES // 8 + 1, np.int64)
    ring = np.zeros(progress_ring.RING_STATE, np.int64)
    ring[progress_ring.WRITE_ADDRESS] = address_of(positions)
    ring[progress_ring.READERS_ADDRESS] = address_of(positions, progress_ring.LINE_BYTES // 8)
    ring[progress_ring.RECORDS_ADDRESS] = address_of(records)
    ring[progress_ring.RING_MASK], ring[progress_ring.RING_WORKERS] = 7, 1
    publish, stores = traced(progress_ring.publish)
    assert publish(ring, np.arange(1, 1 + 6 * count), 0, count)
    *before, last = stores
    assert last == ("release", address_of(records), 1)
    assert {how for how, _, _ in before} == {"plain"}
    words = {8 * record + word for record in range(count) for word in range(1, 8)}
    words |= {8 * record for record in range(1, count)}
    assert {(address - address_of(records)) // 8 for _, address, _ in before} == words


def test_messages_are_published_once_with_all_that_was_written_and_then_rung() -> None:
    words, bell = np.zeros(2 * 32 + 64, np.int64), np.zeros(1, np.int64)
    queue = np.array([data_queue._row(address_of(words), 64, address_of(bell), 7)], np.int64)
    data_queue.begin(queue[0], 24, 3, 16, 1, 5)
    commit_all, stores = traced(data_queue.commit_all)
    commit_all(queue)
    commit_all(queue)  # nothing new: nothing is stored
    assert stores == [("release", address_of(words), 24), ("release", address_of(bell), 24 * MAX_WORKERS + 7)]


def test_the_bell_is_heard_before_the_queues_are_looked_at() -> None:
    """By any receiver: what was rung for before it heard the bell is in the queues that it looks at afterwards."""
    words, bell = np.zeros(2 * 32 + 64, np.int64), np.array([5], np.int64)
    queue = np.array([data_queue._row(address_of(words), 64, address_of(bell), 0)], np.int64)
    loads: list[int] = []

    def load(address: int) -> int:
        loads.append(int(address))
        return int(bell[0]) if address == address_of(bell) else 0

    function = data_queue.receive.py_func
    receive = FunctionType(function.__code__, function.__globals__ | {"load_acquire": load})
    inbox = np.zeros(8 * 4, np.int64)
    receive(queue, inbox)
    assert loads == [address_of(bell), address_of(words)]
    receive(queue, inbox)
    assert loads[2:] == [address_of(bell)], "nothing was rung: nothing else is looked at"


def test_bytes_are_given_back_once() -> None:
    words = np.zeros(2 * 32 + 64, np.int64)
    queue = np.array([data_queue._row(address_of(words), 64, 0, 0)], np.int64)
    queue[0, data_queue.READ_POSITION] = 24
    release_all, stores = traced(data_queue.release_all)
    release_all(queue)
    release_all(queue)
    assert stores == [("release", int(queue[0, data_queue.READ_ADDRESS]), 24)]


def test_a_plain_word_has_no_order() -> None:
    def read(at: int) -> int:
        return load_word(at)

    assert not any(re.search(_ACQUIRE, line) for line in on_arm64(read, (WORD,)))
