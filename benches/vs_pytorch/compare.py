"""Compares our generation, update and whole round with PyTorch's on the same work, in one run.

    pip install -r benches/vs_pytorch/requirements.txt
    python benches/vs_pytorch/compare.py [--repetitions 9] [--threads 2]

All sides first compute the same log-probs, loss and gradient, which must agree. Then they are timed in turn; the
table has medians and ratios.
"""
import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile
from collections import defaultdict

import torch

ROOT = pathlib.Path(__file__).parents[2]
HERE = pathlib.Path(__file__).parent
OURS = "ours"
SIDES = {
    "tiny": [(OURS, 1), ("usual", 1), ("usual", 2), ("saving", 1), ("saving", 2)],
    "wide": [(OURS, 1), ("usual", 1), ("usual-bf16", 1)],
}
COMMANDS = {"tiny": ["generate", "update", "round"], "wide": ["generate", "update"]}


def build():
    lines = subprocess.run(
        ["cargo", "bench", "--no-run", "--bench", "side_by_side", "--message-format", "json"],
        cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines()
    found = [json.loads(line).get("executable") for line in lines if "side_by_side" in line]
    return [path for path in found if path][-1]


class Side:
    def __init__(self, command):
        self.process = subprocess.Popen(command, cwd=HERE, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(self, command):
        self.process.stdin.write(command + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def start(ours, folder, name, side, threads):
    variant, workers = side
    if variant == OURS:
        return Side([ours, "serve", folder, name, str(threads)])
    return Side([sys.executable, str(HERE / "serve.py"), folder, name, variant, str(threads), str(workers)])


def agree(ours, folder, name, threads):
    found = {}
    for side in SIDES[name]:
        if side[1] == 1 and not side[0].endswith("bf16"):
            process = start(ours, folder, name, side, threads)
            found[side[0]] = process.ask("agree")
            process.close()
    expected = found.pop(OURS)
    for variant, answer in found.items():
        apart = max(abs(a - b) for a, b in zip(expected["logprobs"], answer["logprobs"], strict=True))
        loss = abs(expected["loss"] - answer["loss"])
        norm = abs(expected["grad_norm"] / answer["grad_norm"] - 1)
        print(f"{name}, {variant}: log-probs differ by {apart:.1e} at most, loss by {loss:.1e}, norm of the gradient "
              f"by {norm:.1e} of it")
        assert apart < 1e-4 and loss < 1e-4 and norm < 1e-3, "the sides do not agree"


def time_all(ours, folder, name, threads, repetitions):
    times, tokens = defaultdict(list), {}
    for command in COMMANDS[name]:
        sides = {side: start(ours, folder, name, side, threads) for side in SIDES[name]}
        for side in sides.values():
            side.ask(command)  # warm
        for _ in range(repetitions):
            for key, side in sides.items():
                answer = side.ask(command)
                times[command, key].append(answer["seconds"])
                tokens[command, key] = answer["tokens"]
        for side in sides.values():
            side.close()
    return times, tokens


def label(side):
    return side[0] + (", a process a thread" if side[1] > 1 else "")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--repetitions", type=int, default=9)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--only", choices=SIDES, help="one of the two shapes")
    options = parser.parse_args()
    ours = build()
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([ours, "make", folder], check=True)
        names = [options.only] if options.only else list(SIDES)
        for name in names:
            agree(ours, folder, name, options.threads)
        print(f"\nPyTorch {torch.__version__}, {options.threads} threads, medians of {options.repetitions}\n")
        print("| model | work | side | seconds | tokens/s | times ours |")
        print("|---|---|---|--:|--:|--:|")
        for name in names:
            times, tokens = time_all(ours, folder, name, options.threads, options.repetitions)
            for (command, side), found in times.items():
                median = statistics.median(found)
                rate = f"{tokens[command, side] / median:.0f}" if command == "generate" else ""
                ratio = median / statistics.median(times[command, (OURS, 1)])
                print(f"| {name} | {command} | {label(side)} | {median:.3f} | {rate} | {ratio:.2f} |")


main()
