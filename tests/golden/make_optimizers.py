"""Ten steps of PyTorch's Adam and SGD on gradients that vary, for the unit tests of the optimizer.

    pip install torch==2.15.0 && python tests/golden/make_optimizers.py

Writes optimizers.json beside itself: for each setting the gradients of every step and how far each
parameter has moved after it. A silent step has a gradient of zeros, as where no completion of a
training set has an advantage. All in double precision.
"""

import json
from pathlib import Path

import torch

STEPS, PARAMETERS = 10, 8
ADAM = {"optim": "adam", "learning_rate": 0.1, "adam_beta1": 0.9, "adam_beta2": 0.999, "adam_epsilon": 1e-8}
SGD = {"optim": "sgd", "learning_rate": 0.01, "sgd_momentum": 0.9}
SETTINGS = [
    ADAM,
    {**ADAM, "learning_rate": 0.05, "adam_beta1": 0.6, "adam_beta2": 0.95, "adam_epsilon": 1e-2},
    {**ADAM, "silent": [0, 3, 4, 8]},
    SGD,
    {**SGD, "sgd_momentum": 0.5, "silent": [2, 3, 9]},
]


def optimizer(setting: dict, parameter: torch.Tensor) -> torch.optim.Optimizer:
    if setting["optim"] == "sgd":
        return torch.optim.SGD([parameter], lr=setting["learning_rate"], momentum=setting["sgd_momentum"])
    betas = (setting["adam_beta1"], setting["adam_beta2"])
    return torch.optim.Adam([parameter], lr=setting["learning_rate"], betas=betas, eps=setting["adam_epsilon"])


def case(setting: dict, seed: int) -> dict:
    generator = torch.Generator().manual_seed(seed)
    # sizes from 1e-3 to 10, so that epsilon counts for some parameters
    sizes = torch.logspace(-3, 1, PARAMETERS, dtype=torch.float64)
    noise = torch.randn(STEPS, PARAMETERS, generator=generator, dtype=torch.float64)
    gradients = (sizes * (noise + 0.5)).float().double()
    gradients[setting.get("silent", [])] = 0.0
    parameter = torch.zeros(PARAMETERS, dtype=torch.float64, requires_grad=True)
    rule = optimizer(setting, parameter)
    moved = []
    for gradient in gradients:
        parameter.grad = gradient.clone()
        rule.step()
        moved.append(parameter.detach().tolist())
    return {**setting, "gradients": gradients.tolist(), "moved": moved}


if __name__ == "__main__":
    cases = [case(setting, seed) for seed, setting in enumerate(SETTINGS)]
    text = json.dumps({"torch": torch.__version__.split("+")[0], "cases": cases}, indent=1)
    Path(__file__).with_name("optimizers.json").write_text(text + "\n")
