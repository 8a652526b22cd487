"""Texts and the text space: which have their bytes in it, where all workers see them, and which are to be copied."""

from tokenring.engine.texts.common import as_common, heap_of_words

__all__ = [
    "as_common",
    "heap_of_words",
]
