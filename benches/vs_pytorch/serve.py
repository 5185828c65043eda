"""PyTorch's side: `serve.py FOLDER NAME VARIANT THREADS WORKERS` reads a command a line and answers with a line of
JSON, as `benches/side_by_side.rs` does. VARIANT is `usual` or `saving`, with `-bf16` for weights in bf16. With two
workers, each a process with one thread, the agents are shared out."""
import json
import pathlib
import sys
import time

import torch
import torch.multiprocessing

import saving
import usual
from decoder import Decoder

GROUP = 8
FOLDER, NAME, VARIANT = pathlib.Path(sys.argv[1]), sys.argv[2], sys.argv[3]
SAVING = VARIANT.startswith("saving")
WORK = json.loads((FOLDER / f"{NAME}.json").read_text())


class Agent:
    def __init__(self, index):
        self.index = index
        self.model = Decoder(FOLDER / NAME)
        if VARIANT.endswith("bf16"):
            self.model.to(torch.bfloat16)
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=WORK["learning_rate"], eps=1e-8, fused=True)

    def generate(self, length, eos):
        way = saving if SAVING else usual
        rows = way.generate(self.model, WORK["prompts"][self.index], GROUP, length, eos)
        return sum(map(len, rows))

    def rows(self, all_signal):
        prompts, completions, advantages = [], [], []
        groups = zip(WORK["prompts"][self.index], WORK["completions"][self.index], WORK["signal"][self.index])
        for prompt, group, signal in groups:
            size = 1.0 if all_signal or signal else 0.0
            for i, completion in enumerate(group):
                prompts.append(prompt)
                completions.append(completion)
                advantages.append(size if i % 2 == 0 else -size)
        return prompts, completions, advantages

    def update(self, all_signal):
        loss = saving.loss(self.model, *self.rows(all_signal), GROUP) if SAVING else \
            usual.loss(self.model, *self.rows(all_signal))
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimizer.step()
        return loss.item(), norm.item()

    @torch.no_grad()
    def logprobs(self):
        prompts, completions, _ = self.rows(True)
        if SAVING:
            return saving.logprobs(self.model, prompts, completions, GROUP).tolist()
        found, mask = usual.logprobs(self.model, prompts, completions)
        return found[mask].tolist()


def work(agents, command):
    if command == "generate":
        return sum(agent.generate(WORK["length"], -1) for agent in agents)
    if command == "update":
        return sum(0 for agent in agents if agent.update(True))
    if command == "learn":
        return sum(0 for agent in agents if agent.update(False))
    return sum(agent.generate(WORK["longest"], WORK["eos"]) for agent in agents)


def worker(pipe, indices):
    torch.set_num_threads(1)
    torch.manual_seed(indices[0])
    agents = [Agent(index) for index in indices]
    pipe.send("ready")
    while command := pipe.recv():
        pipe.send(work(agents, command))


def main():
    threads, workers = int(sys.argv[4]), int(sys.argv[5])
    agents, pipes = range(len(WORK["prompts"])), []
    if workers == 1:
        torch.set_num_threads(threads)
        own = [Agent(index) for index in agents]
        do = lambda command: work(own, command)
    else:
        context = torch.multiprocessing.get_context("spawn")
        for i in range(workers):
            pipe, end = context.Pipe()
            context.Process(target=worker, args=(end, list(agents)[i::workers]), daemon=True).start()
            pipe.recv()
            pipes.append(pipe)

        def do(command):
            for pipe in pipes:
                pipe.send(command)
            return sum(pipe.recv() for pipe in pipes)

    for line in sys.stdin:
        command = line.strip()
        if command == "agree":
            found = own[0].logprobs()
            loss, norm = own[0].update(True)
            print(json.dumps({"logprobs": found, "loss": loss, "grad_norm": norm}), flush=True)
            continue
        start = time.perf_counter()
        if command == "round":
            # all have generated before any learns, as sharing asks
            tokens = do("answer")
            do("learn")
        else:
            tokens = do(command)
        print(json.dumps({"seconds": time.perf_counter() - start, "tokens": tokens}), flush=True)
    for pipe in pipes:
        pipe.send(None)


if __name__ == "__main__":
    main()
