"""Meanings of a byte count: a file with a model's weights, or a buffer in its forward pass.

>>> from bertcalc import BertConfig
>>> [meaning] = file_sizes(Model(BertConfig()), 437_951_328)
>>> print(meaning)
A safetensors file of BertModel with pooler, in float32: 437,928,960 bytes of weights after a header of 22,368 bytes.
>>> [str(meaning) for meaning in buffers(Model(BertConfig()), 3 * 2**29, 3 * 2**29)][:1]
['The attention scores of one layer: 1 × 12 heads × 8,192 × 8,192 × 2 bytes.']

Files of older releases may have a pooler that the class no longer has, a second decoder bias, or buffers:

>>> from bertcalc.families import build
>>> known = KnownCount(build("roberta-base", "RobertaForMaskedLM"), 124_697_433)
>>> [(file.size("F32"), file.extras) for file in contents(known)][:3]
[(498789732, 0), (498793844, 1), (498990792, 1)]
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import product
from typing import NamedTuple

from bertcalc.config import Config
from bertcalc.diagnosis.known_counts import PUBLISHED_CONFIGS, KnownCount, known_counts
from bertcalc.diagnosis.part_words import known_in_words
from bertcalc.diagnosis.tensor_filter import selector
from bertcalc.families import family_of
from bertcalc.model.model import Model
from bertcalc.model.modules import Attention
from bertcalc.storage.safetensors_file import plain_header
from bertcalc.storage.stored_tensors import DTYPES, StoredTensor, data_bytes
from bertcalc.text import N_
from bertcalc.text.problem import Problem

# Bytes that torch.save adds per tensor in addition to its name, including record and padding: before PyTorch 1.6, and
# since then.
_PER_TENSOR = (115, 285)
_PER_MODULE = 25  # bytes per module, besides its name, for the version that a state_dict stores, unlike a plain dict


class Contents(NamedTuple):
    """The possible contents of a weight file: the tensors of a class, and additional tensors from older releases.

    An ``added`` tensor with the dtype "" has the dtype of the weights. ``bias`` says whether the decoder has a second
    bias.
    """

    known_count: KnownCount
    added: tuple[StoredTensor, ...] = ()
    bias: bool = False
    extras: int = 0  # the number of kinds of added tensors: pooler, bias, buffers

    def size(self, dtype: str) -> int:
        """Return the size of all tensors in bytes if the weights have ``dtype``, a safetensors code such as "F32"."""
        weights = self.known_count.model.num_parameters() * DTYPES[dtype] // 8
        return weights + data_bytes(_with_dtype(self.added, dtype))

    def tensors(self, dtype: str) -> list[StoredTensor]:
        """Return all tensors of the file if the weights have ``dtype``, a safetensors code such as "F32"."""
        parameters = self.known_count.model.named_parameters()
        return [*(StoredTensor(name, dtype, shape) for name, shape in parameters), *_with_dtype(self.added, dtype)]


def _with_dtype(tensors: Iterable[StoredTensor], dtype: str) -> list[StoredTensor]:
    """Set the dtype of tensors that have none."""
    return [tensor._replace(dtype=tensor.dtype or dtype) for tensor in tensors]


def contents(count: KnownCount) -> Iterator[Contents]:
    """Yield the possible contents of a class's file: first its own tensors, then also tensors from older releases."""
    model = count.model
    for pooler, bias, buffers in product(
        [(), *_pooler(model)], [(), *_second_bias(model)], [(), *_positions(model), *_masks(model)]
    ):
        words = count
        if pooler:
            words = words._replace(
                parameters=words.parameters + sum(map(StoredTensor.numbers, pooler)), convention="pooler"
            )
        if buffers:
            convention = words.convention if buffers[0].dtype == "I64" else "masks"
            words = words._replace(buffers=sum(map(StoredTensor.numbers, buffers)), convention=convention)
        extras = sum(map(bool, (pooler, bias, buffers)))
        yield Contents(words, (*pooler, *bias, *buffers), bool(bias), extras)


def _pooler(model: Model) -> Iterator[tuple[StoredTensor, ...]]:
    """Yield the pooler's tensors if older releases saved a pooler for a class that no longer has one."""
    if family_of(model.config).base.pooler and not any(map(selector("pooler"), model.tensors())):
        base, hidden = Model(model.config), model.config.hidden_size
        if model.cls.task != "base":
            names = (name for name, _shape in base.named_parameters() if "pooler" in name)
            yield tuple(
                StoredTensor(
                    f"{model.body_prefix}{name}", "", (hidden, hidden) if name.endswith("weight") else (hidden,)
                )
                for name in names
            )


