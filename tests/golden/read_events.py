"""Prints what TensorBoard's own reader finds below a results folder: tag, step and value, a line each.

    pip install tensorboard==2.21.0
    python tests/golden/read_events.py RESULTS/runs/4-4/seed-1
"""

import sys

from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

events = EventAccumulator(sys.argv[1])
events.Reload()
for tag in events.Tags()["scalars"]:
    for event in events.Scalars(tag):
        print(tag, event.step, event.value)
