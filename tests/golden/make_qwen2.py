"""Writes tests/golden/qwen2-{tied,untied}: a small random Qwen2 of the reference implementation, saved by it,
and the logits that it computes for two rows of tokens. The untied one has heads of a width of their own.

    pip install torch==2.15.0 transformers==5.24.0
    python tests/golden/make_qwen2.py
"""

import json
import pathlib

import torch
from transformers import Qwen2Config, Qwen2ForCausalLM

ROWS = [[1, 5, 9, 2, 30, 17, 4], [7, 7, 31]]

for tied in (True, False):
    torch.manual_seed(11)
    config = Qwen2Config(
        vocab_size=32, hidden_size=16, intermediate_size=24, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=2, max_position_embeddings=64, tie_word_embeddings=tied, initializer_range=0.3,
        eos_token_id=3, bos_token_id=None, rope_parameters={"rope_type": "default", "rope_theta": 50000.0},
        **({} if tied else {"head_dim": 6}),
    )
    model = Qwen2ForCausalLM(config).eval()
    with torch.no_grad():  # fresh biases are zero and norms one: make them count
        for name, parameter in model.named_parameters():
            if name.endswith("bias") or "norm" in name:
                parameter.add_(0.2 * torch.randn_like(parameter))
        logits = [model(torch.tensor([row])).logits[0].tolist() for row in ROWS]
    folder = pathlib.Path(__file__).parent / ("qwen2-tied" if tied else "qwen2-untied")
    model.save_pretrained(folder)
    (folder / "logits.json").write_text(json.dumps({"rows": ROWS, "logits": logits}))
