"""Models of transformers on the meta device, which the tests of proofreading count."""

from functools import cache

import torch
import transformers

LARGE = {"hidden_size": 1024, "num_hidden_layers": 24, "intermediate_size": 4096, "num_attention_heads": 16}


@cache
def real(name: str = "BertModel", **sizes: int) -> torch.nn.Module:
    """Build a class of transformers with the default configuration, except for ``sizes``."""
    cls = getattr(transformers, name)
    with torch.device("meta"):
        return cls(cls.config_class(**sizes))


def count(module: torch.nn.Module) -> int:
    return sum(tensor.numel() for tensor in module.parameters())
