"""The same with our savings: a prompt is computed once for its group, rows that have ended leave the batch, and
nothing is computed for rollouts without a signal."""
import torch
import torch.nn.functional as F

from usual import attend, causal, padded


def over_prompts(layer, x, angles, group, prompt, seen_prompt, own, seen_own):
    """One layer of rows that stand in blocks behind one prompt each: two parts, one softmax."""
    q, k, v = layer.project(x, *angles)
    if own is not None:
        k, v = (torch.cat((old, new), dim=2) for old, new in zip(own, (k, v))) if own else (k, v)
        own[:] = k, v
    rows, heads, seq, dim = q.shape
    kv, share = layer.kv_heads, heads // layer.kv_heads
    q = q.reshape(rows, kv, share * seq, dim) * dim ** -0.5
    scores = q @ k.transpose(2, 3)
    if seen_own is not None:
        scores = scores.masked_fill(~seen_own.repeat(share, 1), float("-inf"))
    if prompt is not None:
        blocks = rows // group
        flat = q.view(blocks, group, kv, share * seq, dim).transpose(1, 2).reshape(blocks, kv, -1, dim)
        before = (flat @ prompt[0].transpose(2, 3)).masked_fill(~seen_prompt, float("-inf"))
        width = before.shape[-1]
        before = before.view(blocks, kv, group, share * seq, width).transpose(1, 2).reshape(rows, kv, -1, width)
        weights = torch.cat((before, scores), dim=-1).softmax(-1)
        before, after = weights.split((width, scores.shape[-1]), dim=-1)
        before = before.reshape(blocks, group, kv, share * seq, width).transpose(1, 2).reshape(blocks, kv, -1, width)
        mixed = (before @ prompt[1]).view(blocks, kv, group, share * seq, dim).transpose(1, 2)
        mixed = mixed.reshape(rows, kv, -1, dim) + after @ v
    else:
        mixed = scores.softmax(-1) @ v
    return layer.finish(x, mixed.reshape(rows, heads, seq, dim))


def prefill(model, prompts):
    """Keys and values of prompts, a block each, in every layer; and where their tokens are."""
    tokens, mask = padded(prompts, left=False)
    x, angles = model.embed_tokens(tokens), model.angles(torch.arange(tokens.shape[1])[None])
    found = []
    for i, layer in enumerate(model.layers):
        if i + 1 == len(model.layers):
            found.append(layer.project(x, *angles)[1:])
        else:
            cache = []
            x = attend(layer, x, angles, causal(mask), cache)
            found.append(tuple(cache))
    return found, mask[:, None, None, :]


@torch.no_grad()
def generate(model, prompts, group, length, eos):
    """Completions as lists of tokens."""
    found, seen = prefill(model, [prompt[:-1] for prompt in prompts])
    own = [[] for _ in model.layers]
    rows = [[] for _ in range(len(prompts) * group)]
    places = list(range(len(rows)))  # the row at each place of the batch
    token = torch.tensor([prompts[row // group][-1] for row in places])[:, None]
    position = torch.tensor([len(prompts[row // group]) - 1 for row in places])[:, None]
    alive = [True] * len(rows)
    for step in range(length):
        x, angles = model.embed_tokens(token), model.angles(position + step)
        for layer, prompt, cache in zip(model.layers, found, own):
            x = over_prompts(layer, x, angles, group, prompt, seen, cache, None)
        probabilities = F.softmax(model.logits(x[:, -1]).float(), dim=-1)
        token = torch.multinomial(probabilities, 1)
        for row, t in zip(places, token[:, 0].tolist()):
            if alive[row]:
                rows[row].append(t)
                alive[row] = t != eos
        blocks = [places[i:i + group] for i in range(0, len(places), group)]
        living = [sum(alive[row] for row in block) for block in blocks]
        if not any(living):
            break
        kept = [b for b, n in enumerate(living) if n]
        if len(kept) * max(living) <= 0.8 * len(places):
            order = [b * group + i for b in kept
                     for i in sorted(range(group), key=lambda i: not alive[blocks[b][i]])[:max(living)]]
            found = [tuple(part[kept] for part in pair) for pair in found]
            own = [[part[order] for part in pair] for pair in own]
            places, seen, token, position = [places[i] for i in order], seen[kept], token[order], position[order]
            group = max(living)
    return rows


def logprobs(model, prompts, completions, group):
    """Of the completion tokens of rows in blocks of `group`, packed: no padding reaches the head."""
    found, seen = prefill(model, [prompt[:-1] for prompt in prompts[::group]])
    inputs = [prompt[-1:] + completion[:-1] for prompt, completion in zip(prompts, completions)]
    tokens, mask = padded(inputs, left=False)
    starts = torch.tensor([len(prompt) - 1 for prompt in prompts])[:, None]
    x, angles = model.embed_tokens(tokens), model.angles(starts + torch.arange(tokens.shape[1]))
    own = torch.ones(tokens.shape[1], tokens.shape[1], dtype=torch.bool).tril()
    for layer, prompt in zip(model.layers, found):
        x = over_prompts(layer, x, angles, group, prompt, seen, None, own)
    logits = model.logits(x[mask]).float()
    targets = torch.tensor(sum(completions, []))
    return logits.gather(1, targets[:, None])[:, 0] - logits.logsumexp(-1)


def loss(model, prompts, completions, advantages, group):
    tokens = sum(map(len, completions))
    kept = [i for i, advantage in enumerate(advantages) if advantage != 0]
    prompts, completions = [prompts[i] for i in kept], [completions[i] for i in kept]
    logp = logprobs(model, prompts, completions, group)
    lengths = torch.tensor([len(completion) for completion in completions])
    advantages = torch.tensor([advantages[i] for i in kept]).repeat_interleave(lengths)
    ratio = (logp - logp.detach()).exp()
    return -torch.min(ratio * advantages, ratio.clamp(0.8, 1.28) * advantages).sum() / tokens
