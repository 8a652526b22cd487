"""The data plane: outputs, channels within and between workers, inputs."""

from tokenring.engine.data.burst import messages_of
from tokenring.engine.data.channel import Channel, FeedbackChannel, RelayChannel, SelectChannel, needs_queues
from tokenring.engine.data.input_port import NO_MESSAGES, InputPort
from tokenring.engine.data.nested_port import NestedInputPort
from tokenring.engine.data.output_port import OutputPort
from tokenring.engine.data.plane import DataPlane
from tokenring.engine.data.raised import raised_at
from tokenring.engine.data.remote_channel import RemoteChannel
from tokenring.engine.data.routed_channel import CheckedChannel, RoutedChannel
from tokenring.engine.data.session import Session
from tokenring.engine.data.stage_run import compile_stages
from tokenring.engine.data.text_channel import TextChannel, needs_text_channel

__all__ = [
    "Channel",
    "CheckedChannel",
    "DataPlane",
    "FeedbackChannel",
    "InputPort",
    "NO_MESSAGES",
    "NestedInputPort",
    "OutputPort",
    "RelayChannel",
    "RemoteChannel",
    "RoutedChannel",
    "SelectChannel",
    "Session",
    "TextChannel",
    "compile_stages",
    "messages_of",
    "needs_queues",
    "needs_text_channel",
    "raised_at",
]
