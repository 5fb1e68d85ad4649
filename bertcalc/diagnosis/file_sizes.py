"""What a number of bytes may mean: the file of a model's weights, or one buffer of its forward pass.

>>> from bertcalc import BertConfig
>>> [str(meaning) for meaning in file_sizes(Model(BertConfig()), 437_951_328)]
['A safetensors file of BertModel with pooler, in float32: 437,928,960 bytes of weights after a header of 22,368.']
>>> [str(meaning) for meaning in buffers(Model(BertConfig()), 1_610_612_736)][:1]
['The attention scores of one layer: 1 x 12 heads x 8,192 x 8,192 x 2 bytes.']
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import product
from typing import NamedTuple

from bertcalc.config import Config
from bertcalc.diagnosis.file_contents import Contents, contents, pickle_sizes
from bertcalc.diagnosis.known_counts import PUBLISHED_CONFIGS, KnownCount, known_counts
from bertcalc.diagnosis.part_words import known_in_words
from bertcalc.families import family_of
from bertcalc.model.model import Model
from bertcalc.storage.safetensors_file import plain_header
from bertcalc.storage.stored_tensors import DTYPES
from bertcalc.text import N_
from bertcalc.text.problem import Problem

# The precisions of weights by the bytes of a parameter.
PRECISIONS: Mapping[int, Problem | str] = {4: "float32", 2: Problem.of(N_("16 bits")), 1: Problem.of(N_("8 bits"))}
_DTYPES = ((4, "F32"), (2, "F16"))
_SURE = 0.02  # so near to a header that it is no pickle
_NEAR = 0.2  # what torch.save adds to the data depends on its release and on the file's name
_OLDER_NAMES = 0.3  # headers of older releases differ: other names, other metadata
_OTHER_NAMES = 0.05  # the same for a file with more than the class, which could be many
_MOST_OVER = 10**6  # bytes that a format adds
_LENGTHS = (128, 256, 384, 512, 1024, 2048, 4096, 8192, 16384, 32768)
_BATCH_SIZES = (1, 2, 4, 8, 16, 32, 64, 128, 256)


def file_sizes(model: Model, size: int, *, pickled: bool = True, published: bool = True) -> Iterator[Problem]:
    """The files of weights that may have this size: of the model's classes first, then of ``published`` models.

    A header is known to a few bytes, so that the nearest safetensors files are meant. Pickles are only near: those of
    fewer tensors beside the parameters of a class are likelier.
    """
    ours = list(_files(tuple(known_counts(model.config)), size, pickled))
    files = ours or (list(_files(_published(), size, pickled)) if published else [])
    headed = [file for file in files if not file.is_pickle]
    nearest = min(headed, key=lambda file: file.off, default=None)
    yield from (file.sentence for file in headed if nearest and file.over == nearest.over)
    if nearest is None or nearest.off > _SURE:
        yield from _plainest([file for file in files if file.is_pickle])


def _plainest(files: Sequence["_SizedFile"]) -> Iterator[Problem]:
    """The sentences on the files of each configuration that have the least beside a class."""
    fewest: dict[Config, int] = {}
    for file in files:
        fewest[file.config] = min(file.extras, fewest.get(file.config, file.extras))
    yield from (file.sentence for file in files if file.extras == fewest[file.config])


class _SizedFile(NamedTuple):
    """A file that may have a size: how far its header is ``off``, the bytes of its format (``over``), its contents."""

    is_pickle: bool
    off: float
    over: int
    config: Config
    extras: int
    sentence: Problem


def _files(counts: Sequence[KnownCount], size: int, pickled: bool) -> Iterator[_SizedFile]:
    classes = [known for known in counts if not known.buffers]
    for (width, dtype), known in product(_DTYPES, classes):
        # What older releases save beside the parameters may be larger than what a format adds: GPT-2's masks.
        if 0 < size - width * known.parameters < _most_over(known, width):
            for file in contents(known):
                over = size - file.size(dtype)
                if 0 < over < _MOST_OVER:
                    yield from _file(file, over, dtype, pickled)


def _most_over(known: KnownCount, width: int) -> int:
    """The most bytes that a file of a class has beside the parameters."""
    config = known.model.config
    masks = 4 * config.num_hidden_layers * config.max_position_embeddings**2 if config.stores_masks else 0
    added = config.hidden_size * (config.hidden_size + 1) + config.vocab_size
    return masks + width * added + 8 * config.max_position_embeddings + _MOST_OVER


def _file(file: Contents, over: int, dtype: str, pickled: bool) -> Iterator[_SizedFile]:
    """The file that exceeds its tensors by ``over`` bytes, if a format explains it."""
    plain = plain_header(file.tensors(dtype))
    off = min(abs(over - plain), abs(over - plain - -plain % 8)) / plain
    size = file.size(dtype)
    about = (off, over, file.known.model.config, file.extras)
    values = {
        "known": _in_words(file),
        "dtype": PRECISIONS[DTYPES[dtype] // 8],
        "bytes": f"{size:,}",
        "over": f"{over:,}",
    }
    if off <= (_OTHER_NAMES if file.extras else _OLDER_NAMES):
        message = N_("A safetensors file of {known}, in {dtype}: {bytes} bytes of weights after a header of {over}.")
        yield _SizedFile(False, *about, Problem("", None, message, values))
    elif pickled and any(abs(over - near) <= _NEAR * near for near in pickle_sizes(file)):
        message = N_(
            "Near the size of a PyTorch file (.bin) of {known}, in {dtype}: {bytes} bytes and {over} of pickle."
        )
        yield _SizedFile(True, *about, Problem("", None, message, values))


def _in_words(file: Contents) -> Problem:
    known = known_in_words(file.known)
    message = N_("{known}, with a second bias of the decoder, which files of older releases have")
    return Problem("", None, message, {"known": known}) if file.bias else known


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
