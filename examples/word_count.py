"""Word count: rows are exchanged by key, so that one worker alone counts each word.

Columns are numbers, so words travel as their places in a vocabulary that every worker inherits.

    python examples/word_count.py --workers 3 to be or not to be
"""

import argparse
from collections import Counter
from collections.abc import Callable

import numpy as np

from engine import Batch, Exchange, InputPort, Notify, OperatorContext, OutputPort, Schema, Token, Worker, execute
from operators import latest

WORD = Schema("word")
COUNT = Schema("word count")


def count_words(context: OperatorContext, token: Token) -> Callable[[InputPort, OutputPort], None]:
    token.drop()
    totals: Counter[int] = Counter()

    def logic(words: InputPort, counts: OutputPort) -> None:
        for reference, batch in words:
            seen, times = np.unique(batch["word"], return_counts=True)
            for word, count in zip(seen.tolist(), times.tolist(), strict=True):
                totals[word] += count
            counts.give(reference, Batch(COUNT, {"word": seen, "count": [totals[word] for word in seen.tolist()]}))

    return logic


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("words", nargs="*", default="the cat and the dog and the bird".split())
    options = parser.parse_args()
    vocabulary = sorted(set(options.words))
    ids = [vocabulary.index(word) for word in options.words]

    def program(worker: Worker) -> dict[str, np.ndarray]:
        with worker.dataflow("word count") as scope:
            words, stream = scope.new_input(WORD)
            counts = stream.unary("count", COUNT, count_words, Exchange("word"), Notify.NEVER)
            kept = latest(counts, key="word")
        words.send({"word": ids[worker.index :: worker.peers]})  # each worker feeds its share
        worker.run()
        return kept.columns()

    for index, part in enumerate(execute(program, workers=options.workers)):
        for word, count in sorted(zip(part["word"], part["count"], strict=True)):
            print(f"worker {index}: {vocabulary[word]} {count}")


if __name__ == "__main__":
    main()
