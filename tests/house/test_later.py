"""Faces whose imports are done later: what they show meanwhile, and what they say of an import that fails."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.errors import raises

FACE = '''"""A face."""
from tokenring.faces import later

with later(__name__):
    from lazy_house.broken import thing
    from lazy_house.greet import greet

__all__ = ["greet", "thing"]
'''
CLASS = '''"""A class with methods that are elsewhere."""
from tokenring.faces import later

with later(__name__, keep=True):
    from lazy_house.greet import greet as hello


class Person:
    """Somebody."""

    greet = hello
    again = hello
'''


@pytest.fixture
def _house(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    folder = tmp_path / "lazy_house"
    folder.mkdir()
    (folder / "__init__.py").write_text(FACE)
    (folder / "greet.py").write_text('def greet(self=None):\n    """Says it."""\n    return "hello"\n')
    (folder / "broken.py").write_text("import sys\nthing = sys.no_such_name\n")
    (folder / "person.py").write_text(CLASS)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield
    for name in [name for name in sys.modules if name.startswith("lazy_house")]:
        del sys.modules[name]


@pytest.mark.usefixtures("_house")
def test_a_name_is_imported_when_it_is_used_and_wins_over_a_file_called_so() -> None:
    import lazy_house  # type: ignore[import-not-found]

    assert {"greet", "thing"} <= {*dir(lazy_house)}
    assert "lazy_house.greet" not in sys.modules
    import lazy_house.greet  # the file, whose name the import system would leave in the face

    assert lazy_house.greet() == "hello"
    assert not hasattr(lazy_house, "nothing")


@pytest.mark.usefixtures("_house")
def test_a_file_that_fails_is_not_taken_for_a_name_that_is_not_there() -> None:
    with raises(ImportError, "'thing' of lazy_house", "no_such_name"):
        from lazy_house import thing  # noqa: F401


@pytest.mark.usefixtures("_house")
def test_a_method_is_found_when_it_is_looked_at() -> None:
    from lazy_house.person import Person  # type: ignore[import-not-found]

    assert Person().greet() == Person.again() == "hello"
    assert Person.greet.__doc__ == "Says it."
    assert vars(Person)["again"] is sys.modules["lazy_house.greet"].greet


def run_alone(program: str) -> str:
    """What a program prints in a process of its own, where nothing of ours is loaded."""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=True)
    return done.stdout.strip()


LOADING = """
import gc
looks = []
gc.callbacks.append(lambda phase, about: looks.append(phase))
{before}
import tokenring as tr
gc.collect(0)
del looks[:]
tr.run, tr.Count, tr.Recovery
print(gc.isenabled(), gc.get_freeze_count() > 0, len(looks) < {most})
"""


@pytest.mark.parametrize(
    ("before", "said"),
    [
        ("", "True False True"),
        ("gc.disable()", "False False True"),
        ("gc.freeze()", "True True True"),
    ],
)
def test_nobody_looks_for_garbage_among_what_is_loaded(before: str, said: str) -> None:
    """Else a look at every 700 new objects. What somebody has frozen stays so, and a collector that was off is off."""
    assert run_alone(LOADING.format(before=before, most=40)) == said


def test_garbage_made_meanwhile_is_found_by_a_look_at_all() -> None:
    program = """
import gc, weakref
import tokenring as tr
class Ring: pass
ring = Ring(); ring.itself = ring
gone = weakref.ref(ring)
del ring
tr.run
gc.collect()
print(gone() is None)
"""
    assert run_alone(program) == "True"


def test_a_name_that_is_to_go_says_what_it_is_called(monkeypatch: pytest.MonkeyPatch) -> None:
    from tokenring.engine import compiled

    monkeypatch.delitem(vars(compiled), "lease", raising=False)
    with pytest.deprecated_call() as told:
        assert compiled.claim is compiled.lease
    assert "called lease" in str(told[0].message)
    with raises(AttributeError, "'tokenring.engine.compiled'", "'clam'"):
        _ = compiled.clam
