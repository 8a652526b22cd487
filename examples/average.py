"""Tumbling average: windows close when the frontier passes their end, however late, early or unordered rows came.

    python examples/average.py
"""

import tokenring as tr

WIDTH = 10
BATCHES = [  # (time of the input, rows): a row's own time is never before the input's
    (0, {"time": [7, 3, 12], "value": [70, 30, 120]}),
    (5, {"time": [9, 25], "value": [90, 250]}),
    (20, {"time": [21], "value": [210]}),
]


def frontier(probe: tr.Probe) -> str:
    return "complete" if probe.frontier == tr.COMPLETE else str(probe.frontier)


def program(worker: tr.Worker) -> None:
    with worker.dataflow("average") as scope:
        readings, stream = scope.new_input(tr.Schema("time value"))
        averages = stream.tumbling_average("time", "value", WIDTH)
        rows = averages.collect()
        probe = averages.probe()
    for time, columns in BATCHES:
        readings.advance_to(time)
        readings.send(columns)
        worker.step_while(lambda: probe.less_than(readings.time))
        print(f"input at {time:2}: frontier of the averages {frontier(probe)}")
    readings.close()
    worker.run()
    print(f"input closed: frontier of the averages {frontier(probe)}")
    for end, average in zip(*rows.columns().values(), strict=True):
        print(f"window {end - WIDTH}..{end}: {average}")


if __name__ == "__main__":
    tr.execute(program, workers=1)
