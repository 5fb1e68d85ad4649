"""A call of a forward method: its arguments, as far as they decide what comes out, and what goes in and comes out."""

from math import prod
from typing import Literal, NamedTuple

from bertcalc.config import Problem
from bertcalc.forward.meanings import MEANINGS
from bertcalc.forward.steps import BATCH
from bertcalc.subject import Subject
from bertcalc.tree.nn import Shape

DType = Literal["int64", "float32", "bool", "int"]
Container = Literal["", "tuple", "DynamicCache", "EncoderDecoderCache"]
BYTES: dict[DType, int] = {"int64": 8, "float32": 4, "bool": 0, "int": 0}  # of one element; flags are no tensors


class Call(NamedTuple):
    """The arguments of one forward pass, as far as they decide what comes out.

    ``encoder_sequence_length`` is that of encoder_hidden_states, None if there are none. ``labels`` says whether
    the right answers are given, ``label`` is the one that all ``labels`` have; next_sentence_label is 0.
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


class Tensors(NamedTuple):
    """Some tensors of one shape."""

    copies: int
    shape: Shape


class Entry(NamedTuple):
    """A named input or output: one tensor, or a container of them (an empty one has no tensors).

    An output without tensors and container is None; so is the shape of an input that is not known.
    ``position`` is the place in the tuple that return_dict=False gives. ``said`` is what an input means in this model,
    where that is not what its name means in most.
    """

    name: str
    dtype: DType
    tensors: tuple[Tensors, ...]
    container: Container = ""
    given: bool = True
    position: int | None = None
    said: str = ""

    @property
    def meaning(self) -> str:
        return self.said or MEANINGS[self.name]

    def num_elements(self) -> int:
        return sum(tensors.copies * prod(tensors.shape) for tensors in self.tensors)

    def num_bytes(self) -> int:
        return BYTES[self.dtype] * self.num_elements()


def attends(subject: Subject, call: Call) -> bool:
    return call.encoder_sequence_length is not None and subject.reads_encoder


def caches(subject: Subject, call: Call) -> bool:
    """Whether the body of the model fills past_key_values, returned or not."""
    config, cls = subject.config, subject.cls
    wanted = config.use_cache if call.use_cache is None or not cls.caches else call.use_cache
    return config.is_decoder and wanted and not (call.labels and cls.labels_stop_caching)


def remark(field: str, message: str, **values: object) -> Problem:
    """What is possible, but does not do what one may expect."""
    return Problem.of(message, field, **values)
