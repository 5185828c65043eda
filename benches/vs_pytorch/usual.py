"""The usual way, as TRL and GenRL go it: a row a completion, its prompt in front of it, padded on the left; all
rows are generated until the last has ended, and all are trained on."""
import torch
import torch.nn.functional as F


def padded(rows, left):
    """Rows filled up to one length, and where their tokens are."""
    longest = max(map(len, rows))
    tokens, mask = torch.zeros(len(rows), longest, dtype=torch.long), torch.zeros(len(rows), longest, dtype=torch.bool)
    for i, row in enumerate(rows):
        place = slice(longest - len(row), longest) if left else slice(0, len(row))
        tokens[i, place], mask[i, place] = torch.tensor(row), True
    return tokens, mask


def attend(layer, x, angles, mask, cache=None):
    """One layer; `cache` grows by the keys and values of `x`."""
    q, k, v = layer.project(x, *angles)
    if cache is not None:
        k, v = (torch.cat((old, new), dim=2) for old, new in zip(cache, (k, v))) if cache else (k, v)
        cache[:] = k, v
    return layer.finish(x, F.scaled_dot_product_attention(q, k, v, attn_mask=mask, enable_gqa=True))


def causal(mask):
    """What each token sees: `[rows, 1, seq, seq]`. Padding sees itself, so that no softmax is empty."""
    seq = mask.shape[1]
    seen = mask[:, None, None, :] & torch.ones(seq, seq, dtype=torch.bool).tril()
    return seen | torch.eye(seq, dtype=torch.bool)


@torch.no_grad()
def generate(model, prompts, group, length, eos):
    """Completions as lists of tokens."""
    tokens, mask = padded([prompt for prompt in prompts for _ in range(group)], left=True)
    positions = (mask.cumsum(1) - 1).clamp(min=0)
    caches, seen, found = [[] for _ in model.layers], causal(mask), []
    x, angles = model.embed_tokens(tokens), model.angles(positions)
    ended = torch.zeros(len(tokens), dtype=torch.bool)
    for _ in range(length):
        for layer, cache in zip(model.layers, caches):
            x = attend(layer, x, angles, seen, cache)
        probabilities = F.softmax(model.logits(x[:, -1]).float(), dim=-1)
        token = torch.multinomial(probabilities, 1)
        found.append(token)
        ended |= token[:, 0] == eos
        if ended.all():
            break
        mask = torch.cat((mask, torch.ones(len(mask), 1, dtype=torch.bool)), dim=1)
        seen, positions = mask[:, None, None, :], positions[:, -1:] + 1
        x, angles = model.embed_tokens(token), model.angles(positions)
    rows = torch.cat(found, dim=1).tolist()
    return [row[:row.index(eos) + 1] if eos in row else row for row in rows]


def logprobs(model, prompts, completions):
    """Of the completion tokens of every row, and where they are."""
    head, head_mask = padded(prompts, left=True)
    tail, tail_mask = padded(completions, left=False)
    tokens, mask = torch.cat((head, tail), dim=1), torch.cat((head_mask, tail_mask), dim=1)
    x, angles = model.embed_tokens(tokens), model.angles((mask.cumsum(1) - 1).clamp(min=0))
    seen = causal(mask)
    for layer in model.layers:
        x = attend(layer, x, angles, seen)
    logits = model.logits(x[:, -tail.shape[1] - 1:-1]).float()
    chosen = logits.gather(2, tail[..., None])[..., 0]
    return chosen - torch.stack([row.logsumexp(-1) for row in logits]), tail_mask


def loss(model, prompts, completions, advantages):
    logp, mask = logprobs(model, prompts, completions)
    ratio = (logp - logp.detach()).exp()
    advantages = torch.tensor(advantages)[:, None]
    terms = torch.min(ratio * advantages, ratio.clamp(0.8, 1.28) * advantages)
    return -(terms * mask).sum() / mask.sum()
