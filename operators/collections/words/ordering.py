"""Rows by value: words in whose order rows are in that of their values."""

from collections.abc import Sequence

import numpy as np

from tokenring.engine import kernel
from tokenring.engine.columns import SIGNED, TEXT
from tokenring.engine.compiled import Words
from tokenring.operators.collections.words.kinds import KindRow, compare_texts, is_null, ordinal

_FEW = 16  # texts that are sorted by inserting each


@kernel
def comes_before(kinds: Sequence[KindRow], column: int, word: int, other: int, is_downwards: bool) -> bool:
    """Whether a word's value comes before another's, neither of them null, the least first; if it goes downwards, the
    greatest. NaN comes last either way."""
    if kinds[column].order == TEXT:
        order = compare_texts(word, other, kinds[column].base)
        return order > 0 if is_downwards else order < 0
    mine, theirs = ordinal(kinds, column, word, is_downwards), ordinal(kinds, column, other, is_downwards)
    return mine > theirs if is_downwards else mine < theirs


@kernel
def _sort_texts(words: Words, order: Words, base: int) -> None:
    """Order the numbers of texts by what they say: runs of a few, which are merged."""
    count = len(words)
    for start in range(0, count, _FEW):
        for i in range(start, min(start + _FEW, count)):
            at = i
            while at > start and compare_texts(words[i], words[order[at - 1]], base) < 0:
                order[at] = order[at - 1]
                at -= 1
            order[at] = i
    run, other = _FEW, np.empty(count, np.int64)
    while run < count:
        for start in range(0, count, 2 * run):
            middle, stop = min(start + run, count), min(start + 2 * run, count)
            i, j = start, middle
            for at in range(start, stop):
                if j == stop or (i < middle and compare_texts(words[order[i]], words[order[j]], base) <= 0):
                    other[at] = order[i]
                    i += 1
                else:
                    other[at] = order[j]
                    j += 1
        order[:] = other
        run *= 2


@kernel
def _rank_texts(words: Words, kinds: Sequence[KindRow], column: int, is_downwards: bool, ranks: Words) -> None:
    """Write the number of each text among the different ones; of null one that is above all, or below."""
    number = 0
    places = np.empty(len(words), np.int64)
    for row in range(len(words)):
        if is_null(kinds, column, words[row]):
            ranks[row] = -1 if is_downwards else len(words)
        else:
            places[number] = row
            number += 1
    texts, order = words[places[:number]], np.empty(number, np.int64)
    _sort_texts(texts, order, kinds[column].base)
    rank = 0
    for i in range(number):
        if i > 0 and texts[order[i]] != texts[order[i - 1]]:
            rank += 1
        ranks[places[order[i]]] = rank


@kernel
def by_value(rows: Words, columns: int, kinds: Sequence[KindRow], is_downwards: bool) -> Words:
    """A table with other words in the first columns, in the order of what the rows' words stand for. NaN, and behind it
    null, come last: if the order is to be gone through downwards, they are the least."""
    is_plain = True
    for column in range(columns):
        is_plain &= kinds[column].order == SIGNED and kinds[column].nullable == 0
    if is_plain:
        return rows
    made = rows.copy()
    for column in range(columns):
        if kinds[column].order == TEXT:
            _rank_texts(rows[column], kinds, column, is_downwards, made[column])
        else:
            for row in range(rows.shape[1]):
                made[column, row] = ordinal(kinds, column, rows[column, row], is_downwards)
    return made
