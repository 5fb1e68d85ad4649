"""A model as a Python program that rebuilds it with transformers and checks bertcalc's count, and as a sentence."""

from bertcalc.model.model import Model
from bertcalc.text import written
from bertcalc.text.arguments import checked
from bertcalc.transformers4.version import version_of

_START = """\
import torch
from transformers import {config}, {architecture}

config = {config}(
{arguments}
)
with torch.device("{device}"):  # {remark}
    model = {architecture}(config{options})
"""
_PROGRAM = '''\
"""{architecture} with {total:,} parameters in {tensors:,} tensors, rebuilt and counted.

pip install torch "{requirement}"
"""

{start}
tensors = dict(model.named_parameters())  # shared tensors are listed once
parameters = sum(tensor.numel() for tensor in tensors.values())
print(f"{architecture}: {{parameters:,}} parameters in {{len(tensors):,}} tensors")
assert parameters == {total:_}
assert len(tensors) == {tensors:_}
'''


@checked
def snippet(model: Model) -> str:
    """Write the program, which fails if the real model has a different number of parameters or tensors.

    The program sets all sizes, and any other field that differs from its default.
    """
    return _PROGRAM.format(
        architecture=model.architecture,
        total=model.num_parameters(),
        tensors=sum(1 for _ in model.named_parameters()),
        requirement=version_of(model.config).requirement,
        start=built(model),
    )


def built(model: Model, *, with_weights: bool = False) -> str:
    """The part of the program that builds the model, without its changes.

    The model has weights only if ``with_weights`` is True or its activation needs them.
    """
    config = model.config
    remark = 'shapes without weights; "cpu" makes weights'
    if with_weights:
        remark = "with weights, which are quantized"
    elif config.hidden_act in version_of(config).need_weights:
        remark, with_weights = f"with weights: hidden_act {config.hidden_act} needs them", True
    return _START.format(
        architecture=model.architecture,
        config=type(config).__name__,
        arguments="\n".join(f"    {name}={value!r}," for name, value in config.telling().items()),
        options=f", add_pooling_layer={model.add_pooling_layer}" if model.cls.pooler_is_optional else "",
        device="cpu" if with_weights else "meta",
        remark=remark,
    )


def fields_sentence(model: Model) -> str:
    """A sentence with the sizes and all other fields that differ from Hugging Face's defaults."""
    values = model.config.telling() | ({} if model.add_pooling_layer else {"add_pooling_layer": False})
    return ", ".join(f"{name} {written(value)}" for name, value in values.items()) + "."
