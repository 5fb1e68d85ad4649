"""What a number of bytes may mean: the file of a model's weights, or one buffer of its forward pass.

>>> from bertcalc import BertConfig
>>> [str(meaning) for meaning in file_sizes(Model(BertConfig()), 437_951_328)]
['A safetensors file of BertModel with pooler in float32: 437,928,960 bytes of weights after a header of 22,368.']
>>> [str(meaning) for meaning in buffers(Model(BertConfig()), 1_610_612_736)][:1]
['The attention scores of one layer: 1 x 12 heads x 8,192 x 8,192 x 2 bytes.']
"""

import json
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import accumulate, pairwise, product
from math import prod

from bertcalc.config import Config
from bertcalc.diagnosis.known_counts import PUBLISHED_CONFIGS, KnownCount, known_counts
from bertcalc.diagnosis.part_words import known_in_words
from bertcalc.families import family_of
from bertcalc.model.model import Model
from bertcalc.model.modules import Shape
from bertcalc.text import N_
from bertcalc.text.problem import Problem

_LENGTH = 8  # bytes before the header of a safetensors file, which say how long it is
_DTYPES = ((4, "F32", "float32"), (2, "F16", "16 bits"))
# A pickle takes some hundred bytes per tensor: its record in the archive, and padding to 64 bytes.
_LEAST_PICKLED, _MOST_PICKLED = 100, 800
_OLDER_NAMES = 0.3  # headers of older releases differ: other names, other metadata
_LENGTHS = (128, 256, 384, 512, 1024, 2048, 4096, 8192, 16384, 32768)
_BATCH_SIZES = (1, 2, 4, 8, 16, 32, 64, 128, 256)


def safetensors_header(tensors: Sequence[tuple[str, Shape]], dtype: str, width: int) -> int:
    """The bytes before the data of a safetensors file that has these tensors, as PyTorch's models save them."""
    ordered = sorted(tensors)
    ends = list(accumulate((width * prod(shape) for _name, shape in ordered), initial=0))
    entries = {
        name: {"dtype": dtype, "shape": list(shape), "data_offsets": list(place)}
        for (name, shape), place in zip(ordered, pairwise(ends), strict=True)
    }
    text = json.dumps({"__metadata__": {"format": "pt"}, **entries}, separators=(",", ":"))
    return _LENGTH + len(text) + -len(text) % 8


def file_sizes(model: Model, size: int, *, pickled: bool = True, published: bool = True) -> Iterator[Problem]:
    """The files of weights that may have this size: of the model's classes first, then of ``published`` models."""
    ours = list(_files(tuple(known_counts(model.config)), size, pickled))
    files = ours or (list(_files(_published(), size, pickled)) if published else [])
    nearest = min([difference for difference, _file in files], default=0)
    yield from (file for difference, file in files if difference == nearest or nearest)


def _files(counts: Sequence[KnownCount], size: int, pickled: bool) -> Iterator[tuple[int, Problem]]:
    for width, dtype, words in _DTYPES:
        for known in counts:
            over = size - width * known.parameters
            if not known.buffers and 0 < over < 10**6:
                yield from _file(known, over, width, dtype, words, pickled)


def _file(
    known: KnownCount, over: int, width: int, dtype: str, words: str, pickled: bool
) -> Iterator[tuple[int, Problem]]:
    """The file that exceeds the weights by ``over`` bytes, if a format explains it, after how far it is off."""
    tensors = list(known.model.named_parameters())
    header = safetensors_header(tensors, dtype, width)
    data = {"bytes": f"{width * known.parameters:,}", "over": f"{over:,}"}
    values = {"known": known_in_words(known), "dtype": words, **data}
    if abs(over - header) <= header * _OLDER_NAMES:
        message = N_("A safetensors file of {known} in {dtype}: {bytes} bytes of weights after a header of {over}.")
        yield abs(over - header), Problem("", None, message, values)
    elif pickled and _LEAST_PICKLED * len(tensors) <= over <= _MOST_PICKLED * len(tensors):
        message = N_(
            "Near the size of a PyTorch file (.bin) of {known} in {dtype}: {bytes} bytes and {over} of pickle."
        )
        yield over, Problem("", None, message, values)


@lru_cache(maxsize=1)
def _published() -> tuple[KnownCount, ...]:
    """The classes of all published models: the body and language models, which are what files contain."""
    tasks = ("base", "pretraining", "masked-lm", "causal-lm")
    return tuple(
        known
        for config in PUBLISHED_CONFIGS.values()
        for known in known_counts(config)
        if known.model.cls.task in tasks or known.model.cls == family_of(config).base
    )


def buffers(model: Model, size: int) -> Iterator[Problem]:
    """The buffers of one operation that have exactly this many bytes, the smallest batch first."""
    by_batch: list[tuple[int, Problem]] = []
    for length, width in product(_LENGTHS, (4, 2)):
        for elements, message, values in _buffers_of_one(model.config, length):
            batch, rest = divmod(size, elements * width)
            if not rest and batch in _BATCH_SIZES:
                by_batch.append((batch, Problem.of(message, batch=batch, width=width, length=length, **values)))
    yield from (buffer for _batch, buffer in sorted(by_batch, key=lambda entry: entry[0]))


def _buffers_of_one(config: Config, length: int) -> Iterator[tuple[int, str, dict[str, int]]]:
    """The elements of each buffer for one sequence, the message about it, and the message's other values."""
    heads = config.num_attention_heads
    yield heads * length * length, _SCORES, {"heads": heads}
    for columns, message in (
        (config.hidden_size, _STATES),
        (config.intermediate_size, _INNER),
        (config.vocab_size, _LOGITS),
    ):
        yield length * columns, message, {"hidden": columns}


_SCORES = N_("The attention scores of one layer: {batch} x {heads} heads x {length} x {length} x {width} bytes.")
_STATES = N_("The hidden states after one layer: {batch} x {length} x {hidden} x {width} bytes.")
_INNER = N_("The intermediate activations of one layer: {batch} x {length} x {hidden} x {width} bytes.")
_LOGITS = N_("The logits of all tokens: {batch} x {length} x {hidden} x {width} bytes.")
