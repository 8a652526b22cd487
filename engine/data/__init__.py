"""The data plane: outputs, channels within and between workers, inputs."""

from tokenring.faces import later

with later(__name__):
    from tokenring.engine.data.burst import Burst, messages_of
    from tokenring.engine.data.channel import Channel, Edge, FeedbackChannel, RelayChannel, SelectChannel, needs_queues
    from tokenring.engine.data.inbox import NO_MESSAGES, Inbox
    from tokenring.engine.data.input_port import InputPort, NestedInputPort
    from tokenring.engine.data.output_port import OutputPort
    from tokenring.engine.data.plane import DataPlane, Receiver
    from tokenring.engine.data.raised import in_words, text_of
    from tokenring.engine.data.remote_channel import BurstEnd, RemoteChannel
    from tokenring.engine.data.routes import CheckedChannel
    from tokenring.engine.data.runtime import Operator, Runtime, Schedule
    from tokenring.engine.data.session import SendSession
    from tokenring.engine.data.sifted import made_of_good
    from tokenring.engine.data.signal_end import FarSignal, NearSignal
    from tokenring.engine.data.stage_run import StageRun, compile_stages
    from tokenring.engine.data.text_rows import TextRows, needs_text_rows
    from tokenring.engine.data.word_rows import WordRows
