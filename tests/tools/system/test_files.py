"""Files that a person asks for: a FIFO, a device and a link stay what they are, and bad paths are refused at once."""

from __future__ import annotations

import errno
import io
import os
import stat
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import orjson
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from scripts.benchmarks import step
from tests.errors import raises
from tests.nexmark.helpers import seal_generated, tokenring
from tests.nexmark.run_helpers import expected
from tokenring.nexmark.bench.figures import publish
from tokenring.nexmark.events.generator import GeneratorConfig
from tokenring.tools.errors import OptionError
from tokenring.tools.system.files import replace, require_writable

_WATCHDOG_S = 60


@pytest.fixture(scope="module")
def staged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return seal_generated(tmp_path_factory.mktemp("files") / "events", GeneratorConfig(5_000, rate=500, seed=5))


@contextmanager
def fifo(path: Path) -> Iterator[list[bytes]]:
    """A FIFO with a reader; what it read is in the list after the block."""
    os.mkfifo(path)
    read: list[bytes] = []
    reader = threading.Thread(target=lambda: read.append(path.read_bytes()), daemon=True)
    reader.start()
    yield read
    reader.join(_WATCHDOG_S)
    assert not reader.is_alive(), "nobody wrote into the FIFO"
    assert stat.S_ISFIFO(path.stat().st_mode)


def null_device(path: Path) -> Path:
    """A device like /dev/null, of our own; where we may not make one the test is skipped."""
    try:
        os.mknod(path, 0o666 | stat.S_IFCHR, os.makedev(1, 3))
        path.write_bytes(b"")
    except PermissionError:
        pytest.skip("no right to make a device")
    return path


@pytest.fixture
def full_device(tmp_path: Path) -> Path:
    try:
        os.mknod(tmp_path / "full", 0o666 | stat.S_IFCHR, os.makedev(1, 7))
        (tmp_path / "full").open("wb").close()
    except PermissionError:
        pytest.skip("no right to make a device")
    return tmp_path / "full"


def test_a_fifo_is_written_into(tmp_path: Path) -> None:
    with fifo(tmp_path / "pipe") as read:
        require_writable(tmp_path / "pipe")
        replace(tmp_path / "pipe", b"figures")
    assert read == [b"figures"]
    assert [path.name for path in tmp_path.iterdir()] == ["pipe"]


def test_a_pipe_without_a_name_is_written_into() -> None:
    """What `--json /dev/stdout | cat` is."""
    read_end, write_end = os.pipe()
    with open(read_end, "rb") as reader:
        path = Path(f"/dev/fd/{write_end}")
        require_writable(path)
        replace(path, b"figures")
        os.close(write_end)
        assert reader.read() == b"figures"


def test_a_fifo_without_a_reader_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    os.mkfifo(tmp_path / "pipe")
    said = io.StringIO()  # what capsys has may be emptied while the thread writes to it
    monkeypatch.setattr(sys, "stderr", said)
    writer = threading.Thread(target=replace, args=(tmp_path / "pipe", b"late"), daemon=True)
    writer.start()
    while "waiting for somebody to read" not in said.getvalue():
        assert writer.is_alive()
    assert (tmp_path / "pipe").read_bytes() == b"late"
    writer.join(_WATCHDOG_S)


def test_a_device_stays_a_device(tmp_path: Path) -> None:
    device = null_device(tmp_path / "null")
    replace(device, b"figures")
    assert stat.S_ISCHR(device.stat().st_mode)
    assert [path.name for path in tmp_path.iterdir()] == ["null"]


def test_a_device_that_takes_nothing_is_said(full_device: Path) -> None:
    with raises(OptionError, "full", os.strerror(28)):
        replace(full_device, b"figures")
    assert stat.S_ISCHR(full_device.stat().st_mode)


