#!/usr/bin/env python3
"""Selects tests/golden/scores.jsonl from the candidates that reasoning-gym 0.1.25 scored.

    python tests/golden/make_scores.py FIXTURES.jsonl > tests/golden/scores.jsonl

FIXTURES.jsonl has a problem a line: {task, config, answer, metadata, scored: [{candidate, score}]}. Of every
configuration the problems at even distances are taken, without long candidates; null stands for no answer.
"""
import json
import sys
from collections import defaultdict

PROBLEMS_A_CONFIGURATION = 10
LONGEST_CANDIDATE = 300

groups = defaultdict(list)
for line in open(sys.argv[1], encoding="utf-8"):
    problem = json.loads(line)
    groups[problem["task"], problem["config_name"]].append(problem)

for problems in groups.values():
    step = max(1, len(problems) // PROBLEMS_A_CONFIGURATION)
    for problem in problems[::step][:PROBLEMS_A_CONFIGURATION]:
        scored = [
            [s["candidate"], s["score"]]
            for s in problem["scored"]
            if len(s["candidate"] or "") <= LONGEST_CANDIDATE
        ]
        row = {key: problem[key] for key in ("task", "config", "answer", "metadata")}
        print(json.dumps({**row, "scored": scored}, ensure_ascii=False))
