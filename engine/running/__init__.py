"""What runs on a worker: operators, manual inputs, probes, what is due, and what has finished."""

from tokenring.faces import later

with later(__name__):
    from tokenring.engine.running.context import OperatorContext
    from tokenring.engine.running.dataflows import Dataflows, Failure, Phase, RunningDataflow
    from tokenring.engine.running.events import EventLog
    from tokenring.engine.running.garbage import Garbage
    from tokenring.engine.running.input import InputHandle
    from tokenring.engine.running.input_group import InputGroup
    from tokenring.engine.running.operator import NOT_DUE, RunningOperator, WhenStopped
    from tokenring.engine.running.probe import Probe
    from tokenring.engine.running.probe_group import ProbeGroup
    from tokenring.engine.running.publishing import Publication, put_in_place
    from tokenring.engine.running.room import Room, SendingWarning
    from tokenring.engine.running.schedule import Schedule
    from tokenring.engine.running.stepper import refuse_step
    from tokenring.engine.running.under_way import UnderWay
