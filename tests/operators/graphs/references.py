"""What graph operators are checked against: one edge at a time, in plain Python and numpy."""

from __future__ import annotations

from collections import defaultdict, deque

import numpy as np

Edges = list[tuple[int, int]]


def distances(edges: Edges, root: int) -> dict[int, int]:
    """The number of edges of a shortest way from `root`, for each node that has one (a queue)."""
    following = defaultdict(list)
    for src, dst in edges:
        following[src].append(dst)
    found, queue = {root: 0}, deque([root])
    while queue:
        node = queue.popleft()
        for other in following[node]:
            if other not in found:
                found[other] = found[node] + 1
                queue.append(other)
    return found


def least(edges: Edges, seeds: list[tuple[int, int]], step: int) -> dict[int, int]:
    """The least value that reaches each node: along every edge, again and again, until nothing changes."""
    found: dict[int, int] = {}
    for node, value in seeds:
        found[node] = min(found.get(node, value), value)
    before: dict[int, int] = {}
    while before != found:
        before = dict(found)
        for src, dst in edges:
            if src in found:
                found[dst] = min(found.get(dst, found[src] + step), found[src] + step)
    return found


def components(edges: Edges) -> dict[int, int]:
    """The least node of each node's component (union and find)."""
    parent: dict[int, int] = {}

    def root(node: int) -> int:
        parent.setdefault(node, node)
        while parent[node] != node:
            parent[node] = node = parent[parent[node]]
        return node

    for src, dst in edges:
        one, other = sorted((root(src), root(dst)))
        parent[other] = one
    return {node: root(node) for node in list(parent)}


def strong_components(edges: Edges) -> dict[int, int]:
    """The least node of each node's strong component, where that has more nodes than one (Kosaraju: two searches)."""
    following, preceding = defaultdict(list), defaultdict(list)
    for src, dst in edges:
        following[src].append(dst)
        preceding[dst].append(src)
    done: list[int] = []  # in order of leaving
    seen = set()
    for start in list(following):
        stack = [] if start in seen else [(start, iter(following[start]))]
        seen.add(start)
        while stack:
            node, others = stack[-1]
            other = next((other for other in others if other not in seen), None)
            if other is None:
                done.append(stack.pop()[0])
            else:
                seen.add(other)
                stack.append((other, iter(following.get(other, ()))))
    found: dict[int, int] = {}
    taken = set()
    for start in reversed(done):
        members, queue = [], deque([] if start in taken else [start])
        taken.add(start)
        while queue:
            node = queue.popleft()
            members.append(node)
            for other in preceding.get(node, ()):
                if other not in taken:
                    taken.add(other)
                    queue.append(other)
        if len(members) > 1:
            found |= dict.fromkeys(members, min(members))
    return found


def page_ranks(edges: Edges, nodes: int, rounds: int, damping: float = 0.85) -> dict[int, float]:
    """Ranks by repeated multiplication, for nodes that have an edge."""
    src, dst = np.array(edges, np.int64).reshape(-1, 2).T
    degree = np.bincount(src, minlength=nodes)
    rank = np.full(nodes, 1 / nodes)
    for _ in range(rounds):
        rank = (1 - damping) / nodes + damping * np.bincount(dst, rank[src] / degree[src], minlength=nodes)
    return {node: float(rank[node]) for node in {*src.tolist(), *dst.tolist()}}
