"""Session windows: which rows of a key lie so close together that they are one window."""

from tokenring.faces import later

with later(__name__):
    from tokenring.operators.sessions.moving_sessions import session_tables
    from tokenring.operators.sessions.sessions import compiled_sessions
