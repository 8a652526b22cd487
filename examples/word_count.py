"""Word count: rows are exchanged by word, so that one worker alone counts each.

`operators.count` is this in one line; here it is written out, to show what an operator of one's own looks like.

    python examples/word_count.py --workers 3 to be or not to be
"""

import argparse
from collections import Counter
from collections.abc import Callable
from typing import Any

import tokenring as tr

WORD = tr.Schema(word="string")
COUNT = tr.Schema(word="string", count="int64")


def count_words(context: tr.OperatorContext, token: tr.Token) -> Callable[[tr.InputPort, tr.OutputPort], None]:
    token.drop()
    totals: Counter[str] = Counter()

    def logic(words: tr.InputPort, counts: tr.OutputPort) -> None:
        for reference, batch in words:
            seen = batch["word"].tolist()
            totals.update(seen)
            changed = sorted(set(seen))
            counts.give(reference, {"word": changed, "count": [totals[word] for word in changed]})

    return logic


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("words", nargs="*", default="the cat and the dog and the bird".split())
    options = parser.parse_args()

    def program(worker: tr.Worker) -> dict[str, Any]:
        with worker.dataflow("word count") as scope:
            words, stream = scope.new_input(WORD)
            counts = stream.unary("count", COUNT, count_words, tr.Exchange("word"), tr.Notify.NEVER)
            kept = counts.collect()
        words.send({"word": options.words[worker.index :: worker.peers]})  # each worker feeds its share
        worker.run()
        return kept.columns()

    for index, part in enumerate(tr.execute(program, workers=options.workers)):
        final = dict(zip(part["word"], part["count"], strict=True))  # a word's last count is what it comes to
        for word in sorted(final):
            print(f"worker {index}: {word} {final[word]}")


if __name__ == "__main__":
    main()
