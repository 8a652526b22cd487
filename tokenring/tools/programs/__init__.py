"""Programs by name: a function of a file or module, found, run on all workers, and what it returned printed."""

from tokenring.faces import later

with later(__name__):
    from tokenring.tools.programs.named import Target, is_named, load
    from tokenring.tools.programs.returned import print_returned, told
    from tokenring.tools.programs.run import run
