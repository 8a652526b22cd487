"""`import tokenring`: the faces under one name, loaded when they are used, and no part under a name of its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from mypy import api

import tokenring as tr
from tests.errors import raises
from tests.imports import LINKED, PACKAGES, ROOT
from tests.rooms import MODULES
from tokenring import engine, operators
from tokenring.operators import fluent


def in_a_process(program: str, folder: Path = ROOT) -> subprocess.CompletedProcess[str]:
    """Run a program whose path starts with this folder."""
    return subprocess.run(
        [sys.executable, "-c", program], cwd=folder, capture_output=True, text=True, timeout=100, check=False
    )


def loaded_by(program: str) -> set[str]:
    """The modules, packages and parts of ours that a program has loaded at its end."""
    done = in_a_process(f"{program}\nimport sys; print(*sys.modules)")
    assert (done.returncode, done.stderr) == (0, "")
    return set(done.stdout.split())


def test_it_has_the_names_of_all_faces() -> None:
    names: dict[str, object] = {}
    for face in (engine, operators, fluent):  # the last one's goes before
        names |= {name: getattr(face, name) for name in face.__all__}
    assert sorted([*names, "graphs", "mechanisms"]) == tr.__all__
    assert all(getattr(tr, name) is found for name, found in names.items())
    assert set(dir(tr)) >= {*tr.__all__, *PACKAGES, "__version__"}


def test_checkers_see_what_runs(tmp_path: Path) -> None:
    """For names of two faces, too: mypy takes another than we do if the stub says so."""
    twice = sorted((set(engine.__all__) & {*operators.__all__, *fluent.__all__}) | {"Schema", "Tumbling"})
    program = tmp_path / "names.py"
    program.write_text("import tokenring as tr\n" + "\n".join(f"reveal_type(tr.{name})" for name in twice))
    said, errors, _ = api.run(["--config-file", str(ROOT / "pyproject.toml"), str(program)])
    revealed = [line for line in said.splitlines() if "Revealed type" in line]
    assert len(revealed) == len(twice) > 4, said + errors
    for name, line in zip(twice, revealed, strict=True):
        kind = getattr(tr, name)
        assert f"{kind.__module__}.{name}" in line or (name == "execute" and "worker_class" not in line)


def test_what_a_star_gives() -> None:
    names: dict[str, object] = {}
    exec("from tokenring import *", names)
    assert names["Tumbling"] is operators.Tumbling
    assert names.keys() - {"__builtins__"} == set(tr.__all__)


def test_a_name_is_found_once() -> None:
    found = in_a_process("import tokenring as tr; tr.Schema; print('Schema' in vars(tr), 'Token' in vars(tr))")
    assert found.stdout == "True False\n"


def test_a_wrong_name_is_told_the_right_one() -> None:
    with raises(AttributeError, "module 'tokenring'", "'Tumblng'", "did you mean 'Tumbling'"):
        tr.Tumblng  # type: ignore[attr-defined] # noqa: B018
    assert in_a_process("from tokenring import Tumblng").stderr.splitlines()[-1].startswith("ImportError")


def test_a_tool_s_question_loads_nothing() -> None:
    loaded = loaded_by("import tokenring; assert not hasattr(tokenring, '_repr_html_')")
    assert {name for name in loaded if name.startswith("tokenring")} == {"tokenring"}


def test_a_name_costs_that_name_alone() -> None:
    schema = {name for name in loaded_by("import tokenring as tr; tr.Schema") if name.startswith("tokenring")}
    assert "tokenring.engine.columns.schema" in schema
    assert not any(name.startswith(("tokenring.operators.rows.", "tokenring.engine.worker.")) for name in schema)
    assert len(schema) < 25


def test_a_part_costs_that_part_alone() -> None:
    assert not loaded_by("import tokenring") & {"numpy", "tokenring.engine"}
    spark = loaded_by("import tokenring.nexmark.events.generator")
    assert not spark & {"tokenring.engine", "tokenring.operators", "numba"}
    first = loaded_by("import tokenring as tr; tr.Schema, tr.col, tr.execute, tr.Tumbling, tr.mechanisms, tr.graphs")
    assert not first & {"numba", "pyarrow", "pandas", "polars", "click", "rich", "psutil", "pyspark", "matplotlib"}
    assert not first & {"asyncio", "multiprocessing", "unittest", "email", "http", "tokenring.nexmark"}


@pytest.mark.parametrize("part", LINKED)
def test_a_part_has_no_name_of_its_own(part: str) -> None:
    """Else the checkout on the path would give a second copy of every class."""
    done = in_a_process(f"import {part}")
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == f"ImportError: {part} is a part of tokenring: import tokenring.{part}"


def test_no_part_comes_through_the_one_name() -> None:
    """`from tokenring import Schema` is for programs: a part that did it would import itself."""
    parts = [[part] for part in (*PACKAGES, "__version__", "faces", "how_to_install")]
    wrong = [
        f"{module.path.relative_to(ROOT)}:{imported.line} imports {imported.name}"
        for module in MODULES.values()
        for imported in module.imports
        if imported.name.partition(".")[0] == "tokenring"
        and imported.name.split(".")[1:2] not in parts
    ]
    assert not wrong
