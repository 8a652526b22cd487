"""A group's shared-memory segment: created exclusively with mode 0600, checked on attach, unlinked on every exit."""

import errno
import mmap
import os
import resource

import numpy as np
import posix_ipc

from tokenring.shm.errors import OutOfSharedMemory, SegmentError
from tokenring.shm.kernels import address_of
from tokenring.shm.memory import layout as words_of
from tokenring.shm.memory.atomics import peek, poke
from tokenring.shm.memory.layout import WORD_BYTES, Layout
from tokenring.shm.memory.locks import hold

NAME_PREFIX = "/tokenring-"
SHM_FOLDER = "/dev/shm"


def process_start_ticks(pid: int) -> int:
    """When process `pid` started, in clock ticks since boot; 0 if there is no such process (or it is a zombie)."""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
            fields = file.read().rpartition(")")[2].split()
    except OSError:
        return 0
    return 0 if fields[0] in "ZX" else int(fields[19])


def new_name() -> str:
    """An unguessable name that says which process owns it, so that a later run can tell whether it was left behind."""
    pid = os.getpid()
    return f"{NAME_PREFIX}{pid}-{process_start_ticks(pid)}-{os.urandom(8).hex()}"


class Segment:
    """One mapping of a group's segment. `words` is the whole of it as int64; `address(offset)` is a word's address
    here.
    """

    def __init__(self, layout: Layout, mapping: mmap.mmap, name: str | None, owned: bool, descriptor: int = -1) -> None:
        self.layout = layout
        self.name = name
        self._descriptor = descriptor
        self._mapping: mmap.mmap | None = mapping
        self._owned = owned
        self.words = np.frombuffer(mapping, dtype=np.int64)
        self._base = address_of(self.words)

    @classmethod
    def create(cls, layout: Layout) -> "Segment":
        """Create, size and initialise a new segment. Its pages are allocated now, and those of the queues by their
        receivers (`allocate_queues_to`) before anybody may send, so that no store can fail.

        Raises OutOfSharedMemory where /dev/shm has too little room for all of it.
        """
        require_room(layout.total_bytes)
        name = new_name()
        try:
            memory = posix_ipc.SharedMemory(name, posix_ipc.O_CREX, mode=0o600)
        except (OSError, posix_ipc.Error) as error:
            raise SegmentError(f"cannot create shared memory {name}: {error}{cure_of(error)}") from error
        hold(memory.fd)
        try:
            os.ftruncate(memory.fd, layout.total_bytes)
            os.posix_fallocate(memory.fd, 0, layout.queues_to(0) * WORD_BYTES)
            mapping = _mapped(memory.fd, layout.total_bytes)
        except (OSError, SegmentError) as error:
            memory.close_fd()
            posix_ipc.unlink_shared_memory(name)
            if isinstance(error, SegmentError):
                raise
            if error.errno in (errno.ENOSPC, errno.ENOMEM):
                raise _too_little_room(layout.total_bytes, None) from error
            said = f"cannot size shared memory {name} to {layout.total_bytes} bytes: {error}"
            raise SegmentError(said + cure_of(error)) from error
        segment = cls(layout, mapping, name, owned=True, descriptor=memory.fd)
        segment._initialise()
        return segment

    @classmethod
    def private(cls, layout: Layout) -> "Segment":
        """A segment of this process alone, without a name: for warming up, and for simulating a group in one process.
        """
        segment = cls(layout, mmap.mmap(-1, layout.total_bytes), None, owned=False)
        segment._initialise()
        return segment

    def _initialise(self) -> None:
        layout, header = self.layout, self.words
        header[words_of.HEADER_MAGIC] = words_of.MAGIC
        header[words_of.HEADER_VERSION] = words_of.VERSION
        header[words_of.HEADER_DIGEST] = layout.digest
        header[words_of.HEADER_WORKERS] = layout.workers
        header[words_of.HEADER_RING] = layout.ring_records
        header[words_of.HEADER_QUEUE] = layout.queue_words
        header[words_of.HEADER_TOTAL] = layout.total_words
        poke(self.address(words_of.HEADER_READY), 1)  # SYNC segment-ready: release, pairs with `attach`

    @classmethod
    def attach(cls, name: str, layout: Layout) -> "Segment":
        """Map an existing segment after checking magic, version, layout digest and size. Raises SegmentError."""
        try:
            memory = posix_ipc.SharedMemory(name)
        except (OSError, posix_ipc.Error) as error:
            raise SegmentError(f"cannot open shared memory {name}: {error}") from error
        try:
            if memory.size != layout.total_bytes:
                raise SegmentError(
                    f"{name} holds {memory.size} bytes, expected {layout.total_bytes}: not this group's segment"
                )
            mapping = _mapped(memory.fd, layout.total_bytes)
        except BaseException:
            memory.close_fd()
            raise
        segment = cls(layout, mapping, name, owned=False, descriptor=memory.fd)
        wrong = segment._mismatch()
        if wrong:
            segment.close()
            raise SegmentError(f"{name}: {wrong}")
        return segment

    def _mismatch(self) -> str:
        header = self.words
        if peek(self.address(words_of.HEADER_READY)) != 1:  # SYNC segment-ready: acquire, pairs with `create`
            return "not initialised"
        for what, at, expected in (
            ("magic", words_of.HEADER_MAGIC, words_of.MAGIC),
            ("version", words_of.HEADER_VERSION, words_of.VERSION),
            ("layout digest", words_of.HEADER_DIGEST, self.layout.digest),
        ):
            if int(header[at]) != expected:
                return (
                    f"{what} is {int(header[at]):#x}, expected {expected:#x}: made by another version or configuration"
                )
        return ""

    def allocate_queues_to(self, receiver: int) -> None:
        """Allocate the pages of the queues that a worker reads, on the NUMA node of whoever calls: the worker itself,
        once it is pinned, before it declares anything. Once in a process. Raises OutOfSharedMemory, SegmentError.

        Linux takes a page from the node on which it is asked for first. To ask, nothing is stored: `posix_fallocate`
        gives pages to where there are none, and leaves what others have written as it was. So it races with nobody,
        whoever is quicker; and the receiver is, since its peers first touch these queues when they send, and they wait
        until all have built the dataflow (`Agreement.built`), to which it comes after this. Pages at either end may
        hold a bit of a neighbour's queue.
        """
        start, stop = [self.layout.queues_to(worker) * WORD_BYTES for worker in (receiver, receiver + 1)]
        try:
            if start < stop:
                os.posix_fallocate(self._descriptor, start, stop - start)
        except OSError as error:
            if error.errno in (errno.ENOSPC, errno.ENOMEM):
                raise _too_little_room(self.layout.total_bytes, None) from error
            raise SegmentError(f"cannot allocate the queues to worker {receiver}: {error}") from error
        finally:
            self._close_descriptor()

    def address(self, offset: int) -> int:
        """The byte address, in this process, of the word at `offset`."""
        return self._base + offset * 8

    def unlink(self) -> None:
        """Remove the name (once; the owner's duty). Mappings live on until closed."""
        if self._owned and self.name is not None:
            try:
                posix_ipc.unlink_shared_memory(self.name)
            except posix_ipc.ExistentialError:
                pass
            self.name = None

    def close(self) -> None:
        """Unmap. Views handed out before keep the mapping alive until they are gone."""
        self._close_descriptor()
        if self._mapping is not None:
            del self.words
            try:
                self._mapping.close()
            except BufferError:
                pass  # a view of it is still referenced; the mapping goes with the last view
            self._mapping = None

    def _close_descriptor(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1


def require_room(needed_bytes: int) -> None:
    """Raise OutOfSharedMemory unless /dev/shm has `needed_bytes` free."""
    try:
        status = os.statvfs(SHM_FOLDER)
    except OSError:
        return  # not mounted there: creating will tell
    if needed_bytes > status.f_bavail * status.f_frsize:
        raise _too_little_room(needed_bytes, status.f_bavail * status.f_frsize)


def _mapped(descriptor: int, size_bytes: int) -> mmap.mmap:
    """The whole of a segment; SegmentError where this process may not have so much address space."""
    try:
        return mmap.mmap(descriptor, size_bytes)
    except OSError as error:
        if error.errno != errno.ENOMEM:
            raise
        limit, _ = resource.getrlimit(resource.RLIMIT_AS)
        said = "" if limit == resource.RLIM_INFINITY else f" (`ulimit -v` allows it {limit >> 20} MiB)"
        raise SegmentError(
            f"{size_bytes >> 20} MiB of shared memory cannot be mapped: this process may have no more address "
            f"space{said}: raise `ulimit -v`, or use fewer workers or smaller queues (queue_bytes)"
        ) from error


def cure_of(error: Exception) -> str:
    """What to do where the system refuses a segment, or a semaphore; "" where nobody knows."""
    code = getattr(error, "errno", 0)
    if code == errno.EFBIG:
        limit, _ = resource.getrlimit(resource.RLIMIT_FSIZE)
        said = "" if limit == resource.RLIM_INFINITY else f" (`ulimit -f` allows files of {limit >> 10} KiB)"
        return f"{said}: raise `ulimit -f`, or use fewer workers or smaller queues (queue_bytes)"
    if code in (errno.EROFS, errno.EACCES, errno.EPERM) or isinstance(error, posix_ipc.PermissionsError):
        return f" ({SHM_FOLDER}): let this user write to {SHM_FOLDER}, such as by mount -o remount,rw,mode=1777"
    if code in (errno.EMFILE, errno.ENFILE, None):  # posix_ipc gives these no number, and all others one
        files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        return f" (`ulimit -n` allows {files} open files): raise `ulimit -n`, or use fewer workers"
    if code == errno.ENOSPC:
        return f" ({SHM_FOLDER}): see `df -i {SHM_FOLDER}` too, and remove files that nobody needs there"
    return ""


def _too_little_room(needed_bytes: int, free_bytes: int | None) -> OutOfSharedMemory:
    free = "" if free_bytes is None else f", {free_bytes / 1e6:.1f} MB are free"
    return OutOfSharedMemory(
        f"the run needs {needed_bytes / 1e6:.1f} MB of shared memory in {SHM_FOLDER}{free}; use fewer workers, "
        f"smaller queues (Config(queue_bytes=...); --queue-kib, where a command has it), or a larger {SHM_FOLDER} "
        f"(mount -o remount,size=...)"
    )
