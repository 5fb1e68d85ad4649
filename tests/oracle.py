"""The real models to compare with: transformers' classes on PyTorch's meta device (shapes, but no memory)."""

from dataclasses import asdict
from typing import Any, NamedTuple

import torch
import transformers

from bertcalc import BertConfig, Module, build

transformers.logging.set_verbosity_error()  # BertLMHeadModel remarks on every configuration without is_decoder


class Case(NamedTuple):
    """The arguments of ``build``, which are those of the real class."""

    config: BertConfig
    architecture: str = "BertModel"
    add_pooling_layer: bool = True

    @property
    def options(self) -> dict[str, bool]:
        """Keyword arguments beside the configuration: only BertModel has any."""
        return {} if self.add_pooling_layer else {"add_pooling_layer": False}

    def ours(self) -> Module:
        return build(self.config, self.architecture, **self.options)

    def real(self) -> Any:
        with torch.device("meta"):
            return getattr(transformers, self.architecture)(real_config(self.config), **self.options)


class Facts(NamedTuple):
    """All that bertcalc claims to know about a model."""

    tensors: list[tuple[str, tuple[int, ...]]]
    total: int
    text: str


def real_config(config: BertConfig) -> Any:
    fields = asdict(config)
    if fields.pop("position_embedding_type") != "absolute":
        raise ValueError("transformers 5 has absolute positions only")
    return transformers.BertConfig(**fields)


def facts(model: Any) -> Facts:
    """Of a real model or of ours, whose "parameters" are the shapes themselves."""
    tensors = [(name, tuple(getattr(tensor, "shape", tensor))) for name, tensor in model.named_parameters()]
    return Facts(tensors, model.num_parameters(), str(model))
