"""Writes tests/golden/models/*: small random checkpoints of the reference implementation, saved by it, and what
it computes with them in f32: the logits for two rows of tokens, and 32 greedy tokens after each.

    pip install torch==2.15.0 transformers==5.24.0
    python tests/golden/make_models.py
"""

import json
import pathlib
import shutil

import torch
from safetensors.torch import load_file, save_file
from transformers import (
    AutoModelForCausalLM, LlamaConfig, LlamaForCausalLM, Qwen2Config, Qwen2ForCausalLM, Qwen3Config, Qwen3ForCausalLM,
)

ROWS = [[1, 5, 9, 2, 30, 17, 4], [7, 7, 31]]
FAMILIES = {
    "qwen2": (Qwen2Config, Qwen2ForCausalLM),
    "qwen3": (Qwen3Config, Qwen3ForCausalLM),
    "llama": (LlamaConfig, LlamaForCausalLM),
}
LLAMA3 = {
    "rope_type": "llama3", "rope_theta": 500.0, "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
    "original_max_position_embeddings": 16,
}

# family, what differs from the shape below, type of the file, largest shard
MODELS = {
    "qwen2-tied": ("qwen2", {}, torch.float32, "5GB"),
    "qwen2-untied-head-dim": ("qwen2", {"tie_word_embeddings": False, "head_dim": 6}, torch.float32, "5GB"),
    "qwen2-sharded": ("qwen2", {"num_hidden_layers": 3, "tie_word_embeddings": False}, torch.float32, "8KB"),
    "qwen2-odd-heads-f16": ("qwen2", {"hidden_size": 20, "num_attention_heads": 5, "num_key_value_heads": 5}, torch.float16, "5GB"),
    "qwen3-tied": ("qwen3", {"head_dim": 8}, torch.float32, "5GB"),
    "qwen3-untied-odd-heads": (
        "qwen3",
        {"tie_word_embeddings": False, "head_dim": 10, "num_attention_heads": 9, "num_key_value_heads": 3},
        torch.float32,
        "5GB",
    ),
    "qwen3-bf16-sharded": ("qwen3", {"head_dim": 8, "num_key_value_heads": 1}, torch.bfloat16, "6KB"),
    "qwen3-biases": ("qwen3", {"head_dim": 8, "attention_bias": True}, torch.float32, "5GB"),
    "qwen2-linear-rope": ("qwen2", {"rope_parameters": {"rope_type": "linear", "factor": 4.0, "rope_theta": 100.0}}, torch.float32, "5GB"),
    "llama-tied": ("llama", {}, torch.float32, "5GB"),
    "llama-odd-heads-llama3-bf16": (
        "llama",
        {"tie_word_embeddings": False, "hidden_size": 36, "num_attention_heads": 9, "num_key_value_heads": 3, "rope_parameters": LLAMA3},
        torch.bfloat16,
        "20KB",
    ),
    "llama-biases-head-dim": (
        "llama",
        {"attention_bias": True, "mlp_bias": True, "head_dim": 6, "num_key_value_heads": 4, "num_hidden_layers": 3, "rope_parameters": LLAMA3},
        torch.float32,
        "5GB",
    ),
    "llama-f64-no-prefix": ("llama", {"num_key_value_heads": 1}, torch.float64, "5GB"),
    "qwen2-tied-own-head": ("qwen2", {}, torch.float32, "5GB"),
    "qwen3-tied-only-head": ("qwen3", {"head_dim": 8}, torch.float32, "5GB"),
}


def rename(weights):
    return {name.removeprefix("model."): tensor for name, tensor in weights.items()}


def own_head(weights):
    return {**weights, "lm_head.weight": weights["model.embed_tokens.weight"].roll(1, 0).contiguous()}


def only_head(weights):
    weights["lm_head.weight"] = weights.pop("model.embed_tokens.weight")
    return weights


# what is done to the file of weights after it was saved
CHANGES = {"llama-f64-no-prefix": rename, "qwen2-tied-own-head": own_head, "qwen3-tied-only-head": only_head}

SHAPE = dict(
    vocab_size=32, hidden_size=16, intermediate_size=24, num_hidden_layers=2, num_attention_heads=4,
    num_key_value_heads=2, max_position_embeddings=64, tie_word_embeddings=True, initializer_range=0.3,
    eos_token_id=3, bos_token_id=None, rope_parameters={"rope_type": "default", "rope_theta": 50000.0},
)

for seed, (name, (family, changes, dtype, shard)) in enumerate(MODELS.items()):
    torch.manual_seed(seed)
    make_config, make_model = FAMILIES[family]
    model = make_model(make_config(**{**SHAPE, **changes})).eval()
    with torch.no_grad():  # fresh biases are zero and norms one: make them count
        for parameter_name, parameter in model.named_parameters():
            if parameter_name.endswith("bias") or "norm" in parameter_name:
                parameter.add_(0.2 * torch.randn_like(parameter))
    folder = pathlib.Path(__file__).parent / "models" / name
    shutil.rmtree(folder, ignore_errors=True)
    model.to(dtype).save_pretrained(folder, max_shard_size=shard)
    if name in CHANGES:
        file = folder / "model.safetensors"
        save_file(CHANGES[name](load_file(file)), file, metadata={"format": "pt"})
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
    logits, greedy = [], []
    with torch.no_grad():
        for row in ROWS:
            logits.append(model(torch.tensor([row])).logits[0].tolist())
            longer = list(row)
            for _ in range(32):
                longer.append(model(torch.tensor([longer])).logits[0, -1].argmax().item())
            greedy.append(longer[len(row) :])
    (folder / "computed.json").write_text(json.dumps({"rows": ROWS, "logits": logits, "greedy": greedy}))
