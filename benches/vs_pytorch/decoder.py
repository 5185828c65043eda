"""A Qwen2 decoder in plain PyTorch, with the weights under Hugging Face's names."""
import json
import pathlib

import safetensors.torch
import torch
import torch.nn.functional as F
from torch import nn


class Layer(nn.Module):
    def __init__(self, c):
        super().__init__()
        hidden, self.dim = c["hidden_size"], c["hidden_size"] // c["num_attention_heads"]
        self.heads, self.kv_heads = c["num_attention_heads"], c["num_key_value_heads"]
        self.input_layernorm = nn.RMSNorm(hidden, c["rms_norm_eps"])
        self.post_attention_layernorm = nn.RMSNorm(hidden, c["rms_norm_eps"])
        self.self_attn = nn.ModuleDict({
            "q_proj": nn.Linear(hidden, self.heads * self.dim),
            "k_proj": nn.Linear(hidden, self.kv_heads * self.dim),
            "v_proj": nn.Linear(hidden, self.kv_heads * self.dim),
            "o_proj": nn.Linear(self.heads * self.dim, hidden, bias=False),
        })
        self.mlp = nn.ModuleDict({
            "gate_proj": nn.Linear(hidden, c["intermediate_size"], bias=False),
            "up_proj": nn.Linear(hidden, c["intermediate_size"], bias=False),
            "down_proj": nn.Linear(c["intermediate_size"], hidden, bias=False),
        })

    def project(self, x, cos, sin):
        """Queries, keys and values, `[rows, heads, seq, dim]`, the first two turned by their positions."""
        x, attention = self.input_layernorm(x), self.self_attn
        split = lambda name, heads: attention[name](x).view(*x.shape[:2], heads, self.dim).transpose(1, 2)
        q, k, v = split("q_proj", self.heads), split("k_proj", self.kv_heads), split("v_proj", self.kv_heads)
        return turn(q, cos, sin), turn(k, cos, sin), v

    def finish(self, x, mixed):
        """The residual stream, given what the heads found, `[rows, heads, seq, dim]`."""
        x = x + self.self_attn["o_proj"](mixed.transpose(1, 2).flatten(2))
        y, mlp = self.post_attention_layernorm(x), self.mlp
        return x + mlp["down_proj"](F.silu(mlp["gate_proj"](y)) * mlp["up_proj"](y))


def turn(x, cos, sin):
    a, b = x.chunk(2, dim=-1)
    return x * cos + torch.cat((-b, a), dim=-1) * sin


class Decoder(nn.Module):
    def __init__(self, folder):
        super().__init__()
        c = json.loads((pathlib.Path(folder) / "config.json").read_text())
        self.embed_tokens = nn.Embedding(c["vocab_size"], c["hidden_size"])
        self.layers = nn.ModuleList(Layer(c) for _ in range(c["num_hidden_layers"]))
        self.norm = nn.RMSNorm(c["hidden_size"], c["rms_norm_eps"])
        dim = self.layers[0].dim
        self.register_buffer("frequencies", c["rope_theta"] ** (-torch.arange(0, dim, 2) / dim), persistent=False)
        weights = safetensors.torch.load_file(pathlib.Path(folder) / "model.safetensors")
        self.load_state_dict({name.removeprefix("model."): tensor for name, tensor in weights.items()})

    def angles(self, positions):
        """Cosines and sines of positions `[rows, seq]`, for every head."""
        angles = (positions[..., None] * self.frequencies).repeat(1, 1, 2)[:, None]
        kind = self.embed_tokens.weight.dtype
        return angles.cos().to(kind), angles.sin().to(kind)

    def logits(self, x):
        return F.linear(self.norm(x), self.embed_tokens.weight)
