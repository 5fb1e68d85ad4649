"""A call of a forward method, and its inputs and outputs."""

from math import prod
from typing import Literal, NamedTuple

from bertcalc.forward.meanings import MEANINGS
from bertcalc.model.batch import BATCH, Batch
from bertcalc.model.model import Model
from bertcalc.model.modules import Shape
from bertcalc.text.arguments import checked, record
from bertcalc.transformers4.version import Container

DType = Literal["int64", "float32", "bool", "int"]
# Bytes per element; flags and plain integers are not tensors.
BYTES: dict[DType, int] = {"int64": 8, "float32": 4, "bool": 0, "int": 0}


@record
class Call(NamedTuple):
    """The arguments of a forward pass that affect its outputs.

    ``encoder_sequence_length`` is the length of encoder_hidden_states, or None without them. With ``labels``, the call
    passes labels. All of them have the value ``label``, except next_sentence_label, which is 0.
    """

    batch_size: int = BATCH["batch_size"]
    sequence_length: int = BATCH["sequence_length"]
    encoder_sequence_length: int | None = None
    num_choices: int = 2
    output_hidden_states: bool = False
    output_attentions: bool = False
    use_cache: bool | None = None
    return_dict: bool = True
    labels: bool = False
    label: int = 0

    @property
    def batch(self) -> Batch:
        return Batch(self.batch_size, self.sequence_length, self.encoder_sequence_length, self.num_choices)


class TensorCopies(NamedTuple):
    """Several tensors of the same shape."""

    copies: int
    shape: Shape


class Entry(NamedTuple):
    """A named input or output: one tensor, or a container of any number of tensors.

    An output without tensors and container is None. An input without tensors is a flag, or its shape is unknown.
    ``given`` says whether the call passes the input. ``position`` is the index in the tuple that the model returns with
    return_dict=False. ``note`` replaces the usual meaning of an input if it means something else in this model.
    """

    name: str
    dtype: DType
    tensors: tuple[TensorCopies, ...]
    container: Container = ""
    given: bool = True
    position: int | None = None
    note: str = ""

    @property
    def meaning(self) -> str:
        return self.note or MEANINGS[self.name]

    def num_elements(self) -> int:
        return sum(tensors.copies * prod(tensors.shape) for tensors in self.tensors)

    def num_bytes(self) -> int:
        return BYTES[self.dtype] * self.num_elements()


@checked
def attends(model: Model, call: Call) -> bool:
    return call.encoder_sequence_length is not None and model.reads_encoder


@checked
def caches(model: Model, call: Call) -> bool:
    """Whether the model's body fills past_key_values, even if the class does not return them."""
    config, cls = model.config, model.cls
    wanted = config.use_cache if call.use_cache is None or not cls.caches else call.use_cache
    return config.is_decoder and wanted and not (call.labels and cls.labels_stop_caching)
