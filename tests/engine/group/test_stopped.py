"""A worker that is stopped is named, once a stop; the run goes on with it."""

import os
import re
import signal
import threading
from collections.abc import Callable

import pytest

import tokenring.engine.group.stopped
from tests.engine.helpers import VALUE, Recorder
from tokenring.engine import Exchange, Worker, execute
from tokenring.engine.group.stopped import StoppedWatch


def test_a_stopped_worker_is_named(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(tokenring.engine.group.stopped, "STOPPED_S", 0.3)
    monkeypatch.setattr(tokenring.engine.group.stopped, "LOOK_S", 0.1)
    monkeypatch.setattr("tokenring.engine.group.group.LOOK_S", 0.1)
    heard = threading.Event()
    pids: list[int] = []

    def program(worker: Worker) -> None:
        with worker.dataflow() as scope:
            handle, stream = scope.new_input(VALUE)
            probe = stream.sink("sink", Recorder().sink, Exchange("value"))
        for at in range(1, 4):
            if worker.index == 1 and at == 2:
                worker.report("stop me")
                os.kill(os.getpid(), signal.SIGSTOP)
            handle.send({"value": [at]})
            handle.advance_to(at)
            worker.step_while(lambda at=at: probe.less_than(at))  # type: ignore[misc]

    def wake() -> None:
        heard.wait(60)
        while "has been stopped" not in _said(capfd, said):
            if stop.wait(0.1):
                break
        os.kill(pids[1], signal.SIGCONT)

    said: list[str] = []
    stop = threading.Event()
    waker = threading.Thread(target=wake)
    waker.start()
    try:
        execute(program, workers=2, on_note=lambda worker, note: heard.set(), on_start=pids.extend)
    finally:
        stop.set()
        waker.join()
    text = _said(capfd, said)
    told = rf"worker 1 \(pid {pids[1]}\) has been stopped for 0\.3 s.*kill -CONT {pids[1]}\n"
    assert len(re.findall(told, text)) == 1
    assert "worker 0" not in text


def _said(capfd: pytest.CaptureFixture[str], so_far: list[str]) -> str:
    so_far.append(capfd.readouterr().err)
    return "".join(so_far)


def test_each_stop_is_told_of_by_itself(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """After five seconds that it lasts: short ones before it do not count, and it is told once."""
    seconds = iter(range(100))
    stops = iter("...sss.sss.ssssssss.sssssss")
    monkeypatch.setattr(tokenring.engine.group.stopped, "monotonic", lambda: float(next(seconds)))
    monkeypatch.setattr(tokenring.engine.group.stopped, "is_stopped", lambda pid: next(stops) == "s")
    watch = StoppedWatch()
    told = []
    for look in range(27):
        watch.look([(1, 4711)])
        if "worker 1 (pid 4711) has been stopped" in capsys.readouterr().err:
            told.append(look)
    assert told == [16, 25]


def test_what_another_thread_asks_for_wakes_a_sleeping_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without it the worker would sleep its time out, which is made long here."""
    monkeypatch.setattr("tokenring.engine.worker.worker._LONGEST_SLEEP_S", 2.0)

    def program(worker: Worker) -> list[bool]:
        woken: list[bool] = []
        sleep = worker.parking._lot.wait
        asleep = threading.Semaphore(0)

        def wait(index: int, seconds: float) -> bool:
            asleep.release()
            woken.append(sleep(index, seconds))
            return woken[-1]

        worker.parking._lot.wait = wait  # type: ignore[method-assign]

        def later(act: Callable[[], None]) -> None:
            asleep.acquire()
            act()

        def construct(context, token):  # type: ignore[no-untyped-def]
            asks = [context.activate, lambda: context.activate_after(0)] * 3

            def logic(output):  # type: ignore[no-untyped-def]
                if asks:
                    threading.Thread(target=later, args=(asks.pop(),), daemon=True).start()
                else:
                    token.drop()

            return logic

        with worker.dataflow() as scope:
            scope.source("asked", (VALUE,), construct)
        worker.run()
        return woken

    (woken,) = execute(program, workers=1)
    assert len(woken) >= 6
    assert woken.count(False) == 0, "it was posted each time"
