"""What every command stands on: files as asked for, signals, progress bars."""

from tokenring.faces import later

with later(__name__):
    from tokenring.tools.system.as_json import json_lines, json_option, write_json
    from tokenring.tools.system.at_work import at_work
    from tokenring.tools.system.failing import in_one_line
    from tokenring.tools.system.files import (
        STANDARD_OUTPUT,
        PathOption,
        is_special,
        lose_output,
        replace,
        replace_by,
        require_writable,
    )
    from tokenring.tools.system.memory import memory_option
    from tokenring.tools.system.numbers import Number
    from tokenring.tools.system.progress import Advance, progress_bar, progress_line, silent
    from tokenring.tools.system.signals import (
        Ended,
        ending_signals_come_late,
        ending_signals_exit,
        ending_signals_raise,
        put_back,
    )
    from tokenring.tools.system.tables import console_of, print_table
    from tokenring.tools.system.verbose import verbose_option
