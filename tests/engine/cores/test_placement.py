"""Which cores are chosen on machines of many kinds, whether workers spin there, and what is said of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.engine.cores.machines import machine, write
from tokenring.engine.cores import Claims, Placement, place, placement
from tokenring.engine.cores.placement import choose
from tokenring.engine.cores.topology import Core, read_cores

TWO_NODES = ["0,8", "1,9", "2,10", "3,11", "4,12", "5,13", "6,14", "7,15"], ["0-3,8-11", "4-7,12-15"]


def chosen(root: Path, workers: int, usable: Sequence[int], taken: Sequence[int] = ()) -> list[int]:
    """The numbers of the cores chosen."""
    return [core.number for core in choose(read_cores(usable, root), set(taken), workers)]


@pytest.mark.parametrize(
    ("workers", "taken", "expected"),
    [
        (1, [], [0]),
        (4, [], [0, 1, 2, 3]),  # a node has as many physical cores
        (4, [1], [4, 5, 6, 7]),  # one has not any more
        (3, [4], [5, 6, 7]),  # the least node that has enough
        (6, [], [0, 1, 2, 3, 4, 5]),  # physical cores before siblings
        (8, [], list(range(8))),
        (9, [], [0, 1, 2, 3, 8, 4, 5, 6, 7]),  # by node
        (2, [0, 1, 2, 3, 4, 5, 6], [7, 15]),  # siblings of one's own before those of others
        (2, [0, 1, 2, 3, 4, 5, 6, 7], [8, 9]),
        (1, list(range(16)), [0]),  # and others' where there is nothing else
        (99, [], [0, 1, 2, 3, 8, 9, 10, 11, 4, 5, 6, 7, 12, 13, 14, 15]),
    ],
)
def test_two_nodes_with_two_threads_a_core(tmp_path: Path, workers: int, taken: list[int], expected: list[int]) -> None:
    assert chosen(machine(tmp_path, *TWO_NODES), workers, range(16), taken) == expected


def test_only_what_this_process_may_use(tmp_path: Path) -> None:
    assert chosen(machine(tmp_path, *TWO_NODES), 3, [3, 9, 11, 12]) == [3, 9, 12]


def test_a_sibling_that_another_group_has_counts_though_we_may_not_use_it(tmp_path: Path) -> None:
    assert chosen(machine(tmp_path, *TWO_NODES), 1, [8, 9], taken=[0]) == [9]


_MACHINES = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 4)), min_size=1, max_size=12)


@given(_MACHINES, st.sets(st.integers(0, 11)), st.integers(1, 14))
def test_what_holds_on_any_machine(threads: list[tuple[int, int]], taken: set[int], workers: int) -> None:
    """Threads by (node, physical core)."""
    siblings = {place: frozenset(at for at, other in enumerate(threads) if other == place) for place in threads}
    cores = [Core(at, siblings[place], place[0]) for at, place in enumerate(threads)]
    got = choose(cores, taken, workers)
    assert len({core.number for core in got}) == len(got) == min(workers, len(cores))
    free = [core for core in cores if core.number not in taken]
    assert sum(core.number not in taken for core in got) == min(len(got), len(free))
    whole = {core.siblings for core in free if not core.siblings & taken}
    assert len({core.siblings for core in got} & whole) >= min(len(got), len(whole))
    for node in {core.node for core in cores}:
        has = {core.siblings for core in cores if core.node == node} & whole
        if len(has) >= workers:
            assert len({core.node for core in got}) == 1


@pytest.fixture
def taken(monkeypatch: pytest.MonkeyPatch) -> set[int]:
    """What other groups have, in place of those that live."""
    cores: set[int] = set()
    monkeypatch.setattr(placement, "taken_among", lambda asked: cores & set(asked))
    return cores


class _Granted(Claims):
    """Claims of cores that are not this machine's, all of which are granted but for some."""

    def __init__(self, lost: set[int] = frozenset()) -> None:  # type: ignore[assignment]
        super().__init__()
        self.lost = lost
        self.ours: list[int] = []

    def claim(self, core: int) -> bool:
        """Whether it is granted."""
        if core not in self.lost:
            self.ours.append(core)
        return core not in self.lost

    def close(self) -> None:
        """Give them back."""
        self.ours = []


@pytest.fixture
def root(tmp_path: Path, taken: set[int]) -> Iterator[Path]:
    """A machine with two cores of two threads each."""
    return machine(tmp_path, ["0,2", "1,3"], ["0-3"])


def placed(
    root: Path, workers: int, pin: bool = True, spin_us: int = 50, usable: Sequence[int] = range(4)
) -> Placement:
    """As the launcher does it."""
    return place(workers, pin, spin_us, usable, _Granted(), root)


def test_each_worker_has_a_core(root: Path) -> None:
    got = placed(root, 2)
    assert (got.cores, got.spin_us) == ((0, 1), 50)
    assert str(got) == "workers on cores 0, 1 (of 4; one a physical core), spinning 50 µs"


def test_siblings_spin_too(root: Path) -> None:
    got = placed(root, 4)
    assert (got.cores, got.spin_us) == ((0, 1, 2, 3), 50)
    assert str(got) == "workers on cores 0-3 (of 4; some share a physical core), spinning 50 µs"


def test_more_workers_than_cores_do_not_spin(root: Path) -> None:
    got = placed(root, 3, usable=[0, 1])
    assert (got.cores, got.spin_us) == ((0, 1, 0), 0)
    assert str(got) == "workers on cores 0, 1 (of 2; one a physical core), not spinning: 3 workers, and 2 cores"


def test_nor_do_they_on_another_groups_core(root: Path, taken: set[int]) -> None:
    taken |= {0, 1, 3}
    got = placed(root, 2)
    assert (got.cores, got.spin_us) == ((0, 2), 0)
    assert str(got).endswith("not spinning: another group has cores 0, 1, 3")


@pytest.mark.parametrize(("quota", "workers", "spins"), [(150, 1, 50), (150, 2, 0), (200, 2, 50), (99, 1, 0)])
def test_a_quota_counts_whole_cores(root: Path, quota: int, workers: int, spins: int) -> None:
    write(root, {"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/cpu.max": f"{quota} 100\n"})
    got = placed(root, workers)
    assert (len(got.cores), got.spin_us) == (workers, spins)
    assert spins or f"a cgroup's quota of {quota / 100:g} CPUs" in str(got)


def test_unpinned_workers_spin_where_there_are_cores_enough(root: Path, taken: set[int]) -> None:
    claims = _Granted()
    got = place(2, False, 50, range(4), claims, root)
    assert (got.cores, got.spin_us, claims.ours) == ((), 50, [])
    assert str(got) == "workers on any of cores 0-3, spinning 50 µs"
    taken |= {0, 1, 2}
    assert place(2, False, 50, range(4), claims, root).spin_us == 0


def test_who_asks_for_no_spinning_gets_none(root: Path) -> None:
    assert str(placed(root, 1, spin_us=0)).endswith("not spinning: spin_us is 0")


def test_a_core_that_another_group_has_just_got(root: Path) -> None:
    claims = _Granted(lost={0})
    got = place(2, True, 50, range(4), claims, root)
    assert got.cores == (1, 3) or got.cores == (1, 2)
    assert sorted(claims.ours) == sorted(got.cores)
    assert got.spin_us == 50


def test_the_node_is_said_where_there_are_several(tmp_path: Path, taken: set[int]) -> None:
    got = placed(machine(tmp_path, *TWO_NODES), 3, usable=range(16))
    assert str(got) == "workers on cores 0-2 (of 16; one a physical core; node 0), spinning 50 µs"
