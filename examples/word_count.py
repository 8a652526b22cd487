"""Word count: rows are exchanged by word, so that one worker alone counts each.

`operators.count` is this in one line; here it is written out, to show what an operator of one's own looks like.

    python examples/word_count.py --workers 3 to be or not to be
"""

import argparse
from collections import Counter
from collections.abc import Callable, Iterator

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

    def share(worker: int, peers: int) -> Iterator[dict[str, list[str]]]:  # of the words, each worker's
        yield {"word": options.words[worker::peers]}

    def pipeline(scope: tr.Scope) -> tr.Collected:
        words = scope.from_generator(WORD, share)
        return words.unary("count", COUNT, count_words, tr.Exchange("word"), tr.Notify.NEVER).collect()

    table = tr.run(pipeline, workers=options.workers)
    final = dict(zip(table["word"].to_pylist(), table["count"].to_pylist(), strict=True))  # a word's last count
    for word, count in sorted(final.items()):
        print(f"{word}: {count}")


if __name__ == "__main__":
    main()
