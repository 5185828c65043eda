"""Times making and scoring questions with the Python library, at the default difficulty.

    python benches/vs_python/tasks.py ROWS

Prints one line a task, `name generation scoring` in nanoseconds, as `cargo bench --bench tasks -- --once ROWS`
does for ours: the same number of questions, the same candidates (of tests/golden/scores.jsonl), one thread.
"""
import contextlib
import dataclasses
import io
import json
import sys
import time

import reasoning_gym
from reasoning_gym.factory import DATASETS

TASKS = (
    "basic_arithmetic base_conversion binary_matrix arc_1d bf propositional_logic "
    "fraction_simplification decimal_arithmetic calendar_arithmetic"
).split()

# As in benches/tasks.rs.
QUESTIONS = 500
SECONDS = 0.05


def nanoseconds(count, one_round):
    """Nanoseconds that one of `count` pieces of work takes, done round and round."""
    start, rounds = time.perf_counter(), 0
    while rounds == 0 or time.perf_counter() - start < SECONDS:
        one_round()
        rounds += 1
    return (time.perf_counter() - start) * 1e9 / (rounds * count)


def candidates(name, rows):
    """Entries of the default difficulty, each with the candidates for its answer."""
    defaults = json.loads(json.dumps(dataclasses.asdict(DATASETS[name][1]())))
    del defaults["seed"], defaults["size"]
    fitting = [row for row in rows if row["task"] == name and row["config"] == defaults]
    return [(row, [text for text, _ in row["scored"] if text is not None]) for row in fitting]


def main(file):
    rows = [json.loads(line) for line in open(file, encoding="utf-8")]
    for name in TASKS:
        dataset = reasoning_gym.create_dataset(name, seed=1, size=QUESTIONS)
        pairs = candidates(name, rows)

        def generate():
            for i in range(QUESTIONS):
                dataset[i]

        def score():
            for entry, answers in pairs:
                for answer in answers:
                    dataset.score_answer(answer, entry)

        # The library prints a dot for every program of bf.
        with contextlib.redirect_stdout(io.StringIO()):
            generation = nanoseconds(QUESTIONS, generate)
            scoring = nanoseconds(sum(len(answers) for _, answers in pairs), score)
        print(f"{name} {generation:.1f} {scoring:.1f}", flush=True)


main(sys.argv[1])
