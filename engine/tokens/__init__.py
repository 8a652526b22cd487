"""Timestamp tokens, the references that come with messages, and tokens that were lost."""

from tokenring.faces import later

with later(__name__):
    from tokenring.engine.tokens.lost import LostTokens
    from tokenring.engine.tokens.token import GRANTED, Token, refuse_thread
    from tokenring.engine.tokens.token_ref import TokenRef