def test_a_link_is_followed_and_stays(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    target, link = tmp_path / "there" / "figures.json", tmp_path / "link.json"
    link.symlink_to("there/figures.json")
    for content in (b"first", b"second"):  # it leads nowhere at first
        require_writable(link)
        replace(link, content)
        assert (target.read_bytes(), link.is_symlink()) == (content, True)
    assert [path.name for path in (tmp_path / "there").iterdir()] == ["figures.json"]


def test_links_in_a_circle_and_into_no_folder(tmp_path: Path) -> None:
    (tmp_path / "one").symlink_to("other")
    (tmp_path / "other").symlink_to("one")
    (tmp_path / "lost").symlink_to("missing/file")
    for name in ("one", "lost"):
        with raises(OptionError, "--json", str(tmp_path / name)):
            require_writable(tmp_path / name)


def test_a_name_as_long_as_names_may_be(tmp_path: Path) -> None:
    path = tmp_path / ("n" * 250 + ".json")
    require_writable(path)
    replace(path, b"figures")
    assert path.read_bytes() == b"figures"


def test_figures_in_a_device_have_nothing_beside_them(tmp_path: Path) -> None:
    device = null_device(tmp_path / "null")
    publish("chain", [], True, {}, device)
    assert [path.name for path in tmp_path.iterdir()] == ["null"]


def test_the_outcome_and_the_rows_of_a_run(capsys: pytest.CaptureFixture[str], tmp_path: Path, staged: Path) -> None:
    pipe, link, rows = tmp_path / "pipe", tmp_path / "link.parquet", tmp_path / "rows.parquet"
    link.symlink_to(rows.name)
    with fifo(pipe) as read:
        ended = tokenring(capsys, "run", "q7", "--input", staged, "--workers", "1", "--json", pipe, "--out", link)
    assert ended.status == 0, ended
    assert orjson.loads(read[0])["result"] == expected("q7", staged)
    assert link.is_symlink()
    assert pq.read_table(rows).to_pylist() == expected("q7", staged)
    with fifo(tmp_path / "pipe.jsonl") as read:  # rows that are kept in files while the run lasts
        ended = tokenring(capsys, "run", "q2", "--input", staged, "--workers", "1", "--out", tmp_path / "pipe.jsonl")
    assert ended.status == 0, ended
    assert all(orjson.loads(line)["auction"] % 123 == 0 for line in read[0].splitlines())
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link.parquet", "pipe", "pipe.jsonl", "rows.parquet"]


Bad = Callable[[Path], str]
BAD: dict[str, Bad] = {
    "empty": lambda _: "",
    "root": lambda _: "/",
    "folder": lambda folder: str(folder),
    "NUL": lambda folder: f"{folder}/a\0b.parquet",
    "half a letter": lambda folder: f"{folder}/a\ud800b.parquet",
    "300 characters": lambda folder: f"{folder}/{'n' * 300}.parquet",
    "300 characters in no folder": lambda folder: f"{folder}/missing/{'n' * 300}.parquet",
}


COMMANDS = [
    "run q7 --input EVENTS --json",
    "run q7 --input EVENTS --out",
    "run all --input EVENTS --json",
    "run q7 --input EVENTS --engine spark --json",
    "bench chain --operators 8 --duration 0.1 --json",
    "stage --events 100 --out",
]
PROFILE = "profile q7 --input EVENTS --seconds 0.1 --out"
NO_FOLDER = [bad for bad in BAD if bad not in ("root", "folder")]  # a folder is what a profile goes to


@pytest.mark.parametrize(
    ("command", "bad"), [(one, bad) for one in COMMANDS for bad in BAD] + [(PROFILE, bad) for bad in NO_FOLDER]
)
def test_a_bad_path_is_refused_before_the_work(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, staged: Path, command: str, bad: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    (tmp_path / "full").write_text("so that the folder is not empty")
    monkeypatch.chdir(tmp_path)
    words = [str(staged) if word == "EVENTS" else word for word in command.split()]
    ended = tokenring(capsys, *words, BAD[bad](tmp_path))
    assert (ended.status, ended.out) == (2, ""), ended
    assert ended.err.startswith("tokenring: error: ")
    assert ended.err.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["full"]


@pytest.mark.parametrize("bad", BAD)
def test_a_bad_path_of_a_benchmark(tmp_path: Path, staged: Path, bad: str) -> None:
    ended = CliRunner().invoke(step.command, ["--input", str(staged), "--json", BAD[bad](tmp_path)])
    assert ended.exit_code == 2 or isinstance(ended.exception, OptionError), ended
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("more", [(), ("--json",), ("--help",)])
def test_standard_output_that_is_full_is_said(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, full_device: Path, staged: Path,
    more: tuple[str, ...],
) -> None:  # fmt: skip
    with full_device.open("w") as full, monkeypatch.context() as patch:
        patch.setattr(sys, "stdout", full)
        outcome = tokenring(capsys, "run", "q7", "--input", staged, *more)
    assert (outcome.status, outcome.out) == (2, "")
    said = f"standard output cannot be written ({os.strerror(errno.ENOSPC)})"
    assert outcome.err == f"tokenring: error: {said}\n"


@pytest.mark.parametrize("closed", [">&-", "<&- >&- 2>&-"])
def test_standard_streams_may_be_closed(tmp_path: Path, closed: str) -> None:
    """The first file that is opened then would get their numbers, and what is printed."""
    (tmp_path / "flow.py").write_text(
        "import tokenring as tr\n\n\ndef flow(scope):\n"
        "    scope.from_generator(tr.Schema('n'), lambda share, shares: [{'n': [7]}]).to_parquet('out')\n"
        "    return scope.from_generator(tr.Schema('n'), lambda share, shares: [{'n': [7]}]).collect()\n"
    )
    line = f"{sys.executable} -m tokenring run flow.py:flow --workers 1 --json run.json {closed}"
    done = subprocess.run(["bash", "-c", line], cwd=tmp_path, timeout=_WATCHDOG_S, stderr=subprocess.PIPE)
    assert (done.returncode, done.stderr) == (0, b"")
    assert orjson.loads((tmp_path / "run.json").read_bytes())
    assert pq.read_table(tmp_path / "out")["n"].to_pylist() == [7]
