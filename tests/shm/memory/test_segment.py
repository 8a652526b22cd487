"""Segments: made with mode 0600 and an unguessable name, checked on attach, gone afterwards, refused where there is
no room."""

from __future__ import annotations

import mmap
import os
import resource
import stat
import subprocess
import sys
from collections import namedtuple
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import numpy as np
import posix_ipc
import pytest

from tests.errors import Fact, raises
from tokenring.shm.errors import OutOfSharedMemory, SegmentError
from tokenring.shm.memory import layout as words_of
from tokenring.shm.memory import segment as module
from tokenring.shm.memory.layout import Layout
from tokenring.shm.memory.segment import Segment, new_name, process_start_ticks, require_room

LAYOUT = Layout(2, 64, 256)


def _path(segment: Segment) -> Path:
    assert segment.name is not None
    return Path("/dev/shm") / segment.name.lstrip("/")


def test_two_mappings_of_one_segment_share_their_words() -> None:
    made = Segment.create(LAYOUT)
    assert made.name is not None
    attached = Segment.attach(made.name, LAYOUT)
    made.words[500] = 77
    assert attached.words[500] == 77
    assert made.address(3) - made.address(0) == 24
    attached.close()
    made.unlink()
    made.close()


def test_a_segment_is_private_to_its_user() -> None:
    made = Segment.create(LAYOUT)
    status = _path(made).stat()
    assert stat.S_IMODE(status.st_mode) == 0o600
    assert status.st_size == LAYOUT.total_bytes
    made.unlink()
    made.close()


def test_each_receiver_allocates_its_queues_and_leaves_what_is_there() -> None:
    layout = Layout(3, 64, 4096)
    made = Segment.create(layout)
    assert made.name is not None
    workers = [made, *(Segment.attach(made.name, layout) for _ in range(2))]
    queues_bytes = 2 * 8 * layout.queue_words
    early = layout.queue(0, 2) + 100
    made.words[early] = 77
    allocated = [_path(made).stat().st_blocks * 512]
    for receiver, worker in enumerate(workers):
        worker.allocate_queues_to(receiver)
        allocated.append(_path(made).stat().st_blocks * 512)
    page = 4096
    assert 8 * layout.queues_to(0) <= allocated[0] < 8 * layout.queues_to(0) + 3 * page
    assert all(abs(after - before - queues_bytes) <= 3 * page for before, after in pairwise(allocated))
    assert allocated[-1] >= layout.total_bytes
    assert [int(worker.words[early]) for worker in workers] == [77] * 3
    made.unlink()
    for worker in workers:
        worker.close()


def test_room_that_vanishes_before_a_receiver_allocates(monkeypatch: pytest.MonkeyPatch) -> None:
    made = Segment.create(LAYOUT)
    made.unlink()
    for number, raised in ((28, OutOfSharedMemory), (5, SegmentError)):
        copy = os.dup(made._descriptor)
        monkeypatch.setattr(module.os, "posix_fallocate", _failing(number))
        with raises(raised, "/dev/shm" if number == 28 else ("worker 1", os.strerror(5))):
            made.allocate_queues_to(1)
        made._descriptor = copy
    made.close()


def _failing(number: int) -> Callable[..., None]:
    def fail(*_: int) -> None:
        raise OSError(number, os.strerror(number))

    return fail


def test_a_permissive_umask_changes_nothing() -> None:
    before = os.umask(0)
    try:
        made = Segment.create(LAYOUT)
        assert stat.S_IMODE(_path(made).stat().st_mode) == 0o600
    finally:
        os.umask(before)
    made.unlink()
    made.close()


def test_names_are_unguessable_and_name_their_owner() -> None:
    names = {new_name() for _ in range(100)}
    assert len(names) == 100
    assert all(name.startswith(f"/tokenring-{os.getpid()}-{process_start_ticks(os.getpid())}-") for name in names)


def test_unlink_removes_the_name_once_and_keeps_the_mapping() -> None:
    made = Segment.create(LAYOUT)
    path = _path(made)
    made.unlink()
    assert not path.exists()
    made.unlink()
    made.words[300] = 1
    assert made.words[300] == 1
    made.close()
    made.close()


def test_who_attached_does_not_unlink() -> None:
    made = Segment.create(LAYOUT)
    assert made.name is not None
    attached = Segment.attach(made.name, LAYOUT)
    attached.unlink()
    assert _path(made).exists()
    attached.close()
    made.unlink()
    made.close()


def test_a_segment_that_is_gone() -> None:
    with raises(SegmentError, "/tokenring-0-0-gone"):
        Segment.attach("/tokenring-0-0-gone", LAYOUT)


@pytest.mark.parametrize(
    ("word", "value", "said"),
    [
        (words_of.HEADER_MAGIC, 1, ("magic", "0x1")),
        (words_of.HEADER_VERSION, 999, ("version", "0x3e7")),
        (words_of.HEADER_DIGEST, 5, ("digest", "0x5")),
        (words_of.HEADER_READY, 0, "not initialised"),
    ],
)
def test_a_header_that_is_wrong(word: int, value: int, said: Fact) -> None:
    made = Segment.create(LAYOUT)
    made.words[word] = value
    assert made.name is not None
    with raises(SegmentError, made.name, said):
        Segment.attach(made.name, LAYOUT)
    made.unlink()
    made.close()


def test_a_segment_of_another_size_or_layout() -> None:
    made = Segment.create(LAYOUT)
    assert made.name is not None
    with raises(SegmentError, made.name, f"{LAYOUT.total_bytes} bytes"):
        Segment.attach(made.name, Layout(2, 128, 256))
    made.unlink()
    made.close()


