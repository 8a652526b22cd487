"""Links: by slot a list of the values that were new to it, where slots are merged into others."""

from collections.abc import Sequence

from tokenring.engine import COLUMN, WORDS, kernel, void
from tokenring.engine.compiled import Words, record_of, records_at
from tokenring.engine.raw import words_at
from tokenring.operators.folds.sets.words import Link, ValueSet
from tokenring.operators.state import give_place, take_place


@kernel
def links_of(row: ValueSet) -> Sequence[Link]:
    """The table of links."""
    return records_at(row.links, row.links_room, Link)


@kernel
def last_links(row: ValueSet) -> Words:
    """By slot its last link, plus one; 0 for none."""
    return words_at(row.heads, row.owners_length)


@kernel
def has_room_for_links(row: ValueSet, rows: int) -> bool:
    """Whether so many values can be new."""
    return row.links == 0 or row.linked.free + row.links_room - row.linked.limit >= rows


@kernel
def link_value(row: ValueSet, slot: int, value: int, flags: int) -> None:
    """A value, in words, is new to a slot, for these flags."""
    at, heads = take_place(words_at(row.free_links, row.links_room), row.linked), last_links(row)
    link = links_of(row)[at]
    link.value, link.flags, link.before = value, flags, heads[slot]
    heads[slot] = at + 1


@kernel
def forget_links(row: ValueSet, slots: Words) -> None:
    """Slots have no values any more."""
    if row.links != 0:
        heads, links = last_links(row), links_of(row)
        free = words_at(row.free_links, row.links_room)
        for slot in slots:
            at = heads[slot]
            heads[slot] = 0
            while at != 0:
                give_place(free, row.linked, at - 1)
                at = links[at - 1].before


@kernel(void(WORDS, COLUMN))
def let_links_go(words: Words, slots: Words) -> None:
    """`forget_links`, of the set that has these words."""
    forget_links(record_of(words, ValueSet), slots)
