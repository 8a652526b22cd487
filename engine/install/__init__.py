"""Dataflows that are installed in a running group, and removed: both sides."""

from tokenring.faces import later

with later(__name__):
    from tokenring.engine.install.asking import SAVED, install, remove
    from tokenring.engine.install.code import IMPORTING, Code, code_of, file_of, importing, module_of, taken_by
    from tokenring.engine.install.failing import Failing
    from tokenring.engine.install.installed import Installed
    from tokenring.engine.install.installing import Installing, Removing, install_here
    from tokenring.engine.install.together import Together
