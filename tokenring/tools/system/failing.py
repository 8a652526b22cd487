"""The engine's errors as a command says them: one line each, and the operator's traceback for whoever asks for it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

import click

from tokenring.tools.errors import InputError, RunError


@contextmanager
def in_one_line() -> Iterator[None]:
    """Within the block, what the engine raises becomes an InputError or a RunError."""
    from tokenring.engine import BrokenInvariant, ConfigError, RecoveryError, SegmentError, TokenRingError
    from tokenring.engine.group import TRACE

    try:
        yield
    except (ConfigError, RecoveryError, SegmentError) as error:
        raise InputError(str(error)) from error
    except (TokenRingError, BrokenInvariant) as error:
        notes = getattr(error, "__notes__", ())
        traces = [note for note in notes if note.startswith(TRACE)]
        if traces and os.environ.get("TOKENRING_TRACEBACK"):
            click.echo("\n".join(traces), err=True)
        said = "; ".join([str(error), *[note for note in notes if note not in traces]])
        raise RunError(f"{said} (set TOKENRING_TRACEBACK=1 for the traceback)" if traces else said) from error
