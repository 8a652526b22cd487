"""Recovery: where a run's snapshots go, and how often one is taken."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from tokenring.engine import UsageError
from tokenring.engine.arguments import folder_at, is_whole, whole_number
from tokenring.operators.durations import nanoseconds_of

DEAD_LETTERS = "dead letters"


@dataclass(frozen=True)
class Recovery:
    """How a run is saved: `execute(..., recovery=Recovery("job", every="10s"))`.

    folder: of this job alone, made if it is not there; the same call with the same folder goes on where the job was.
    every: how long from one snapshot to the next, "10s" or ns. keep: how many snapshots stay, the newest ones.
    restarts: how often the group is started anew, after a worker died, within `within`; then the run fails, and a later
    call goes on from the newest snapshot. hang: a worker that has not come round for so long, being in one call, is
    killed, and so dies; more than any function of the program takes. drop: what may be lost of a snapshot that another
    program has made, by the names that its error gives: operators whose state is of no use to this one, sources that it
    does not read, sinks that it does not have. What it can go on with it does go on with, whether it is named or not.
    on_error: what becomes of a row at which the same operator fails twice: "fail" ends the run, "dead letters" lets it
    go on without such rows, which then are in `folder`/dead-letters/OPERATOR, as Parquet files.
    """

    folder: str | Path
    every: str | int = "10s"
    keep: int = 2
    restarts: int = 5
    within: str | int = "10min"
    hang: str | int = "60s"
    drop: Sequence[str] = ()
    on_error: Literal["fail", "dead letters"] = "fail"

    def __post_init__(self) -> None:
        folder_at("Recovery: folder", self.folder)
        for name in ("every", "within", "hang"):
            if self.nanoseconds(name) <= 0:
                raise UsageError(f"Recovery: {name} must be longer than nothing, not {getattr(self, name)!r}")
        is_list = isinstance(self.drop, Collection) and not isinstance(self.drop, str | bytes)
        if not is_list or not all([isinstance(one, str) and one for one in self.drop]):
            raise UsageError(f"Recovery: drop is a list of names, such as ['aggregate'], not {self.drop!r}")
        if self.on_error not in ("fail", DEAD_LETTERS):
            raise UsageError(f'Recovery: on_error is "fail" or "{DEAD_LETTERS}", not {self.on_error!r}')
        for name, least in (("keep", 1), ("restarts", 0)):
            whole_number("Recovery", name, getattr(self, name), least)

    def nanoseconds(self, name: str) -> int:
        """How long `every`, `within` or `hang` is."""
        given = getattr(self, name)
        if is_whole(given):
            return int(given)
        if isinstance(given, str):
            return nanoseconds_of(given, f"Recovery: {name}")
        raise UsageError(f"Recovery: {name} is a duration such as '10s', or a whole number of ns, not {given!r}")


