"""How much CPU time the cgroups of this process allow it: a container's limit, which affinities do not show."""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path, PurePosixPath

_MOUNTS = "sys/fs/cgroup"
_UNIFIED = ("", "unified")  # where version 2 is mounted: alone, or beside version 1


def cpu_quota(root: Path) -> float | None:
    """CPUs that this process may use at a time, 1.5 say: the least quota of its cgroup and of all those above it, by
    `root`/proc/self/cgroup and `root`/sys/fs/cgroup, versions 1 and 2. None if there is none.

    A container may be told its path on the host, whose upper part it does not see: what of the path is not there is
    passed over, and the mount's own root always looked at.
    """
    quotas = [quota for folder in _folders(root) for quota in (_version_2(folder), _version_1(folder)) if quota]
    return min(quotas, default=None)


def within_quota(cores: int, quota: float | None) -> int:
    """How many workers so many cores can run at once, at least one: of a quota of 1.5 CPUs one, since two that work
    would be stopped for a quarter of the time, both together."""
    return cores if quota is None else max(1, min(cores, int(quota)))


def _folders(root: Path) -> Iterator[Path]:
    """The folders of this process's cgroups that may limit its CPU time, and of all above them."""
    for line in _text(root / "proc/self/cgroup").splitlines():
        _, _, named = line.partition(":")
        controllers, _, path = named.partition(":")
        if controllers and "cpu" not in controllers.split(","):
            continue
        mounts = dict.fromkeys([controllers, "cpu", "cpu,cpuacct"]) if controllers else _UNIFIED
        inner = PurePosixPath(path.strip("/"))
        inner = PurePosixPath() if ".." in inner.parts else inner  # outside of our namespace: its root is all we see
        for mount in mounts:
            for above in (inner, *inner.parents):
                yield root / _MOUNTS / mount / above


def _version_2(folder: Path) -> float | None:
    words = _text(folder / "cpu.max").split()
    return _ratio(words[0], words[1]) if len(words) == 2 else None


def _version_1(folder: Path) -> float | None:
    return _ratio(_text(folder / "cpu.cfs_quota_us"), _text(folder / "cpu.cfs_period_us"))


def _ratio(quota: str, period: str) -> float | None:
    """None for "max", -1 and what is no number."""
    with suppress(ValueError):
        if int(quota) > 0 and int(period) > 0:
            return int(quota) / int(period)
    return None


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""
