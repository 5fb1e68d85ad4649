"""The class that transformers builds, on the meta device: the judge of what is discovered."""

from typing import Any

import torch
import transformers
from transformers.initialization import no_init_weights

transformers.logging.set_verbosity(transformers.logging.CRITICAL)


def tensors(model_type: str, cls: str, **fields: Any) -> dict[str, int]:
    """The elements of each of its tensors."""
    with torch.device("meta"), no_init_weights():
        model = getattr(transformers, cls)(transformers.CONFIG_MAPPING[model_type](**fields))
    model.tie_weights()
    return {name: tensor.numel() for name, tensor in model.named_parameters()}


def real(model_type: str, cls: str, **fields: Any) -> int:
    """The number of its parameters."""
    return sum(tensors(model_type, cls, **fields).values())
