"""Models of transformers on the meta device, which the tests of proofreading count."""

from functools import cache
from typing import Any

import torch
import transformers

LARGE: Any = {"hidden_size": 1024, "num_hidden_layers": 24, "intermediate_size": 4096, "num_attention_heads": 16}
ROBERTA = {"vocab_size": 50265, "max_position_embeddings": 514, "type_vocab_size": 1}


@cache
def real(name: str = "BertModel", **sizes: object) -> torch.nn.Module:
    """Build a class of transformers with the default configuration, except for ``sizes``."""
    cls = getattr(transformers, name)
    with torch.device("meta"):
        return cls(cls.config_class(**sizes))


def count(*modules: torch.nn.Module) -> int:
    return sum(tensor.numel() for module in modules for tensor in module.parameters())
