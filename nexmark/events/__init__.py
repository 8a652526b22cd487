"""The events: the three streams' columns, and the generator that makes them by number."""

from tokenring.faces import later

with later(__name__):
    from tokenring.nexmark.events.draws import I64
    from tokenring.nexmark.events.edge_events import write_edge_events
    from tokenring.nexmark.events.generator import Generator, GeneratorConfig
    from tokenring.nexmark.events.schema import AUCTION, BID, EVENT, FLOOR, STREAMS, TIME_LIMIT_NS, Column, Stream
    from tokenring.nexmark.events.texts import string_columns
