#!/usr/bin/env python3
"""A member of the swarm: answers sums and differences of small numbers, and guesses at everything else."""
import json
import random
import re
import sys

for line in sys.stdin:
    request = json.loads(line)
    rng = random.Random(request["seed"])
    sum_of = re.search(r"(-?\d+(?: [+-] -?\d+)+)", request["question"])
    completions = []
    for _ in range(request["completions"]):
        right = sum_of and rng.random() < 0.5
        guess = eval(sum_of.group(1)) if right else rng.randrange(10)  # digits, spaces and signs alone
        completions.append(f"<answer>{guess}</answer>")
    print(json.dumps({"id": request["id"], "completions": completions}), flush=True)
