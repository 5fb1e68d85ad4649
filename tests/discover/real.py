"""The classes that transformers builds on the meta device, as the reference for discovered formulas."""

import re
from copy import deepcopy
from typing import Any

import torch
import transformers
from transformers.initialization import no_init_weights

transformers.logging.set_verbosity(transformers.logging.CRITICAL)


def tensors(model_type: str, cls: str, **fields: Any) -> dict[str, int]:
    """The number of elements of each tensor, keyed by name."""
    with torch.device("meta"), no_init_weights():
        model = getattr(transformers, cls)(transformers.CONFIG_MAPPING[model_type](**fields))
    model.tie_weights()
    return {name: tensor.numel() for name, tensor in model.named_parameters()}


def real(model_type: str, cls: str, **fields: Any) -> int:
    """The number of parameters of the class."""
    return sum(tensors(model_type, cls, **fields).values())


def counted(model_type: str, cls: str, given: dict[str, Any], fields: dict[str, int]) -> int:
    """Return the parameter count of a class with the given configuration and these fields; all others have defaults.

    ``fields`` maps paths to values. A nested configuration is given as a user writes it: {"text_config":
    {"hidden_size": 64}}, with its model_type if its class needs it. A class that takes a nested configuration of its
    type uses only the fields of that configuration.
    """
    outer, architecture = transformers.CONFIG_MAPPING[model_type], getattr(transformers, cls)
    inner = next((name for name, kind in outer.sub_configs.items() if kind is architecture.config_class), "")
    inner = "" if architecture.config_class is outer else inner
    config = architecture.config_class if inner else outer
    given = given.get(inner, {}) if inner else given
    try:
        arguments = merged(config, given, fields, typed=False)
        built = config(**arguments)
    except (ValueError, TypeError, KeyError):
        built = config(**merged(config, given, fields, typed=True))
    with torch.device("meta"), no_init_weights():
        model = architecture(built)
    model.tie_weights()
    return sum(tensor.numel() for tensor in model.parameters())


def merged(config: Any, given: dict[str, Any], fields: dict[str, int], *, typed: bool) -> dict[str, Any]:
    """Return the arguments of a configuration class: the given arguments, with the fields set at their paths."""
    usual = config(**deepcopy(given))
    arguments = deepcopy(given)
    for path, value in fields.items():
        *above, last = [name or int(index) for name, index in re.findall(r"([A-Za-z_]\w*)|\[(\d+)\]", path)]
        place: Any = arguments
        default: Any = usual
        for step in above:
            default = default[step] if isinstance(step, int) else getattr(default, step)
            if isinstance(place, dict) and step not in place:
                nested = {"model_type": default.model_type} if typed and hasattr(default, "model_type") else {}
                place[step] = nested if hasattr(default, "to_dict") else deepcopy(list(default))
            place = place[step]
        place[last] = value
    return arguments
