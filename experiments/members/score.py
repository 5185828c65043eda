#!/usr/bin/env python3
"""A reward: what stands in the last answer tags must be the ground truth, and the fewer words the better."""
import json
import re
import sys

for line in sys.stdin:
    request = json.loads(line)
    rewards = []
    for text in request["completions"]:
        answers = re.findall(r"<answer>(.*?)</answer>", text, re.S)
        right = bool(answers) and answers[-1].strip() == request["answer"]
        rewards.append(right - 0.01 * len(text.split()))
    print(json.dumps({"id": request["id"], "rewards": rewards}), flush=True)
