"""What the files of /sys say of cores, whole or not."""

from __future__ import annotations

import os
from pathlib import Path

from tests.engine.cores.machines import SYSTEM, machine, write
from tokenring.engine.cores.topology import Core, read_cores


def test_threads_of_a_physical_core_and_nodes(tmp_path: Path) -> None:
    machine(tmp_path, ["0,4", "1,5", "2,6", "3,7"], ["0-1,4-5", "2-3,6-7"])
    cores = read_cores(range(8), tmp_path)
    assert cores[5] == Core(5, frozenset({1, 5}), 0)
    assert [core.node for core in cores] == [0, 0, 1, 1, 0, 0, 1, 1]
    assert [sorted(core.siblings) for core in cores[:4]] == [[0, 4], [1, 5], [2, 6], [3, 7]]


def test_threads_may_lie_beside_each_other(tmp_path: Path) -> None:
    machine(tmp_path, ["0-1", "2-3"])
    assert [sorted(core.siblings) for core in read_cores([0, 3], tmp_path)] == [[0, 1], [2, 3]]


def test_packages_and_core_numbers_where_there_is_no_list(tmp_path: Path) -> None:
    machine(tmp_path, cores={0: (0, 0), 1: (0, 1), 2: (1, 0), 3: (0, 0)})
    assert [sorted(core.siblings) for core in read_cores(range(4), tmp_path)] == [[0, 3], [1], [2], [0, 3]]


def test_a_core_that_is_offline_has_no_files(tmp_path: Path) -> None:
    machine(tmp_path, ["0,2"], ["0,2"])
    assert read_cores([1, 2], tmp_path) == [Core(1, frozenset({1}), 0), Core(2, frozenset({0, 2}), 0)]


def test_nothing_is_known(tmp_path: Path) -> None:
    assert read_cores([3, 1], tmp_path) == [Core(1, frozenset({1}), 0), Core(3, frozenset({3}), 0)]


def test_files_of_another_kind(tmp_path: Path) -> None:
    machine(tmp_path, ["0,1"], ["0"])
    write(
        tmp_path, {f"{SYSTEM}/cpu/cpu0/topology/thread_siblings_list": "what\n", f"{SYSTEM}/node/node0/cpulist": "\n"}
    )
    assert read_cores([0], tmp_path) == [Core(0, frozenset({0}), 0)]


def test_this_machine() -> None:
    cores = read_cores(os.sched_getaffinity(0), Path("/"))
    assert {core.number for core in cores} == os.sched_getaffinity(0)
    assert all(core.number in core.siblings for core in cores)
