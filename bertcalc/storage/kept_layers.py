"""The layers that a library does not quantize by default."""

import re
from collections.abc import Collection, Iterable

from bertcalc.model.family import output_embeddings
from bertcalc.model.modules import Conv1D, Linear, Module, join


def linear_layers(model: Module, *, conv1d: bool = False) -> list[tuple[str, Module]]:
    """All torch.nn.Linear modules as (path, module) pairs. With ``conv1d``, GPT-2's Conv1D modules are included."""
    kinds = (Linear, Conv1D) if conv1d else Linear
    return [(path, module) for path, module, _copies in model.modules(folded=False) if isinstance(module, kinds)]


def not_converted(model: Module, skip: Collection[str] | None = None) -> set[str]:
    """The patterns of modules that transformers does not quantize: ``skip``, or the default if it is None.

    The default follows get_keys_to_not_convert: both names of each tied tensor, the last parameter, and the output
    embeddings, without ".weight". A last layer with a bias is quantized, because the last parameter is its bias
    (quantizers/base.py, transformers 5.23).
    """
    if skip is not None:
        return set(skip)
    names = [name for name, _shape in model.named_parameters()]
    tied = {
        name
        for path, module, _copies in model.modules(folded=False)
        for last, owner in module.tied.items()
        for name in (join(path, last), owner)
    }
    layers = linear_layers(model)
    decoders = output_embeddings(module for _path, module in layers)
    outputs = {path for path, module in layers if module in decoders}
    return {name.removesuffix(".weight") for name in tied | {*names[-1:]} | outputs}


def converted(layers: Iterable[tuple[str, Module]], patterns: Collection[str]) -> list[tuple[str, Module]]:
    """The layers that no pattern excludes, by the rule of should_convert_module (quantizers/quantizers_utils.py)."""
    boundary = r"(?:(?<=\.)|(?=\.|$))"
    starts = [re.compile(rf"(?:{pattern}){boundary}") for pattern in patterns]
    endings = tuple(patterns)
    return [
        (path, module)
        for path, module in layers
        if not path.endswith(endings) and not any(start.match(path) for start in starts)
    ]


def matrix(module: Module) -> tuple[int, int]:
    """The rows and columns of a layer's weight in torch.nn.Linear's layout: (out_features, in_features)."""
    assert isinstance(module, Linear | Conv1D)
    return module.out_features, module.in_features
