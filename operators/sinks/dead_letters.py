"""Dead letters: rows at which an operator failed twice under recovery, in files of their own, while the run goes on."""

from collections.abc import Callable, Sequence

from tokenring.engine import Batch, InputPort, OperatorContext, Schema, Stream, Time
from tokenring.engine.graph import Stage
from tokenring.operators.collections.words import TIMES
from tokenring.operators.expressions import said_of_row
from tokenring.operators.migrate import state_moves
from tokenring.operators.recovery import Saving, dead_letters_of, tell_last
from tokenring.operators.sinks.outbox import Outbox
from tokenring.operators.sinks.part_files import parquet_parts

_ERROR = "error"
"""The column that says why, behind the row's own; with a line below where that has one of the name."""


class DeadLetters:
    """Takes them on one worker: `engine.Rejects` of all streams."""

    def __init__(self, saving: Saving, worker: int) -> None:
        self._saving = saving
        self._boxes: dict[str, Outbox] = {}
        for operator in sorted(saving.given_up):
            folder = dead_letters_of(saving.folder.path, operator)
            folder.parent.mkdir(parents=True, exist_ok=True)
            box = Outbox(folder, ".parquet", parquet_parts(), str(folder))
            box.begin(worker)
            self._boxes[operator] = saving.sinks[str(folder)] = box

    def takes(self, stage: Stage, label: str) -> bool:
        """See engine.Rejects. Updates of a collection are none: to leave one out would change what others mean."""
        return label in self._boxes and TIMES[0] not in stage.before.positions

    def take(self, stage: Stage, label: str, rows: Batch, errors: Sequence[Exception]) -> None:
        """See engine.Rejects."""
        self._write(label, 0, rows, list(map(said_of_row, errors)))

    def take_late(self, stream: Stream, operator: str) -> None:
        """Take all rows of a stream, which come too late to an operator."""
        builder = stream.operator(f"{operator}.dead letters")
        builder.input(stream)
        state_moves(builder)

        def construct(context: OperatorContext) -> Callable[[InputPort], None]:
            def logic(rows: InputPort) -> None:
                for reference, batch in rows:
                    self._write(operator, reference.time, batch, [f"late, at time {reference.time}"] * batch.rows)

            return logic

        builder.build(construct)

    def close(self) -> None:
        """No more come."""
        for box in self._boxes.values():
            tell_last(self._saving, box, box.close())

    def _write(self, operator: str, time: Time, rows: Batch, errors: list[str]) -> None:
        names, why = rows.schema.names, _ERROR
        while why in names:
            why += "_"
        schema = Schema.of(rows.schema.spec() | {why: "string"})
        self._boxes[operator].write(time, Batch(schema, {name: rows[name] for name in names} | {why: errors}))
