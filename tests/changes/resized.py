"""Resize the modules of a real model with PyTorch, as users do, as the reference for bertcalc's changes."""

from collections.abc import Collection, Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import torch
from torch import nn
from transformers.pytorch_utils import Conv1D

from bertcalc import Config
from bertcalc.changes.factorized import FactorizeEmbeddings
from bertcalc.changes.feed_forward import NarrowFeedForward
from bertcalc.changes.heads import PruneHeads
from bertcalc.changes.layers import DropLayers
from bertcalc.changes.vocabulary import ResizeVocabulary
from bertcalc.families import CLASSES
from bertcalc.model.change import Change
from bertcalc.model.model import Model
from tests.oracle import Case

_SIZES = {
    "vocab_size": 60,
    "hidden_size": 24,
    "num_hidden_layers": 4,
    "num_attention_heads": 4,
    "intermediate_size": 40,
    "max_position_embeddings": 16,
    "embedding_size": 12,
    "pad_token_id": 1,
    "bos_token_id": 0,
    "eos_token_id": 2,
    "cls_token_id": 0,
    "sep_token_id": 2,
    "mask_token_id": 3,
}


def small(architecture: str, **fields: Any) -> Case:
    """Return a small model of a class, with the given fields that its family has."""
    kind: Any = CLASSES[architecture].config
    values = {name: value for name, value in (_SIZES | fields).items() if kind.has(name)}
    return Case(kind(**values), architecture)


def optional(kind: type[Config]) -> Iterator[dict[str, Any]]:
    """Yield the fields that switch on each optional part of a family, one part at a time."""
    yield {}
    yield {"tie_word_embeddings": False}
    if kind.has("add_cross_attention"):
        yield {"is_decoder": True, "add_cross_attention": True}
    if kind.has("conv_kernel_size"):
        yield {"conv_kernel_size": 3, "relative_attention": True, "pos_att_type": "p2c|c2p"}
    if kind.has("norm_bias"):
        yield {"norm_bias": True, "global_attn_every_n_layers": 2}


class Changed(NamedTuple):
    """A case with changes, which the tests of FLOPs and peaks accept in place of a case."""

    config: Config
    architecture: str
    add_pooling_layer: bool
    changes: tuple[Change, ...]

    @classmethod
    def of(cls, case: Case, *changes: Change) -> "Changed":
        return cls(*case, changes)

    @property
    def model(self) -> Model:
        return Model(*self)

    def ours(self) -> Model:
        return self.model

    def real(self, device: str = "meta") -> Any:
        """Return the real model after all changes, in this order."""
        case = Case(*self[:3])
        real = case.real(device)
        with torch.device(device):
            for change in self.changes:
                _change(real, case, change)
        return real


def owned_tensors(model: Model) -> list[tuple[str, tuple[int, ...]]]:
    """The sorted names and shapes of bertcalc's tensors. A tied tensor has the name of the module that owns it."""
    return sorted((tensor.name, tensor.shape) for tensor in model.tensors(folded=False))


def _change(real: Any, case: Case, change: Change) -> None:
    match change:
        case ResizeVocabulary(tokens, multiple):
            real.resize_token_embeddings(tokens, multiple, mean_resizing=False)
        case DropLayers(layers):
            drop_layers(real, layers)
        case PruneHeads(heads):
            prune_heads(real, case, heads)
        case NarrowFeedForward(width):
            narrow_feed_forward(real, width)
        case FactorizeEmbeddings(width):
            factorize_embeddings(real, width)
        case _:
            raise ValueError(change)


def layers_of(real: Any) -> tuple[Any, str, Any]:
    """Return the module that contains the layers, their attribute name, and the list of layers.

    Return (None, "", ()) if the layers share their tensors.
    """
    for name, module in real.named_modules():
        parent, _dot, last = name.rpartition(".")
        if isinstance(module, nn.ModuleList) and last in ("layer", "layers", "h"):
            return real.get_submodule(parent), last, module
    return None, "", ()


