"""A Python program that rebuilds a model with transformers and checks our count."""

from dataclasses import fields

from bertcalc.config import Config
from bertcalc.subject import Subject

_PROGRAM = '''\
"""{architecture} with {total:,} parameters in {tensors:,} tensors, rebuilt and counted.

pip install torch "{requirement}"
"""

import torch
from transformers import {config}, {architecture}

config = {config}(
{arguments}
)
with torch.device("{device}"):  # {remark}
    model = {architecture}(config{options})

tensors = dict(model.named_parameters())  # one that is shared is there once
parameters = sum(tensor.numel() for tensor in tensors.values())
print(f"{architecture}: {{parameters:,}} parameters in {{len(tensors):,}} tensors")
assert parameters == {total:_}
assert len(tensors) == {tensors:_}
'''


def snippet(subject: Subject) -> str:
    """The source of the program, which fails if the real model has another number of parameters or tensors.

    It has all sizes, and other fields if they are not the default.
    """
    config, model = subject.config, subject.model()
    old = config.transformers_version == 4
    # In transformers 4 xielu reads a value of a tensor while it is built: a tensor without memory has none.
    on_cpu = old and config.hidden_act == "xielu"
    return _PROGRAM.format(
        architecture=subject.architecture,
        config=type(config).__name__,
        total=model.num_parameters(),
        tensors=sum(1 for _ in model.named_parameters()),
        requirement="transformers<5" if old else "transformers>=5",
        arguments="\n".join(f"    {name}={value!r}," for name, value in _arguments(config).items()),
        options=f", add_pooling_layer={subject.add_pooling_layer}" if subject.cls.pooler_is_optional else "",
        device="cpu" if on_cpu else "meta",
        remark="with weights: hidden_act xielu needs them" if on_cpu else 'shapes without weights; "cpu" makes weights',
    )


def _arguments(config: Config) -> dict[str, object]:
    return {
        field.name: value
        for field in fields(config)
        if (value := getattr(config, field.name)) != field.default or config.is_size(field.name)
    }
