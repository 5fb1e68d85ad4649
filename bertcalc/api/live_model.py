"""Read a PyTorch model in memory: the names and shapes of its tensors, never their values.

This module does not import PyTorch: the methods of ``torch.nn.Module`` are enough.
"""

from collections.abc import Mapping
from typing import Any

from bertcalc.api import Model, build, warn_of
from bertcalc.families import CLASSES
from bertcalc.model.modules import Module, Shape
from bertcalc.model.read_modules import ReadModule, folded
from bertcalc.text import shorten, visible
from bertcalc.text.arguments import checked, wrong_kind
from bertcalc.text.problem import InputError, Problem, wrong

_METHODS = ("named_parameters", "named_children", "named_modules")  # every torch.nn.Module has them


class UnknownModel(ReadModule):
    """The modules and parameters of a real model that bertcalc does not know; ``reason`` says why.

    ``of`` creates it. A tensor that several modules share counts once, in the first of these modules.

    >>> import torch
    >>> model = of(torch.nn.Sequential(torch.nn.Embedding(30, 8), torch.nn.Linear(8, 2)))
    >>> model.num_parameters(), model.reason
    (258, 'Sequential is not one of the classes that bertcalc knows.')
    """

    reason = ""

    def __repr__(self) -> str:
        return f"<{self.class_name}: {self.num_parameters():,} parameters. {self.reason}>"

    def _repr_html_(self) -> str | None:
        return self._repr_mimebundle_().get("text/html")

    def _repr_mimebundle_(self, **_options: object) -> dict[str, str]:
        from bertcalc.api.notebook import mime_bundle

        return mime_bundle(self, self.reason)


@checked
def of(real_model: Any) -> Model | UnknownModel:
    """Read a ``torch.nn.Module`` on any device, such as a model loaded by transformers.

    If bertcalc knows the class, and all tensors have the expected names and shapes, the result is the same ``Model`` as
    ``load`` returns for the configuration. Otherwise, it is an ``UnknownModel`` with the parameters of the modules. Its
    ``reason`` is a sentence about what bertcalc does not know, or about the first tensor that differs. Like ``load``,
    this function warns about keys in a known model's configuration that are ignored but may change FLOPs or memory.

    Raises ArgumentError for anything but a ``torch.nn.Module``, and InputError for a lazy module that has not run yet,
    because its tensors have no shape.

    >>> import torch, transformers
    >>> config = transformers.BertConfig(num_hidden_layers=6)
    >>> with torch.device("meta"):
    ...     real = transformers.BertForMaskedLM(config)
    >>> of(real)
    <BertForMaskedLM: 66,987,066 parameters>
    >>> of(torch.nn.Linear(768, 2))
    <Linear: 1,538 parameters. Linear is not one of the classes that bertcalc knows.>
    """
    if isinstance(real_model, type) or not all(callable(getattr(real_model, name, None)) for name in _METHODS):
        raise wrong_kind("real_model", real_model, "a torch.nn.Module, such as BertModel.from_pretrained(...) gives")
    try:
        tensors = {name: tuple(tensor.shape) for name, tensor in real_model.named_parameters()}
    except RuntimeError as error:  # from a lazy module
        message = "real_model has a tensor without a shape, which its first forward pass sets: {reason}"
        raise wrong(message, "real_model", None, reason=str(error)) from None
    try:
        model, doubts = _known(real_model, tensors)
        reason = _difference(model, tensors)
    except InputError as error:
        return _unknown(real_model, str(error))
    if reason:
        return _unknown(real_model, reason)
    warn_of(doubts)
    return model


def _known(real: Any, tensors: Mapping[str, Shape]) -> tuple[Model, list[Problem]]:
    """bertcalc's model for the class and configuration of a real model, and remarks on ignored configuration keys.

    Raises InputError if bertcalc does not know the class.
    """
    kind = type(real).__name__
    architecture = next((base.__name__ for base in type(real).__mro__ if base.__name__ in CLASSES), None)
    config: Any = getattr(real, "config", None)
    if architecture is None or not callable(getattr(config, "to_dict", None)):
        model_type = getattr(config, "model_type", None)
        more = f' bertcalc.infer("{shorten(model_type)}", "{kind}") looks for its formula.' if model_type else ""
        raise wrong("{name} is not one of the classes that bertcalc knows.{more}", name=kind, more=more)
    from bertcalc.api.sources import read_fields

    described = read_fields({**config.to_dict(), "architectures": [architecture]})
    model = build(described.config, architecture)
    pooler = [tensor.name for tensor in model.tensors() if tensor.place.component == "pooler"]
    if model.cls.pooler_is_optional and tensors.keys().isdisjoint(pooler):
        model = build(described.config, architecture, add_pooling_layer=False)
    return model, described.doubts


def _difference(model: Model, tensors: Mapping[str, Shape]) -> str:
    """A sentence about the first tensor that differs from the model's; empty if no tensor differs."""
    expected, name = dict(model.named_parameters()), f"{model.architecture} with its configuration"
    # If the head is registered after the body, as in older releases, PyTorch lists a tied tensor under its other name.
    listed = {other: tensor for other, tensor in model.ties().items() if tensor not in tensors}
    tensors = {listed.get(tensor, tensor): shape for tensor, shape in tensors.items()}
    for tensor, shape in tensors.items():
        if tensor not in expected:
            return f"{visible(tensor)}, of shape {shape}, is not a tensor of a {name}."
        if shape != expected[tensor]:
            return f"{visible(tensor)} has the shape {shape}: in a {name} it has {expected[tensor]}."
    missing = next((tensor for tensor in expected if tensor not in tensors), None)
    return f"{missing} is missing: in a {name} it has the shape {expected[missing]}." if missing else ""


def _unknown(real: Any, reason: str) -> UnknownModel:
    root = UnknownModel(type(real).__name__, str(real.extra_repr()))
    root.reason = reason
    owners: dict[int, str] = {}
    _own_tensors(root, real, "", owners)
    root.children = {name: _read(child, name, owners) for name, child in real.named_children()}
    return root


def _read(real: Any, path: str, owners: dict[int, str]) -> Module:
    """Read the tree of a real module; in a list of layers, equal neighbors become a single layer with copies.

    ``owners`` maps the id() of every tensor so far to its name.
    """
    module = ReadModule(type(real).__name__, str(real.extra_repr()))
    module.is_embedding = any(base.__name__ == "Embedding" for base in type(real).__mro__)
    _own_tensors(module, real, path, owners)
    children = {name: _read(child, f"{path}.{name}", owners) for name, child in real.named_children()}
    if len(children) > 1 and not module.parameters and list(children) == list(map(str, range(len(children)))):
        return folded(module.class_name, ((number, 1, layer) for number, layer in enumerate(children.values())))
    module.children = children
    return module


def _own_tensors(module: Module, real: Any, path: str, owners: dict[int, str]) -> None:
    own, tied = {}, {}
    for name, tensor in real.named_parameters(recurse=False):
        full = f"{path}.{name}" if path else name
        owner = owners.setdefault(id(tensor), full)
        if owner == full:
            own[name] = tuple(tensor.shape)
        else:
            tied[name] = owner
    module.parameters, module.tied = own, tied
