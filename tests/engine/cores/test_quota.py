"""Limits of CPU time, of either version of cgroups, anywhere on the path."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.engine.cores.machines import write
from tokenring.engine.cores.quota import cpu_quota, within_quota

MOUNT = "sys/fs/cgroup"


@pytest.mark.parametrize(
    ("own", "above", "expected"),
    [
        ("150000 100000", "max 100000", 1.5),
        ("max 100000", "200000 100000", 2.0),
        ("400000 100000", "25000 50000", 0.5),
        ("max 100000", "max 100000", None),
        ("", "nonsense here", None),
    ],
)
def test_version_2(tmp_path: Path, own: str, above: str, expected: float | None) -> None:
    files = {f"{MOUNT}/a/b/cpu.max": own, f"{MOUNT}/a/cpu.max": above, "proc/self/cgroup": "0::/a/b\n"}
    assert cpu_quota(write(tmp_path, files)) == expected


@pytest.mark.parametrize("mount", ["cpu", "cpu,cpuacct"])
def test_version_1(tmp_path: Path, mount: str) -> None:
    files = {
        "proc/self/cgroup": "5:memory:/else\n4:cpu,cpuacct:/a/b\n1:name=systemd:/\n0::/\n",
        f"{MOUNT}/{mount}/a/b/cpu.cfs_quota_us": "-1\n",
        f"{MOUNT}/{mount}/a/b/cpu.cfs_period_us": "100000\n",
        f"{MOUNT}/{mount}/a/cpu.cfs_quota_us": "350000\n",
        f"{MOUNT}/{mount}/a/cpu.cfs_period_us": "100000\n",
        f"{MOUNT}/{mount}/else/cpu.cfs_quota_us": "1000\n",
        f"{MOUNT}/{mount}/else/cpu.cfs_period_us": "100000\n",
    }
    assert cpu_quota(write(tmp_path, files)) == 3.5


def test_version_2_beside_version_1(tmp_path: Path) -> None:
    files = {"proc/self/cgroup": "1:cpu:/\n0::/own\n", f"{MOUNT}/unified/own/cpu.max": "120000 100000\n"}
    assert cpu_quota(write(tmp_path, files)) == 1.2


@pytest.mark.parametrize("told", ["/docker/0a1b", "/../../docker/0a1b"])
def test_a_container_that_is_told_its_path_on_the_host(tmp_path: Path, told: str) -> None:
    files = {"proc/self/cgroup": f"0::{told}\n", f"{MOUNT}/cpu.max": "50000 100000\n"}
    assert cpu_quota(write(tmp_path, files)) == 0.5


@pytest.mark.parametrize(
    ("cores", "quota", "workers"), [(8, None, 8), (8, 3.5, 3), (8, 1.5, 1), (8, 0.25, 1), (2, 6.0, 2), (4, 4.0, 4)]
)
def test_workers_that_a_quota_lets_run_at_once(cores: int, quota: float | None, workers: int) -> None:
    assert within_quota(cores, quota) == workers


def test_no_cgroups_at_all(tmp_path: Path) -> None:
    assert cpu_quota(tmp_path) is None


def test_this_machine() -> None:
    quota = cpu_quota(Path("/"))
    assert quota is None or quota > 0
