"""Tools for any program: why it waits, breakpoints, profiles, running it by name; and what every command stands on."""
