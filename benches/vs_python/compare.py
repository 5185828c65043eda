"""Compares the speed of our tasks with that of reasoning-gym 0.1.25 (see requirements.txt), in one run.

    pip install -r benches/vs_python/requirements.txt
    python benches/vs_python/compare.py

Both sides are timed in turn, several times; the table has the median of each, in microseconds.
"""
import importlib.metadata
import pathlib
import platform
import statistics
import subprocess
import sys
from collections import defaultdict

REPETITIONS = 9
ROOT = pathlib.Path(__file__).parents[2]
ROWS = str(ROOT / "tests/golden/scores.jsonl")
OURS = ["cargo", "bench", "--quiet", "--bench", "tasks", "--", "--once", ROWS]
THEIRS = [sys.executable, str(ROOT / "benches/vs_python/tasks.py"), ROWS]


def measure(command, found):
    """Runs one side once and adds what it measured."""
    lines = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines()
    for name, *times in map(str.split, lines):
        for what, time in zip(("generation", "scoring"), times):
            found[name, what].append(float(time) / 1000)


def cells(ours, theirs):
    a, b = statistics.median(ours), statistics.median(theirs)
    return f"{a:.3g} | {b:.3g} | {b / a:.1f}"


def main():
    ours, theirs = defaultdict(list), defaultdict(list)
    for _ in range(REPETITIONS):
        measure(OURS, ours)
        measure(THEIRS, theirs)
    version = importlib.metadata.version("reasoning-gym")
    print(f"reasoning-gym {version} on Python {platform.python_version()}; µs, medians of {REPETITIONS}\n")
    print("| task | generation | Python | ratio | scoring | Python | ratio |")
    print("|---|---|---|---|---|---|---|")
    for name in dict.fromkeys(name for name, _ in ours):
        pairs = (cells(ours[name, what], theirs[name, what]) for what in ("generation", "scoring"))
        print(f"| `{name}` | {' | '.join(pairs)} |")


main()
