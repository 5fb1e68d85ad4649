"""The tensors of the GGUF file that llama.cpp creates from a transformers model."""

from functools import lru_cache
from typing import Any, NamedTuple

from bertcalc.model.model import Model
from bertcalc.model.modules import Module, Shape
from bertcalc.storage.saved_names import saved
from bertcalc.text import N_
from bertcalc.text.problem import wrong
from bertcalc.text.toml_tables import table_beside

_NOT_CONVERTED = N_(
    "llama.cpp does not convert {architecture} to GGUF: set pure to True to count all its matrices in one type."
)
_NO_NAME = N_("llama.cpp does not convert {name} to GGUF: set pure to True to count all matrices in one type.")


def _rules() -> dict[str, Any]:
    return table_beside(__file__, "gguf_names.toml")


class GgufTensor(NamedTuple):
    """A tensor with its name in GGUF, and its name in the file that transformers saves (``source``)."""

    name: str
    source: str
    shape: Shape

    @property
    def part(self) -> str:
        """The part of the tensor's GGUF name to which the quantization rules refer, such as attn_v."""
        return self.name.rpartition(".")[0].rpartition(".")[2]

    @property
    def layer(self) -> int:
        """The layer number in the tensor's GGUF name."""
        return int(self.name.split(".")[1])


def architecture_of(model: Module) -> str:
    """GGUF's name of the architecture, such as bert. Raises InputError if llama.cpp does not convert the class."""
    if not (isinstance(model, Model) and model.architecture in _rules()["architectures"]):
        raise wrong(_NOT_CONVERTED, "type", None, architecture=model.class_name)
    name: str = _rules()["architectures"][model.architecture]
    return name


def converted(model: Module) -> list[GgufTensor]:
    """The tensors of a model's GGUF file, which has no pooler and no language-model head.

    Raises InputError if llama.cpp does not convert the model.

    >>> from bertcalc.model.model import build
    >>> converted(build("roberta-base"))[4]
    GgufTensor(name='position_embd.weight', source='embeddings.position_embeddings.weight', shape=(512, 768))
    """
    architecture_of(model)
    assert isinstance(model, Model)
    tensors = []
    for tensor in saved(model, "F32"):
        path, _dot, last = model.without_prefix(tensor.name).rpartition(".")
        name = _name(path)
        if name is None:
            raise wrong(_NO_NAME, "type", None, name=tensor.name)
        if not name:
            continue
        shape = tensor.shape
        if name == "position_embd" and model.architecture in _rules()["cut"]["architectures"]:
            shape = (shape[0] - 1 - (model.config.pad_token_id or 0), *shape[1:])
        tensors.append(GgufTensor(f"{name}.{last}", tensor.name, shape))
    return tensors


@lru_cache(maxsize=4096)
def _name(path: str) -> str | None:
    """The name of a module in GGUF; "" if the file leaves it out, None if llama.cpp cannot convert it."""
    if f"{path}.".startswith(tuple(_rules()["left_out"]["starts"])):
        return ""
    parts = path.split(".")
    layer = next((part for part in parts if part.isdecimal()), "")
    name: str | None = _rules()["names"].get(".".join("*" if part.isdecimal() else part for part in parts))
    return name and name.replace("*", layer)
