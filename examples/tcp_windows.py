"""Readings from a TCP connection, counted in windows of five seconds, until Ctrl-C.

Each line that comes is `time,sensor,value`. A window is printed once it is over: by the readings' own times, or, with
--arrival, by the times at which they came. Ctrl-C closes the connection; what was received until then is counted.

    python examples/tcp_windows.py localhost 5000
    python examples/tcp_windows.py localhost 5000 --arrival --every 1s
"""

import argparse
import socket
from typing import Any

import tokenring as tr

READING = tr.Schema("value", at="timestamp", sensor="string", arrived="timestamp")


class Connection:
    """Lines of a socket, taken as they come."""

    def __init__(self, host: str, port: int) -> None:
        self.rows = 0
        self._address = host, port
        self._socket: socket.socket | None = None
        self._begun = ""  # a line whose end has not come yet

    def poll(self) -> Any:
        """The columns of what has come since; None where that is nothing. One worker asks, which alone connects."""
        if self._socket is None:
            self._socket = socket.create_connection(self._address)
            self._socket.setblocking(False)
        try:
            received = self._socket.recv(1 << 16).decode("ascii")
        except BlockingIOError:
            return None
        if not received:
            return tr.END_OF_STREAM
        *lines, self._begun = (self._begun + received).split("\n")
        if not lines:
            return None
        self.rows += len(lines)
        at, sensor, value = zip(*[line.split(",") for line in lines], strict=True)
        return {"at": at, "sensor": sensor, "value": [int(number) for number in value]}


def show(time: int, windows: tr.Batch) -> None:
    for row in windows.to_arrow().to_pylist():
        said = f"{row['window_start']:%H:%M:%S} {row['sensor']}: {row['readings']} reading(s), {row['total']}\n"
        print(said, end="", flush=True)  # a line at once, in a pipe too


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("host")
    parser.add_argument("port", type=int)
    parser.add_argument("--arrival", action="store_true", help="windows of the times at which readings came")
    parser.add_argument("--every", default="5s")
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()

    def program(worker: tr.Worker) -> int:
        connection = Connection(options.host, options.port)
        times, column = (tr.ARRIVAL, "arrived") if options.arrival else ("at", "at")
        with worker.dataflow("readings") as scope:
            readings = scope.from_callback(READING, connection.poll, time=times, stamp="arrived")
            window = tr.Tumbling(column, options.every)
            readings.aggregate("sensor", window=window, readings=tr.Count(), total=tr.Sum("value")).for_each(show)
        worker.run()
        return connection.rows

    print("received:", sum(tr.execute(program, workers=options.workers)), "reading(s)")


if __name__ == "__main__":
    main()