def test_too_little_room_is_said_before_anything_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    status = namedtuple("status", "f_bavail f_frsize")
    monkeypatch.setattr(module.os, "statvfs", lambda _: status(10, 4096))
    before = set(os.listdir("/dev/shm"))
    with raises(OutOfSharedMemory, "1.1 MB", "0.0 MB", "/dev/shm", "queue_bytes"):
        Segment.create(Layout(2, 64, 65536))
    assert set(os.listdir("/dev/shm")) == before
    require_room(10 * 4096)


def test_room_that_vanishes_while_the_pages_are_allocated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module.os, "posix_fallocate", _failing(28))
    before = set(os.listdir("/dev/shm"))
    with raises(OutOfSharedMemory, "MB", "/dev/shm", "queue_bytes"):
        Segment.create(LAYOUT)
    assert set(os.listdir("/dev/shm")) == before


@pytest.mark.parametrize(
    ("where", "function", "error", "facts"),
    [
        (posix_ipc, "SharedMemory", OSError(30, os.strerror(30)), ("/dev/shm", "remount,rw")),
        (posix_ipc, "SharedMemory", posix_ipc.PermissionsError("no permission"), ("/dev/shm", "let this user write")),
        (posix_ipc, "SharedMemory", OSError("too many are open"), ("ulimit -n", "102400 open files", "fewer workers")),
        (os, "ftruncate", OSError(24, os.strerror(24)), ("ulimit -n", "102400 open files", "fewer workers")),
        (posix_ipc, "SharedMemory", OSError(28, os.strerror(28)), ("/dev/shm", "df -i /dev/shm", "remove files")),
        (os, "ftruncate", OSError(27, os.strerror(27)), ("ulimit -f", "files of 100 KiB", "queue_bytes")),
    ],
)
def test_what_the_system_refuses_has_its_cure(
    monkeypatch: pytest.MonkeyPatch, where: object, function: str, error: Exception, facts: tuple[str, ...]
) -> None:
    def refused(*given: object, **options: object) -> None:
        raise error

    monkeypatch.setattr(where, function, refused)
    monkeypatch.setattr(resource, "getrlimit", lambda which: (100 << 10, resource.RLIM_INFINITY))
    before = set(os.listdir("/dev/shm"))
    with raises(SegmentError, str(error), *facts):
        Segment.create(LAYOUT)
    assert set(os.listdir("/dev/shm")) == before


def test_a_real_file_system_that_is_too_small(tmp_path: Path) -> None:
    """In a mount namespace of its own, /dev/shm is a tmpfs of 64 KiB."""
    script = (
        "mount -t tmpfs -o size=64k tmpfs /dev/shm && "
        f"exec {sys.executable} -c '"
        "import os\n"
        "from tokenring.shm.memory.layout import Layout\n"
        "from tokenring.shm.memory.segment import Segment\n"
        "from tokenring.shm.errors import OutOfSharedMemory\n"
        "try: Segment.create(Layout(2, 1024, 65536))\n"
        'except OutOfSharedMemory as error: print("refused", error, os.listdir("/dev/shm"))\'\n'
    )
    root = Path(__file__).parents[2]
    done = subprocess.run(
        ["unshare", "--mount", "sh", "-c", script],
        capture_output=True,
        text=True,
        cwd=root,
        env=os.environ | {"PYTHONPATH": str(root)},
        check=False,
    )
    if done.returncode != 0 and ("unshare" in done.stderr or "mount" in done.stderr):
        pytest.skip(f"no mount namespace here: {done.stderr.strip()}")
    assert done.returncode == 0, done.stderr
    assert "refused" in done.stdout
    assert done.stdout.strip().endswith("[]"), "nothing was left there"


def test_a_private_segment_has_no_name() -> None:
    segment = Segment.private(LAYOUT)
    assert segment.name is None
    assert int(segment.words[words_of.HEADER_READY]) == 1
    segment.unlink()
    segment.close()


def test_views_keep_a_closed_mapping_alive() -> None:
    made = Segment.create(LAYOUT)
    view = made.words[100:110]
    made.unlink()
    made.close()
    view[:] = 3
    assert np.all(view == 3)


def test_process_start_ticks() -> None:
    assert process_start_ticks(os.getpid()) > 0
    child = subprocess.Popen(["true"])
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    assert process_start_ticks(child.pid) == 0, "a zombie owns nothing"
    child.wait()
    assert process_start_ticks(child.pid) == 0


def test_a_name_that_is_taken_is_not_reused(monkeypatch: pytest.MonkeyPatch) -> None:
    made = Segment.create(LAYOUT)
    monkeypatch.setattr(module, "new_name", lambda: made.name)
    with raises(SegmentError, str(made.name), "exists"):
        Segment.create(LAYOUT)
    assert _path(made).exists()
    made.unlink()
    with pytest.raises(posix_ipc.ExistentialError):
        posix_ipc.SharedMemory(f"/{_path.__name__}-none")
    made.close()


def test_too_little_address_space_is_not_too_little_shared_memory() -> None:
    said_at, tell = os.pipe()
    pid = os.fork()
    if pid == 0:
        _, hard = resource.getrlimit(resource.RLIMIT_AS)
        with open("/proc/self/statm") as file:
            mapped = int(file.read().split()[0]) * mmap.PAGESIZE
        resource.setrlimit(resource.RLIMIT_AS, (mapped + (16 << 20), hard))
        try:
            Segment.create(Layout(2, 1024, 1 << 22))
        except SegmentError as error:
            os.write(tell, f"{type(error).__name__}: {error}".encode())
        os._exit(0)
    os.close(tell)
    with open(said_at) as told:
        said = told.read()
    os.waitpid(pid, 0)
    assert said.startswith("SegmentError: ") and "raise `ulimit -v`" in said and "/dev/shm" not in said
