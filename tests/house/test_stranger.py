"""The README's first program runs in a folder with files called like our parts: from a checkout, and as installed,
where it has nothing to compile and nothing to compile with.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import numpy
import pytest

from tests.examples.documents import without_compiling
from tests.house.building import build, needs_the_library
from tests.house.strangers import README_FIRST, environment, make_folder
from tests.imports import HOUSE, ROOT
from tokenring.shm.kernels import LIBRARY_FOLDER

WATCHDOG_S = 800


def run(python: Path, program: Path, **more: str) -> subprocess.CompletedProcess[str]:
    command = [python, program]
    return subprocess.run(
        command,
        cwd=program.parent,
        env=environment(**more),
        capture_output=True,
        text=True,
        timeout=WATCHDOG_S,
        check=False,
    )


def test_it_runs_beside_files_called_like_our_parts(tmp_path: Path) -> None:
    done = run(Path(sys.executable), make_folder(tmp_path), PYTHONPATH=str(ROOT))
    assert (done.returncode, done.stdout, without_compiling(done.stderr)) == (0, README_FIRST.prints, "")


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with the wheel and the checkout's library of kernels in it, and with what this one has but numba;
    its interpreter.
    """
    folder = tmp_path_factory.mktemp("installed")
    venv.create(folder, with_pip=False)
    (packages,) = folder.glob("lib/python*/site-packages")
    with zipfile.ZipFile(build("wheel", ROOT, tmp_path_factory.mktemp("wheel"))) as wheel:
        wheel.extractall(packages)
    if (made := ROOT / HOUSE / LIBRARY_FOLDER).is_dir():
        shutil.copytree(made, packages / HOUSE / LIBRARY_FOLDER)
    for path in Path(numpy.__file__).parents[1].iterdir():
        if not path.name.startswith(("numba", "llvmlite", HOUSE)) and path.suffix != ".pth":
            (packages / path.name).symlink_to(path)
    return folder / "bin" / "python"


WHERE = """
from importlib.util import find_spec
import tokenring.engine
print(tokenring.engine.__file__, find_spec("numba"))
"""


@needs_the_library
def test_it_runs_as_installed(installed: Path, tmp_path: Path) -> None:
    program = make_folder(tmp_path)
    done = run(installed, program)
    assert (done.returncode, done.stdout, done.stderr) == (0, README_FIRST.prints, "")
    where = tmp_path / "where.py"
    where.write_text(WHERE)
    file, numba = run(installed, where).stdout.split()
    assert Path(file).is_relative_to(installed.parents[1])
    assert numba == "None"


TYPED = """
import tokenring as tr
from tokenring.engine import Schema
reveal_type(tr.Tumbling)
reveal_type(tr.Schema("a") == Schema("a"))
def program(worker: tr.Worker) -> int:
    return worker.indx
def kept(changed: tr.Collection) -> None:
    changed.changes().to_parquet("changes")
tr.Tumblng
tr.graphs.page_rank(3)
"""


@pytest.mark.slow  # mypy reads the whole package, and numpy's stubs
@pytest.mark.parametrize("how", ["as installed", "editable"])
def test_a_user_s_checker_sees_its_types(installed: Path, tmp_path: Path, how: str) -> None:
    program = tmp_path / "typed.py"
    program.write_text(TYPED)
    python = installed if how == "as installed" else Path(sys.executable)
    command = [sys.executable, "-m", "mypy", "--strict", "--python-executable", python, program]
    done = subprocess.run(command, cwd=tmp_path, env=environment(), capture_output=True, text=True, timeout=WATCHDOG_S)
    said = [line.split(":", 1)[1].split(":", 1)[1] for line in done.stdout.splitlines()[:-1]]
    for expected in (
        "tokenring.operators.time.windows.Tumbling",
        'Revealed type is "bool"',
        '"Worker" has no attribute "indx"',
        'Module has no attribute "Tumblng"',
        ' "page_rank"',
    ):
        assert any(expected in line for line in said), done.stdout
    assert not any("to_parquet" in line for line in said), "what a collection tells is a stream with all methods"
