"""Tools for any program: why it waits, breakpoints, profiles, running it by name; and what every command stands on."""

if __name__ != "tokenring.tools":  # a second copy of all its modules, where the checkout stands on the path
    raise ImportError(f"{__name__} is a part of tokenring: import tokenring.tools", name=__name__)
