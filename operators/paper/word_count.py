"""word_count: the rolling count of each word, in order of the rows' times (the paper's 7.2)."""

from tokenring.engine import AnyStream, Exchange, Notify, Pipeline, Schema
from tokenring.operators.mechanisms import mechanism_of
from tokenring.operators.paper.compiled_count import compiled_count
from tokenring.operators.paper.counted import counted_tables
from tokenring.operators.state import require_rows


def word_count(
    stream: AnyStream, word: str, time: str, *, local: bool = False, name: str = "word_count"
) -> AnyStream:
    """Rows (word, time, count), int64, one for each input row: how often the word has come up to it, in order of time.

    A row is counted once its time is finished, so what is emitted does not depend on the order of arrival. Exchanged
    by word; `local` counts each worker's rows by themselves instead. Memory: a cell a word, and rows not finished yet.
    """
    require_rows(name, stream)
    schema = Schema.of(dict.fromkeys((word, time, "count"), "int64"))
    pact = Pipeline() if local else Exchange(word, (word, time))
    way = mechanism_of(stream.scope)
    crossing = stream.schema if local else Schema.of(dict.fromkeys((word, time), "int64"))
    positions = crossing.position(word), crossing.position(time)
    moves = counted_tables(word, time)
    return way.timed(
        name, [(stream, pact)], schema, None, Notify.IF_TOKEN,
        lambda: compiled_count(schema, word, positions, moves), moves,
    )  # fmt: skip
