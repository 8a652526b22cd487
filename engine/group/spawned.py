"""The first moments of processes that are started afresh: workers that import their program, and the fork server."""

import importlib
import os
import signal
import sys
from typing import Any, NoReturn

from tokenring.engine.group.child import live, told
from tokenring.engine.group.frames import write_message
from tokenring.engine.group.interrupts import leave_to_launcher, wait_for_own_children
from tokenring.engine.group.linux import die_with_parent
from tokenring.engine.group.named import resolve
from tokenring.engine.group.threads import has_polars_pool, refuse_polars
from tokenring.engine.group.values import unpack
from tokenring.engine.group.warm_up import warm_up
from tokenring.engine.install import importing
from tokenring.engine.worker import Config
from tokenring.shm.kernels import ENDING_SIGNALS
from tokenring.shm.memory import Segment
from tokenring.shm.queues import ParkingLot

END = b"end"
"""Asks the fork server to end. That its pipe ends does not: a process that the launcher forks has it too."""


def worker(orders: int, index: int, pipe: int) -> NoReturn:
    """A worker's whole life, after `start="spawn"`."""
    try:
        order = _ordered(orders)
        program, worker_class, segment, lot = _ready(order)
        write_message(pipe, {"kind": "attached"})
    except BaseException as error:
        write_message(pipe, told(error, index))
        os._exit(1)
    config, cores = Config(**order["config"]), order["cores"]
    live(program, segment, lot, index, config, cores, pipe, order["launcher"], worker_class=worker_class)


def server(orders: int, pipes: list[int], requests: int, answers: int) -> NoReturn:
    """The fork server's whole life: forks a worker for each pipe, tells their pids, then, for a worker's number, how it
    ended, which the launcher asks once it has."""
    try:
        order = _ordered(orders)
        program, worker_class, segment, lot = _ready(order)
    except BaseException as error:
        for index, pipe in enumerate(pipes):
            write_message(pipe, told(error, index))
        os._exit(1)
    wait_for_own_children()
    me, pids = os.getpid(), []
    lacks_polars = has_polars_pool()  # it may be used where the program is imported
    for index, pipe in enumerate(pipes):
        pid = os.fork()
        if pid == 0:
            for other in (*pipes, requests, answers):
                if other != pipe:
                    os.close(other)
            if lacks_polars:
                refuse_polars()
            config, cores = Config(**order["config"]), order["cores"]
            live(program, segment, lot, index, config, cores, pipe, order["launcher"], me, worker_class)
        pids.append(pid)
    for pipe in pipes:
        write_message(pipe, {"kind": "attached"})
        os.close(pipe)
    os.write(answers, b"".join([pid.to_bytes(8, "little") for pid in pids]))
    while (asked := os.read(requests, 8)) not in (END, b""):
        status = os.waitstatus_to_exitcode(os.waitpid(pids[int.from_bytes(asked, "little")], 0)[1])
        os.write(answers, status.to_bytes(8, "little", signed=True))
    os._exit(0)


def _ordered(orders: int) -> Any:
    """What the launcher wrote into a file of its own; signals are set up, and our end is bound to its."""
    leave_to_launcher()
    signal.pthread_sigmask(signal.SIG_UNBLOCK, ENDING_SIGNALS)
    with open(f"/proc/self/fd/{orders}", "rb") as file:  # a position of its own: all have the descriptor
        count = int.from_bytes(file.read(8), "little")
        lengths = [int.from_bytes(file.read(8), "little") for _ in range(count)]
        order = unpack([bytearray(file.read(length)) for length in lengths])
    die_with_parent(order["launcher"])
    sys.argv[:] = order["argv"]
    return order


def _ready(order: Any) -> tuple[Any, Any, Segment, ParkingLot]:
    with importing():
        program, worker_class = resolve(order["program"]), resolve(order["worker_class"])
        for module in order["modules"]:
            importlib.import_module(module)
    warm_up()
    segment = Segment.attach(order["segment"], Config(**order["config"]).layout)
    return program, worker_class, segment, ParkingLot.attach(order["semaphores"])
