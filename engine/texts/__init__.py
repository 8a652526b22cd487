"""Texts and the text space: which have their bytes in it, where all workers see them, and which are to be copied."""

from tokenring.faces import later

with later(__name__):
    from tokenring.engine.texts.common import (
        as_common,
        can_have_texts,
        constant_text,
        first_private_word,
        heap_of_words,
        in_text_space,
    )
    from tokenring.engine.texts.private import find_octet, is_all_common, move_private, moved_bytes, private_bytes
