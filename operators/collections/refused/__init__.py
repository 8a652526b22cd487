"""What collections refuse: what their operators cannot take."""

from tokenring.faces import later

with later(__name__):
    from tokenring.operators.collections.refused.arguments import (
        as_null,
        became_nullable,
        require_whole,
        span_back,
        whole_number,
    )

__all__ = [
    "as_null",
    "became_nullable",
    "require_whole",
    "span_back",
    "whole_number",
]
