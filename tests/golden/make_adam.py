"""Ten steps of PyTorch's Adam on gradients that vary, for the unit tests of the optimizer.

    pip install torch==2.15.0 && python tests/golden/make_adam.py

Writes adam.json beside itself: for each setting the gradients of every step and how far each
parameter has moved after it. All in double precision.
"""

import json
from pathlib import Path

import torch

STEPS, PARAMETERS = 10, 8
SETTINGS = [
    {"learning_rate": 0.1, "adam_beta1": 0.9, "adam_beta2": 0.999, "adam_epsilon": 1e-8},
    {"learning_rate": 0.05, "adam_beta1": 0.6, "adam_beta2": 0.95, "adam_epsilon": 1e-2},
]


def case(setting: dict, seed: int) -> dict:
    generator = torch.Generator().manual_seed(seed)
    # sizes from 1e-3 to 10, so that epsilon counts for some parameters
    sizes = torch.logspace(-3, 1, PARAMETERS, dtype=torch.float64)
    noise = torch.randn(STEPS, PARAMETERS, generator=generator, dtype=torch.float64)
    gradients = (sizes * (noise + 0.5)).float().double()
    parameter = torch.zeros(PARAMETERS, dtype=torch.float64, requires_grad=True)
    betas = (setting["adam_beta1"], setting["adam_beta2"])
    adam = torch.optim.Adam([parameter], lr=setting["learning_rate"], betas=betas, eps=setting["adam_epsilon"])
    moved = []
    for gradient in gradients:
        parameter.grad = gradient.clone()
        adam.step()
        moved.append(parameter.detach().tolist())
    return {**setting, "gradients": gradients.tolist(), "moved": moved}


if __name__ == "__main__":
    cases = [case(setting, seed) for seed, setting in enumerate(SETTINGS)]
    text = json.dumps({"torch": torch.__version__.split("+")[0], "cases": cases}, indent=1)
    Path(__file__).with_name("adam.json").write_text(text + "\n")
