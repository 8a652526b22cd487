"""Programs for people who work on TokenRing; nothing imports them but their tests."""
