"""Dead letters: rows at which an operator failed twice under recovery, in files of their own, while the run goes on."""

from collections.abc import Sequence

from tokenring.engine import Batch, Schema, Stream, Time
from tokenring.engine.graph import Stage
from tokenring.operators.collections.words import TIMES
from tokenring.operators.expressions import said_of_row
from tokenring.operators.recovery import WorkerSaving, dead_letters_of, tell_last
from tokenring.operators.rows import ERROR, with_errors
from tokenring.operators.sinks.for_each import for_each
from tokenring.operators.sinks.outbox import Outbox
from tokenring.operators.sinks.part_files import parquet_parts


class DeadLetters:
    """Takes them on one worker: `engine.Rejects` of all streams."""

    def __init__(self, saving: WorkerSaving) -> None:
        self._saving = saving
        self._boxes: dict[str, Outbox] = {}
        for operator in sorted(saving.given_up):
            folder = dead_letters_of(saving.folder.path, operator)
            folder.parent.mkdir(parents=True, exist_ok=True)
            box = Outbox(folder, ".parquet", parquet_parts(), operator, str(folder))
            box.begin(saving.worker.index)
            self._boxes[operator] = saving.sinks[str(folder)] = box

    def takes(self, stage: Stage, label: str) -> bool:
        """See engine.Rejects. Updates of a collection are none: to leave one out would change what others mean."""
        return label in self._boxes and TIMES[0] not in stage.before.positions

    def take(self, stage: Stage, label: str, rows: Batch, errors: Sequence[Exception]) -> None:
        """See engine.Rejects."""
        self._write(label, 0, rows, list(map(said_of_row, errors)))

    def take_late(self, stream: Stream, operator: str) -> None:
        """Take all rows of a stream, which come too late to an operator."""

        def take(time: Time, rows: Batch) -> None:
            self._write(operator, time, rows, [f"late, at time {time}"] * rows.rows)

        for_each(stream, take, name=f"{operator}.dead letters")

    def close(self) -> None:
        """No more come."""
        for box in self._boxes.values():
            tell_last(self._saving, box, box.close())

    def _write(self, operator: str, time: Time, rows: Batch, errors: list[str]) -> None:
        """Why stands in the column of `on_error="stream"`, or, where the rows have one of that name, one like it."""
        why = ERROR
        while why in rows.schema.positions:
            why += "_"
        schema = Schema.of(rows.schema.spec() | {why: "string"})
        self._boxes[operator].write(time, with_errors(schema, rows, errors))
