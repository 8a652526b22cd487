"""A launcher and its workers say things by words that all of them share."""

import os

from tokenring.engine.ask import Board


def test_who_is_made_later_shares_the_words() -> None:
    board = Board(3)
    board.say(board.workers, 0, 5)
    for worker in range(board.workers):
        process = os.fork()
        if process == 0:
            board.say(worker, 7, 10 * worker + board.said(board.workers, 0))
            os._exit(0)
        os.waitpid(process, 0)
    assert board.all(7) == [5, 15, 25]


def test_each_has_its_own_words() -> None:
    board = Board(2)
    lines = range(board.workers + 1)
    for line in lines:
        for word in range(8):
            board.say(line, word, 100 * line + word)
    assert [[board.said(line, word) for word in range(8)] for line in lines] == [
        [100 * line + word for word in range(8)] for line in lines
    ]
    assert board.all(3) == [3, 103]
