"""Which changes there are: every place in a file's functions, or in a query, where one token turns the meaning."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from scripts.mutation.mutant import Mutant

_COMPARISONS: dict[type[ast.cmpop], tuple[str, str]] = {
    ast.Lt: ("<", "<="), ast.LtE: ("<=", "<"), ast.Gt: (">", ">="), ast.GtE: (">=", ">"),
    ast.Eq: ("==", "!="), ast.NotEq: ("!=", "=="),
}  # fmt: skip
_ARITHMETIC: dict[type[ast.operator], tuple[str, str]] = {
    ast.Add: ("+", "-"), ast.Sub: ("-", "+"), ast.Mult: ("*", "+"), ast.FloorDiv: ("//", "*"), ast.Mod: ("%", "//"),
    ast.LShift: ("<<", ">>"), ast.RShift: (">>", "<<"), ast.BitAnd: ("&", "|"), ast.BitOr: ("|", "&"),
    ast.BitXor: ("^", "&"),
}  # fmt: skip
_NAMES = {"min": "max", "max": "min", "Min": "Max", "Max": "Min"}
_FOR_READERS = ("__repr__", "__str__")
_ORDERS = {"store_release": "store_word", "load_acquire": "load_word"}


def changes(file: str, source: bytes) -> list[Mutant]:
    """All mutants of a file, in the order of its text."""
    tree = ast.parse(source)
    lines = [0]
    for line in source.splitlines(keepends=True):
        lines.append(lines[-1] + len(line))
    places = _Places(file, source, lines)
    found = [mutant for part in _parts(file, tree) for node in _within(part) for mutant in places.of(node)]
    return sorted(set(found), key=lambda mutant: (mutant.start, mutant.after))


def _parts(file: str, tree: ast.Module) -> list[ast.stmt]:
    """What is changed of a file: its functions, kernels among them, and of a query all but what the runner is told."""
    if file.startswith("nexmark/queries/"):
        return [
            node
            for node in tree.body
            if isinstance(node, ast.FunctionDef) or (isinstance(node, ast.Assign) and not _is_told(node))
        ]
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    return [node for node in functions if node.name not in _FOR_READERS]


def _is_told(node: ast.Assign) -> bool:
    return isinstance(node.value, ast.Call) and ast.unparse(node.value.func) in ("Query", "Schema")


def _within(part: ast.stmt) -> Iterator[ast.AST]:
    """The nodes of a part's body that run: neither annotations nor signatures do; texts with values in them, whose
    parts Python places wrongly before 3.12, are mostly for readers."""
    waiting: list[ast.AST] = [*part.body] if isinstance(part, ast.FunctionDef) else [part]
    while waiting:
        node = waiting.pop()
        yield node
        if isinstance(node, ast.FunctionDef):
            waiting += node.body
        elif isinstance(node, ast.AnnAssign):
            waiting += [node.value] if node.value is not None else []
        elif not isinstance(node, ast.JoinedStr):
            waiting += ast.iter_child_nodes(node)


class _Places:
    """Where nodes stand in one file's bytes."""

    def __init__(self, file: str, source: bytes, lines: list[int]) -> None:
        self._file, self._source, self._lines = file, source, lines

    def of(self, node: ast.AST) -> Iterator[Mutant]:
        """The changes that one node takes."""
        if isinstance(node, ast.Compare):
            yield from self._comparison(node)
        elif isinstance(node, ast.BinOp) and type(node.op) in _ARITHMETIC:
            yield from self._between(node.left, node.right, *_ARITHMETIC[type(node.op)], "another operator")
        elif isinstance(node, ast.AugAssign):
            if type(node.op) in _ARITHMETIC:
                yield from self._between(node.target, node.value, *_ARITHMETIC[type(node.op)], "another operator")
            yield self._whole(node, "pass", "a statement less")
        elif isinstance(node, ast.BoolOp):
            told = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
            yield from self._between(node.values[0], node.values[1], *told, "and for or")
        elif isinstance(node, ast.Constant) and type(node.value) is int:
            for other in {node.value + 1, node.value - 1}:
                yield self._whole(node, str(other), "off by one")
        elif isinstance(node, ast.If | ast.While | ast.IfExp):
            if not (isinstance(node.test, ast.Constant)):
                yield self._whole(node.test, f"not ({self._text(node.test)})", "a condition turned round")
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            yield self._whole(node, "pass", "a statement less")
        elif isinstance(node, ast.Name) and self._is_known(_NAMES.get(node.id, "")):
            yield self._whole(node, _NAMES[node.id], "the other end")
        elif isinstance(node, ast.Name) and node.id in _ORDERS and self._file != "shm/memory/atomics.py":
            yield self._whole(node, _ORDERS[node.id], "no memory order")
        elif isinstance(node, ast.keyword) and node.arg in ("ties", "order") and isinstance(node.value, ast.Constant):
            words = str(node.value.value).split()
            if len(words) > 1:
                yield self._whole(node.value, repr(" ".join(words[:-1])).replace("'", '"'), "a tie not broken")

    def _is_known(self, name: str) -> bool:
        """Whether a name means something in this file: what fails at once shows nothing."""
        return name in ("min", "max") or (name != "" and re.search(rf"\b{name}\b", self._source.decode()) is not None)

    def _comparison(self, node: ast.Compare) -> Iterator[Mutant]:
        sides = [node.left, *node.comparators]
        for at, operator in enumerate(node.ops):
            if type(operator) in _COMPARISONS:
                yield from self._between(sides[at], sides[at + 1], *_COMPARISONS[type(operator)], "another comparison")

    def _between(self, left: ast.expr, right: ast.expr, old: str, new: str, what: str) -> Iterator[Mutant]:
        """The operator between two nodes; brackets and spaces stand there too."""
        start, end = self._end(left), self._start(right)
        at = self._source.find(old.encode(), start, end)
        if at >= 0:
            yield Mutant(self._file, at, old, new, what)

    def _whole(self, node: ast.AST, new: str, what: str) -> Mutant:
        return Mutant(self._file, self._start(node), self._text(node), new, what)

    def _text(self, node: ast.AST) -> str:
        return self._source[self._start(node) : self._end(node)].decode()

    def _start(self, node: ast.AST) -> int:
        return self._lines[node.lineno - 1] + node.col_offset  # type: ignore[attr-defined]

    def _end(self, node: ast.AST) -> int:
        return self._lines[node.end_lineno - 1] + node.end_col_offset  # type: ignore[attr-defined]
