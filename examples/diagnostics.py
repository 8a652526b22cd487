"""Questions that hold nobody up: an operator with a data and a diagnostic input, and a summary that keeps them apart.

The operator's summary says that nothing from the diagnostic input comes out as data. So while questions wait, for an
answer that takes long, the frontier of the data goes on, and those who wait for data do not notice. The other way there
is a path: an answer tells what the data came to, so while data is under way the answers' frontier waits for it.
(The example of the chapter on progress tracking, "Path Summaries".)

    python examples/diagnostics.py --workers 2
"""

import argparse
from collections.abc import Callable

import tokenring as tr

DATA = tr.Schema("value")
QUESTION = tr.Schema("number")
ANSWER = tr.Schema("number total")


def answering(context: tr.OperatorContext, to_data: tr.Token, to_answers: tr.Token) -> Callable[..., None]:
    to_data.drop()
    to_answers.drop()
    total = 0

    def logic(data: tr.InputPort, questions: tr.InputPort, passed: tr.OutputPort, answers: tr.OutputPort) -> None:
        nonlocal total
        for reference, batch in data:
            total += int(batch["value"].sum())
            passed.give(reference, batch)
        for reference, batch in questions:
            # reference.retain(0) would be refused here: there is no path to the data output
            answers.give(reference, {"number": batch["number"], "total": [total] * batch.rows})

    return logic


def slowly(patience: list[bool]) -> Callable[..., Callable[..., None]]:
    """An operator that keeps what it gets, each with a token, until it is told to go on."""

    def construct(context: tr.OperatorContext, token: tr.Token) -> Callable[[tr.InputPort, tr.OutputPort], None]:
        token.drop()
        kept = []

        def logic(answers: tr.InputPort, output: tr.OutputPort) -> None:
            for reference, batch in answers:
                kept.append((reference.retain(), batch.copy()))
            while kept and not patience:
                held, batch = kept.pop()
                output.give(held, batch)
                held.drop()
            if kept:
                context.activate_after(1_000_000)

        return logic

    return construct


def program(worker: tr.Worker) -> tuple[int, int, int, list[int]]:
    patience = [True]
    with worker.dataflow("diagnostics") as scope:
        values, data = scope.new_input(DATA, "data")
        asked, questions = scope.new_input(QUESTION, "questions")
        builder = scope.operator("answering", tr.Notify.NEVER)
        builder.input(data)
        builder.input(questions)
        passed = builder.output(DATA, {1: None})  # no path from the questions
        answers = builder.output(ANSWER)
        builder.build(answering)
        told = answers.unary("slowly", ANSWER, slowly(patience))
        shown = told.collect()
        data_probe, answers_probe = passed.probe(), told.probe()
    asked.send({"number": [worker.index]})
    for time in range(1, 11):
        values.send({"value": range(100)})
        values.advance_to(time)
        worker.step_while(lambda: data_probe.less_than(values.time))  # does not wait for the question of time 0
    before = answers_probe.frontier
    patience.clear()  # now the answer may be told
    asked.advance_to(10)
    worker.step_while(lambda: answers_probe.less_than(10))
    return data_probe.frontier, before, answers_probe.frontier, shown.columns()["number"].tolist()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    for index, (data, before, after, numbers) in enumerate(tr.execute(program, workers=options.workers)):
        print(f"worker {index}: data had got to {data} and answers to {before}; then answers got to {after}")
        print(f"worker {index}: questions answered: {numbers}")


if __name__ == "__main__":
    main()
