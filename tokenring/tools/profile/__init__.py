"""Profiles of workers: py-spy's stacks, which kernel a line calls, flame graphs."""

from tokenring.faces import later

with later(__name__):
    from tokenring.tools.profile.files import output_folder, print_profile, write_profile
    from tokenring.tools.profile.gate import wait_at_gate
    from tokenring.tools.profile.py_spy import Recorder, Recorders
    from tokenring.tools.profile.stacks import Recording, read_recording
    from tokenring.tools.profile.watch import watch