def _second_bias(model: Model) -> Iterator[tuple[StoredTensor, ...]]:
    """Yield the decoder's bias, which older releases saved in addition to the head's bias."""
    shapes = dict(model.named_parameters())
    for name, owner in model.ties().items():
        if name.endswith("decoder.bias") and owner in shapes:
            yield (StoredTensor(name, "", shapes[owner]),)


def _positions(model: Model) -> Iterator[tuple[StoredTensor, ...]]:
    for path, module, _copies in model.modules():
        if "position_ids" in module.buffers:
            name = f"{path}.position_ids" if path else "position_ids"
            yield (StoredTensor(name, "I64", module.buffers["position_ids"][0]),)


def _masks(model: Model) -> Iterator[tuple[StoredTensor, ...]]:
    """Yield the causal masks of all layers, once in float32 and once as booleans, if older files contain masks."""
    length = model.config.max_position_embeddings
    layers = [path for path, module, _copies in model.modules(folded=False) if isinstance(module, Attention)]
    for dtype in ("F32", "BOOL") if model.config.stores_masks else ():
        yield tuple(StoredTensor(f"{path}.bias", dtype, (1, 1, length, length)) for path in layers)


def pickle_sizes(file: Contents) -> Iterator[int]:
    """Estimate the bytes that torch.save adds to the data, in its two formats, with and without the modules' versions.

    The exact size also depends on the numbers of the storages and on the name of the file.
    """
    names = [tensor.name for tensor in file.tensors("F32")]
    paths = [path for path, _module, _copies in file.known_count.model.modules(folded=False)]
    for per_tensor, per_module in product(_PER_TENSOR, (0, _PER_MODULE)):
        versions = sum(len(path) + per_module for path in paths) if per_module else 0
        yield sum(len(name) + per_tensor for name in names) + versions


# Names of precisions, keyed by bytes per parameter.
PRECISIONS: Mapping[int, Problem | str] = {4: "float32", 2: Problem.of(N_("16 bits")), 1: Problem.of(N_("8 bits"))}
_DTYPES = ((4, "F32"), (2, "F16"))
# Relative tolerances for the bytes that a file has besides its tensors.
_SURE = 0.02  # within this tolerance of a safetensors header, a file is not a pickle
_NEAR = 0.2  # for a pickle, as its size depends on the release of PyTorch and on the file's name
_OLDER_NAMES = 0.3  # for a safetensors header, as older releases write other names and other metadata
_OTHER_NAMES = 0.05  # for a header of a file with added tensors, as many such files are possible
_MOST_OVER = 10**6  # maximum number of bytes that a file format adds
_LENGTHS = (128, 256, 384, 512, 1024, 2048, 4096, 8192, 16384, 32768)
_BATCH_SIZES = (1, 2, 4, 8, 16, 32, 64, 128, 256)


def file_sizes(model: Model, size: int, *, pickled: bool = True, published: bool = True) -> Iterator[Problem]:
    """Yield sentences about weight files that may have ``size`` bytes.

    The files belong to the classes of the model's family with its configuration. If none of these fits and
    ``published`` is true, they belong to published models.

    The size of a safetensors header is known to a few bytes, so only the nearest safetensors files are included. With
    ``pickled``, PyTorch files follow if no safetensors file fits very well. Their sizes are approximate, so only the
    files with the fewest kinds of added tensors are included.
    """
    ours = list(_files(tuple(known_counts(model.config)), size, pickled))
    files = ours or (list(_files(_published(), size, pickled)) if published else [])
    headed = [file for file in files if not file.is_pickle]
    nearest = min(headed, key=lambda file: file.off, default=None)
    yield from (file.sentence for file in headed if nearest and file.over == nearest.over)
    if nearest is None or nearest.off > _SURE:
        yield from _plainest([file for file in files if file.is_pickle])


def _plainest(files: Sequence["_SizedFile"]) -> Iterator[Problem]:
    """Yield the sentences about each configuration's files with the fewest kinds of added tensors."""
    fewest: dict[Config, int] = {}
    for file in files:
        fewest[file.config] = min(file.extras, fewest.get(file.config, file.extras))
    yield from (file.sentence for file in files if file.extras == fewest[file.config])


class _SizedFile(NamedTuple):
    """A file that may have the searched size.

    ``off`` is the relative deviation from the expected header. ``over`` is the number of bytes besides the tensors.
    ``extras`` is the number of kinds of added tensors.
    """

    is_pickle: bool
    off: float
    over: int
    config: Config
    extras: int
    sentence: Problem


