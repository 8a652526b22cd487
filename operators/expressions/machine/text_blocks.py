"""The machine's operations on text: kernels over one block of words into heaps."""


from tokenring.engine import COLUMN, TABLE, WORDS, int64, kernel, text_equal, void
from tokenring.engine.compiled import Words, signed
from tokenring.engine.raw import LENGTH_BITS, LENGTH_MASK, bytes_at, copy_text, find_octet, same_octets, words_at


@kernel
def _find(address: int, start: int, length: int, part: int, width: int, times: int) -> int:
    """Where in a text at an address, from `start` on, a part of it, `width` bytes at an address, begins for the n-th
    time, without overlap, n >= 1; `length` if it does not."""
    first = signed(bytes_at(part, width)[0])
    if width == 1:
        return find_octet(address, start, length, first, times)
    end = length - width + 1
    at = find_octet(address, start, end, first, 1)
    while at < end:
        if same_octets(address + at, part, width):
            times -= 1
            if times == 0:
                return at
            at += width - 1
        at = find_octet(address, at + 1, end, first, 1)
    return length


@kernel
def text_relation(
    relation: int, target: int, first: int, second: int, first_heap: int, second_heap: int, count: int
) -> None:
    """1 where a text of `first` is equal to (relation 0), begins with (1), ends with (2) or contains (3) that of
    `second`, 0 elsewhere and where either is null.
    """
    t, a, b = words_at(target, count), words_at(first, count), words_at(second, count)
    for i in range(count):
        word, other = a[i], b[i]
        found = False
        if word >= 0 and other >= 0:
            length, wanted = word & LENGTH_MASK, other & LENGTH_MASK
            if relation == 0:
                found = text_equal(word, first_heap, other, second_heap)
            elif length >= wanted:
                text, part = first_heap + (word >> LENGTH_BITS), second_heap + (other >> LENGTH_BITS)
                if relation == 1:
                    found = same_octets(text, part, wanted)
                elif relation == 2:
                    found = same_octets(text + length - wanted, part, wanted)
                else:
                    found = wanted == 0 or _find(text, 0, length, part, wanted, 1) < length
        t[i] = signed(found)


@kernel
def text_count(target: int, first: int, second: int, first_heap: int, second_heap: int, count: int) -> None:
    """How often texts of `first` have that of `second` in them, without overlap; an empty one before each byte and at
    the end.
    """
    t, a, b = words_at(target, count), words_at(first, count), words_at(second, count)
    for i in range(count):
        word, other = a[i], b[i]
        found = signed(0)
        if word >= 0 and other >= 0:
            length, wanted = word & LENGTH_MASK, other & LENGTH_MASK
            address, part = first_heap + (word >> LENGTH_BITS), second_heap + (other >> LENGTH_BITS)
            if wanted == 0:
                found = length + 1
            elif wanted == 1:
                text, octet = bytes_at(address, length), bytes_at(part, 1)[0]
                for j in range(length):
                    found += signed(text[j] == octet)
            else:
                at = _find(address, 0, length, part, wanted, 1)
                while at < length:
                    found += 1
                    at = _find(address, at + wanted, length, part, wanted, 1)
        t[i] = found


@kernel
def text_length(target: int, first: int, heap: int, is_text: bool, count: int) -> None:
    """Characters of UTF-8 (bytes that continue none), or bytes if `is_text` is 0."""
    t, a = words_at(target, count), words_at(first, count)
    for i in range(count):
        word = a[i]
        length = word & LENGTH_MASK if word >= 0 else 0
        found = length
        if is_text != 0:
            text = bytes_at(heap + (word >> LENGTH_BITS), length)
            for j in range(length):
                if text[j] & 0xC0 == 0x80:
                    found -= 1
        t[i] = found


@kernel
def known(target: int, first: int, null: int, count: int) -> bool:
    """The numbers that texts were read as, as they are; whether one is `null`, which a text that is none became."""
    t, a = words_at(target, count), words_at(first, count)
    bad = False
    for i in range(count):
        bad |= a[i] == null
        t[i] = a[i]
    return bad


@kernel
def first_unknown(first: int, null: int, guard: int, count: int) -> int:
    """The first row of the block that is `null`, of those where `guard` (0: none) is 1; or -1."""
    a, g = words_at(first, count), words_at(guard, count)
    for i in range(count):
        if a[i] == null and (guard == 0 or g[i] == 1):
            return i
    return -1


@kernel(void(COLUMN, int64, COLUMN, int64, WORDS))
def split_part(words: Words, heap: int, separator: Words, index: int, parts: Words) -> None:
    """Words into the same heap of the parts of that index, from 0, between separators; null where there are fewer.
    separator: int64 (2,), the address and length of its bytes; an empty one separates nothing.
    """
    between, width = separator[0], separator[1]
    for i in range(len(words)):
        word = words[i]
        parts[i] = -1
        if word >= 0:
            length, text = word & LENGTH_MASK, heap + (word >> LENGTH_BITS)
            start, stop = 0, length
            if width == 0:
                start = 0 if index == 0 else length + 1
            else:
                if index > 0:
                    start = _find(text, 0, length, between, width, index) + width
                if start <= length:
                    stop = _find(text, start, length, between, width, 1)
            if start <= length:
                parts[i] = word + (start << LENGTH_BITS) + (stop - start) - length


@kernel(int64(TABLE, WORDS))
def choose(sources: Words, chosen: Words) -> int:
    """Fill `chosen` with each row's first source whose condition is 1, or the last; returns the bytes of their texts.
    sources: int64 (n, 3), the addresses of a source's conditions (not the last's), of its words, and of its heap.
    """
    rows, last, total = len(chosen), len(sources) - 1, 0
    for i in range(rows):
        chosen[i] = last
    for at in range(last - 1, -1, -1):
        conditions = words_at(sources[at, 0], rows)
        for i in range(rows):
            if conditions[i] == 1:
                chosen[i] = at
    for i in range(rows):
        word = words_at(sources[chosen[i], 1], rows)[i]
        total += word & LENGTH_MASK if word >= 0 else 0
    return total


@kernel(void(TABLE, COLUMN, WORDS, int64))
def take_chosen(sources: Words, chosen: Words, words: Words, target: int) -> None:
    """The words of the chosen sources' texts, which are copied to a heap at address `target`; not if that is 0."""
    rows, at = len(chosen), 0
    for i in range(rows):
        source = chosen[i]
        word = words_at(sources[source, 1], rows)[i]
        if word >= 0 and target != 0:
            word = copy_text(word, sources[source, 2], target, at)
            at += word & LENGTH_MASK
        words[i] = word