def drop_layers(real: Any, dropped: Collection[int]) -> None:
    """Drop layers from the list, and adjust the number in the configuration and the layer numbers that a cache uses."""
    parent, name, layers = layers_of(real)
    if parent is not None:
        kept = nn.ModuleList(layer for number, layer in enumerate(layers) if number not in dropped)
        setattr(parent, name, kept)
        for number, layer in enumerate(kept):
            for module in layer.modules():
                if hasattr(module, "layer_idx"):
                    module.layer_idx = number
    real.config.num_hidden_layers -= len(dropped)


def prune_heads(real: Any, case: Case, heads: Any) -> None:
    """Do what transformers 4's prune_heads does to the modules of transformers 5.

    Their forward methods derive the number of heads from the widths.
    """
    _parent, _name, layers = layers_of(real)
    layers = layers or real.base_model.encoder.albert_layer_groups[0].albert_layers
    size = case.config.attention_head_size
    for number, layer in enumerate(layers):
        pruned = heads if isinstance(heads, int) else len(heads.get(number, ()))
        for name, module in list(layer.named_modules()):
            if pruned and isinstance(module, (nn.Linear, Conv1D)) and name.startswith("att"):
                _narrow(layer, name, module, pruned * size)
        if pruned and hasattr(layer, "attn"):
            layer.attn.split_size -= pruned * size
            layer.attn.num_heads -= pruned


def _narrow(layer: Any, name: str, module: Any, less: int) -> None:
    """Shrink the outputs of query, key and value, or the inputs of the attention's output."""
    if isinstance(module, Conv1D):
        rows, columns = module.weight.shape
        narrow: Any = Conv1D(columns - 3 * less, rows) if name == "attn.c_attn" else Conv1D(columns, rows - less)
    elif name.rpartition(".")[2] in ("dense", "out_lin"):
        narrow = nn.Linear(module.in_features - less, module.out_features)
    else:
        narrow = nn.Linear(module.in_features, module.out_features - less)
    layer.set_submodule(name, narrow)


_UP = ("intermediate.dense", "ffn.lin1", "ffn", "mlp.c_fc", "mlp.gate_proj", "mlp.up_proj")
_DOWN = ("output.dense", "ffn.lin2", "ffn_output", "mlp.c_proj", "mlp.down_proj", "mlp.Wo")


def narrow_feed_forward(real: Any, width: int) -> None:
    """Replace the feed-forward modules of each layer by narrower ones."""
    _parent, _name, layers = layers_of(real)
    for layer in layers or real.base_model.encoder.albert_layer_groups[0].albert_layers:
        for name, module in list(layer.named_modules()):
            if isinstance(module, Conv1D):
                rows, columns = module.weight.shape
                narrow: Any = Conv1D(width, rows) if name in _UP else Conv1D(columns, width)
            elif isinstance(module, nn.Linear):
                narrow = _linear(module, name, width)
            if isinstance(module, (nn.Linear, Conv1D)) and name in (*_UP, *_DOWN, "mlp.Wi"):
                layer.set_submodule(name, narrow)


def _linear(module: Any, name: str, width: int) -> Any:
    bias = module.bias is not None
    if name in _DOWN:
        return nn.Linear(width, module.out_features, bias)
    return nn.Linear(module.in_features, 2 * width if name == "mlp.Wi" else width, bias)


def factorize_embeddings(real: Any, width: int) -> None:
    """Replace the word embeddings by a narrow table and a projection. Put another projection before a tied decoder."""
    words, decoder = real.get_input_embeddings(), real.get_output_embeddings()
    tied = decoder is not None and decoder.weight is words.weight
    rows, hidden_size = words.weight.shape
    table = nn.Embedding(rows, width, words.padding_idx)
    for name, module in list(real.named_modules()):
        if module is words:
            real.set_submodule(name, nn.Sequential(table, nn.Linear(width, hidden_size)))
        if tied and module is decoder:
            narrow = nn.Linear(width, rows, module.bias is not None)
            narrow.weight, narrow.bias = table.weight, module.bias
            real.set_submodule(name, nn.Sequential(nn.Linear(hidden_size, width), narrow))


def own_class(case: Case, **fields: Any) -> Any:
    """Return the real model of a configuration with other sizes."""
    kind = type(case.config)
    return case._replace(
        config=replace(case.config, **{kind.own_name(name): size for name, size in fields.items()})
    ).real()