def _files(counts: Sequence[KnownCount], size: int, pickled: bool) -> Iterator[_SizedFile]:
    classes = [count for count in counts if not count.buffers]
    for (width, dtype), count in product(_DTYPES, classes):
        # Buffers in files of older releases, such as GPT-2's masks, may exceed _MOST_OVER.
        if 0 < size - width * count.parameters < _most_over(count, width):
            for file in contents(count):
                over = size - file.size(dtype)
                if 0 < over < _MOST_OVER:
                    yield from _file(file, over, dtype, pickled)


def _most_over(count: KnownCount, width: int) -> int:
    """Return the maximum number of bytes that a file of a class has besides its parameters."""
    config = count.model.config
    masks = 4 * config.num_hidden_layers * config.max_position_embeddings**2 if config.stores_masks else 0
    added = config.hidden_size * (config.hidden_size + 1) + config.vocab_size
    return masks + width * added + 8 * config.max_position_embeddings + _MOST_OVER


def _file(file: Contents, over: int, dtype: str, pickled: bool) -> Iterator[_SizedFile]:
    """Yield the file if a file format explains the ``over`` bytes that it has besides its tensors."""
    plain = plain_header(file.tensors(dtype))
    off = min(abs(over - plain), abs(over - plain - -plain % 8)) / plain
    size = file.size(dtype)
    about = (off, over, file.known_count.model.config, file.extras)
    values = {
        "known": _in_words(file),
        "dtype": PRECISIONS[DTYPES[dtype] // 8],
        "bytes": f"{size:,}",
        "over": f"{over:,}",
    }
    if off <= (_OTHER_NAMES if file.extras else _OLDER_NAMES):
        message = N_(
            "A safetensors file of {known}, in {dtype}: {bytes} bytes of weights after a header of {over} bytes."
        )
        yield _SizedFile(False, *about, Problem("", None, message, values))
    elif pickled and any(abs(over - near) <= _NEAR * near for near in pickle_sizes(file)):
        message = N_(
            "Close to the size of a PyTorch file (.bin) of {known}, in {dtype}: {bytes} bytes of weights and {over} "
            "bytes of pickle data."
        )
        yield _SizedFile(True, *about, Problem("", None, message, values))


def _in_words(file: Contents) -> Problem:
    words = known_in_words(file.known_count)
    message = N_("{known}, with a second decoder bias, as in files of older releases")
    return Problem("", None, message, {"known": words}) if file.bias else words


@lru_cache(maxsize=1)
def _published() -> tuple[KnownCount, ...]:
    """Return the known counts of classes that published files contain: base models and language models."""
    tasks = ("base", "pretraining", "masked-lm", "causal-lm")
    return tuple(
        count
        for config in PUBLISHED_CONFIGS.values()
        for count in known_counts(config)
        if count.model.cls.task in tasks or count.model.cls == family_of(config).base
    )


def buffers(model: Model, low: Fraction | int, high: Fraction | int, written: str = "") -> Iterator[Problem]:
    """Yield sentences about buffers of a forward pass with ``low`` to ``high`` bytes, the smallest batch first.

    If the size is ``written`` as a calculation, only buffers with its factors are included: 32*12*512*512*4.
    """
    factors = set(map(int, re.findall("[0-9]+", written.replace(",", ""))))
    by_batch: list[tuple[int, Problem]] = []
    for length, width in product(_LENGTHS, (4, 2)):
        for elements, message, values in _buffers_of_one(model.config, length):
            batch = int(high // (elements * width))
            if batch in _BATCH_SIZES and batch * elements * width >= low:
                has_factors = {batch, width, length, *values.values()} <= factors | {1}
                if has_factors or len(factors) <= 1:
                    by_batch.append((batch, Problem.of(message, batch=batch, width=width, length=length, **values)))
    yield from (buffer for _batch, buffer in sorted(by_batch, key=lambda entry: entry[0]))


def _buffers_of_one(config: Config, length: int) -> Iterator[tuple[int, str, dict[str, int]]]:
    """Yield the buffers of one sequence as (elements, message, further values for the message)."""
    heads = config.num_attention_heads
    yield heads * length * length, _SCORES, {"heads": heads}
    for columns, message in (
        (config.hidden_size, _STATES),
        (config.intermediate_size, _INNER),
        (config.vocab_size, _LOGITS),
    ):
        yield length * columns, message, {"hidden": columns}


_SCORES = N_("The attention scores of one layer: {batch} × {heads} heads × {length} × {length} × {width} bytes.")
_STATES = N_("The hidden states after one layer: {batch} × {length} × {hidden} × {width} bytes.")
_INNER = N_("The intermediate activations of one layer: {batch} × {length} × {hidden} × {width} bytes.")
_LOGITS = N_("The logits of all tokens: {batch} × {length} × {hidden} × {width} bytes.")
