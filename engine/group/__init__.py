"""A group of workers: started, watched and ended by its launcher."""

from tokenring.faces import later

with later(__name__):
    from tokenring.engine.group.child import Program
    from tokenring.engine.group.group import ENDED, Group, Results
    from tokenring.engine.group.interrupts import DeferredSignals, Interrupted, Interrupts
    from tokenring.engine.group.launcher import execute, launched
    from tokenring.engine.group.linux import die_with_parent
    from tokenring.engine.group.named import import_program, require_function_of
    from tokenring.engine.group.processes import starting
    from tokenring.engine.group.scratch import (
        group_folder,
        new_group_file,
        owned_file,
        owned_folder,
        owned_name,
        remove_leftovers,
        scratch_folder,
    )
    from tokenring.engine.group.traces import TRACE, ShortTrace
    from tokenring.engine.group.warm_up import warm_up
