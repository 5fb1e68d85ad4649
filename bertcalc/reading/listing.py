"""Read listings of names and shapes: named_parameters(), state_dict(), or the variables of a TensorFlow checkpoint.

>>> listed("pooler.dense.weight -> torch.Size([768, 768]) -> 589,824").tensors
(('pooler.dense.weight', (768, 768)),)
>>> listed("bert/pooler/dense/kernel, shape = (768, 3072)").tensors
(('bert.pooler.dense.weight', (3072, 768)),)
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cache
from itertools import islice
from math import prod
from typing import NamedTuple

from bertcalc.checkpoints.checkpoint import BUFFERS, family_of_names
from bertcalc.config import ConfigError
from bertcalc.families import FAMILIES
from bertcalc.families.presets import PRESETS
from bertcalc.model.model import Model
from bertcalc.model.modules import Shape, Tensor
from bertcalc.proofreading.mentions.plain_text import without_prompts
from bertcalc.reading.plain_lines import sentences, without_ansi
from bertcalc.reading.recognition import TELLING, Recognition, recognized, stored, with_ties, without_adapters
from bertcalc.reading.stored_parts import is_of_torch_optimizer, unpacked
from bertcalc.reading.tensor_counts import Counts, counted, shapes_of
from bertcalc.reading.text_reading import Kind, PossibleCount, TextReading, of_ties
from bertcalc.storage.tensorflow_names import OF_CLASSIFIER, is_of_albert, is_of_optimizer, pytorch_tensor
from bertcalc.text import N_, shorten
from bertcalc.text.problem import Problem, wrong

_SIZE = r"[0-9][0-9,_']{0,20}"
_SHAPE = re.compile(
    rf"[\[(] {{0,4}}(?P<sizes>{_SIZE}(?:,? {{1,4}}{_SIZE}){{0,7}}) {{0,4}},? {{0,4}}[\])]"
    rf"|(?<![\w.])(?P<crossed>{_SIZE}(?: ?[x×] ?{_SIZE}){{1,7}})(?![\w.])|(?:Size|Shape)\(\[(?P<scalar>)\]\)"
)
_NAME = re.compile(
    r"(?<![\w./])[A-Za-z_0-9][\w-]*(?:[./][\w*-]+)+(?::0)?|(?<=['\"])[A-Za-z_]\w*(?=['\"])"
    r"|(?<=name = )[A-Za-z_]\w*(?=:0)"
)
_ALONE = re.compile(r"\s*[A-Za-z_]\w*[\s:|,>=-]*(?:torch\.Size\(\s*)?")
_WORD = re.compile(r"[A-Za-z_]\w*")
_NOT_NAMES = ("torch.", "tf.", "np.", "numpy.", "param.", "jnp.", "nn.")
_NUMBER = re.compile(r"(?<![\w.,])[0-9][0-9,_]*(?![\w.,])")
_AFTER = 80  # characters after a shape in which a count may follow
_BEFORE = 300  # characters before a shape that may contain its name
_MOST_TENSORS = 20_000
_MOST_DIGITS = 18
_MORE_BUFFERS = (*BUFFERS, "num_batches_tracked", "running_mean", "running_var", "inv_freq", "masked_bias")
_SMALLEST_COUNT = 100  # a smaller number after a shape is probably a line number


class Listing(NamedTuple):
    """The tensors of a listing under PyTorch's names, and contradictions in its lines."""

    tensors: tuple[tuple[str, Shape], ...]
    buffers: tuple[str, ...] = ()
    optimizer: int = 0  # number of variables of the optimizer, which are left out
    contradictions: tuple[Problem, ...] = ()
    from_tensorflow: bool = False
    quantized: int = 0  # number of weights that are stored in fewer bits


class _ListedTensor(NamedTuple):
    name: str
    shape: Shape
    written: int | None


def listed(text: str) -> Listing:
    """Parse every name with a shape in a text. A repeated name is listed once.

    Raises InputError if the text has too many shapes.
    """
    tensors: dict[str, Shape] = {}
    contradictions: list[Problem] = []
    optimizer, slashes = 0, 0
    plain = _MISMATCH.sub(r"\g<shape>", without_prompts(without_ansi(text)))
    entries = list(_entries(plain)) or _nameless(plain)
    albert = any(is_of_albert(entry.name) for entry in entries)
    for name, shape, written in entries:
        if is_of_optimizer(name):
            optimizer += 1
            continue
        if "/" in name or name in OF_CLASSIFIER:
            slashes += 1
            name, shape = pytorch_tensor(name, shape, albert)
        if tensors.setdefault(name, shape) != shape:
            message = N_("{name} is listed with two shapes: the first is used.")
            contradictions.append(Problem.of(message, name=shorten(name)))
        elif written is not None and written != prod(shape):
            message = N_("{name}: the text says {written}, but its shape has {count} elements.")
            contradictions.append(Problem.of(message, name=shorten(name), written=written, count=prod(shape)))
    listing = of_stored(tensors)
    from_tensorflow = slashes > len(tensors) // 2
    return listing._replace(
        optimizer=optimizer + listing.optimizer,
        contradictions=tuple(contradictions[:5]),
        from_tensorflow=from_tensorflow,
    )


# A warning that transformers prints. The model has the second shape.
_MISMATCH = re.compile(
    r"found shape torch\.Size\(\[[0-9, ]{0,90}\]\) in the checkpoint and "
    r"(?P<shape>torch\.Size\(\[[0-9, ]{0,90}\]\)) in the model"
)


def of_stored(tensors: Mapping[str, Shape], integers: Collection[str] = ()) -> Listing:
    """Return the listing of stored tensors, without optimizer states.

    ``integers`` are the names of integer tensors, which are buffers.
    """
    states = {name for name in tensors if is_of_torch_optimizer(name)}
    plain, quantized = unpacked({name: shape for name, shape in tensors.items() if name not in states})
    buffers = dict.fromkeys((*_buffers(plain), *(name for name in plain if name in integers)))
    return Listing(tuple(plain.items()), tuple(buffers), len(states), quantized=quantized)


def _buffers(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(name for name in names if name.rpartition(".")[2] in _MORE_BUFFERS)


def _nameless(text: str) -> list[_ListedTensor]:
    """Return the shapes in a text without names, such as the output of ``[p.shape for p in model.parameters()]``."""
    if text.count("torch.Size(") < _FEWEST_NAMELESS:
        return []
    shapes = list(_shapes(text))
    return [_ListedTensor(f"{_NAMELESS} {number}", shape, None) for number, (_s, _e, shape) in enumerate(shapes)]


_NAMELESS = "tensor"
_FEWEST_NAMELESS = 3


def _entries(text: str) -> Iterator[_ListedTensor]:
    end = 0
    shapes = _with_single_sizes(text, list(_shapes(text)))
    if len(shapes) > _MOST_TENSORS:
        raise wrong(N_("This text has too many shapes: at most {most} are allowed."), most=_MOST_TENSORS)
    for number, (start, after, shape) in enumerate(shapes):
        before = text[max(end, start - _BEFORE) : start]
        name = _name(before)
        end = after
        if name:
            following = shapes[number + 1][0] if number + 1 < len(shapes) else len(text)
            yield _ListedTensor(name, shape, _written(text[after : min(following, after + _AFTER)], shape))


def _shapes(text: str) -> Iterator[tuple[int, int, Shape]]:
    for match in _SHAPE.finditer(text):
        sizes = _sizes(match["sizes"] or match["crossed"] or "")
        if sizes is not None:
            yield match.start(), match.end(), sizes


def _with_single_sizes(text: str, shapes: list[tuple[int, int, Shape]]) -> list[tuple[int, int, Shape]]:
    """Add the one-dimensional shapes, such as 768, to a listing that writes shapes as 768 x 768.

    They are in the same column as the other shapes.
    """
    columns: set[str] = set()
    lines_with_shapes: set[int] = set()
    for start, _after, _shape in shapes:
        line = text.rfind("\n", 0, start) + 1
        lines_with_shapes.add(line)
        if text[start].isdigit() and (column := _column(text[max(line, start - _BEFORE) : start])):
            columns.add(column)
    if not columns:
        return shapes
    single = [
        (line.start() + size.start(), line.start() + size.end(), (int(re.sub(r"\D", "", size[0])),))
        for line in _LINE.finditer(text)
        if line.start() not in lines_with_shapes
        for size in islice(_NUMBER.finditer(line[0]), _MOST_COLUMNS)
        if len(size[0]) <= _MOST_DIGITS and _column(line[0][: size.start()]) in columns
    ]
    return sorted([*shapes, *single])


_LINE = re.compile(r"^[^\n]{1,1000}", re.MULTILINE)
_MOST_COLUMNS = 8


def _column(before: str) -> str:
    """Identify the column of a number by the text between the last name before it and the number.

    The result is empty if there is no name.
    """
    names = [name for name in islice(_NAME.finditer(before), _MOST_COLUMNS) if _is_name(name[0])]
    return " ".join(["name", *_NUMBER.sub("0", before[names[-1].end() :]).split()]) if names else ""


def _sizes(text: str) -> Shape | None:
    """Parse a shape; return None if a size has too many digits.

    A comma without a space separates thousands only if × or a comma with a space separates sizes.
    """
    if re.search(r"[x×]|, ", text):
        parts = re.split(r" ?[x×] ?|,? +", text)
        if any("," in part.rstrip(",") and not _GROUPED.fullmatch(part.rstrip(",")) for part in parts):
            parts = re.split(r"[x×, ]+", text)
    else:
        parts = re.split(r"[, ]+", text)
    digits = [re.sub(r"\D", "", part) for part in parts]
    digits = [part for part in digits if part]
    return None if any(len(part) > _MOST_DIGITS for part in digits) else tuple(map(int, digits))


_GROUPED = re.compile(r"[0-9]{1,3}(?:,[0-9]{3})+")


def _name(before: str) -> str:
    """Return the last name before a shape, on the same line or on the line above; empty if there is none."""
    lines = before.rstrip(" \t").split("\n")
    for line in reversed(lines[-2:]):
        names = [name for name in _NAME.findall(line) if _is_name(name)]
        if names:
            return str(names[-1])
        if _ALONE.fullmatch(line) and (word := _WORD.search(line)) and word[0] not in _WORDS:
            return word[0]
    return ""


_WORDS = ("torch", "shape", "Shape", "Size", "size", "In", "Out")


def _is_name(name: str) -> bool:
    """Whether a word with dots or slashes may name a tensor.

    The names of sentence-transformers' tensors begin with a number.
    """
    first, _dot, rest = name.partition(".")
    if _ON_THE_HUB.fullmatch(name) and not name.endswith(_OF_TENSORFLOW):
        return False
    return not name.startswith(_NOT_NAMES) and (not first[:1].isdigit() or (first.isdecimal() and rest[:1].isalpha()))


_ON_THE_HUB = re.compile(r"[\w.-]+/[\w.-]+")  # the owner and the name of a model
_OF_TENSORFLOW = ("kernel", "bias", "gamma", "beta", "weights", "weight", "embeddings", "table", ":0")


def _written(text: str, shape: Shape) -> int | None:
    """Return the count that a line states after a shape; None if there is none.

    If several numbers follow, only the product of the shape can be the count.
    """
    line = text.split("\n", 1)[0]
    numbers = [int(re.sub(r"\D", "", number)) for number in _NUMBER.findall(line) if len(number) < 25]
    if prod(shape) in numbers:
        return prod(shape)
    large = [number for number in numbers if number >= _SMALLEST_COUNT]
    return large[0] if len(large) == len(numbers) == 1 else None


def read_listing(text: str) -> TextReading:
    """Read a listing and recognize its model by names and shapes. Raises InputError if it has no tensors of a model."""
    listing = listed(text)
    counts = counted(text)
    tensors = sum(name.endswith(_ENDINGS) for name, _count in counts)
    if len(counts) > len(listing.tensors) and 2 * tensors >= len(counts):
        return _of_counts(counts, text)
    if not listing.tensors and (names := names_alone(text)):
        return _of_names(names)
    if data := _data_in(text, [name for name, _shape in listing.tensors]):
        raise wrong(_SHAPES_OF_DATA, names=", ".join(data[:3]))
    if not listing.tensors:
        raise wrong(
            N_("This text lists no tensors: write a name and a shape in each line, such as {example}."),
            example=_EXAMPLE,
        )
    reading = of_tensors("listing", listing, text)
    if len(_MISMATCH.findall(text)) < len(listing.tensors):
        return reading
    return replace(reading, notes=(*reading.notes, Problem.of(_OTHERS_LEFT_OUT)))


_OTHERS_LEFT_OUT = N_("The warning lists only the tensors whose shape differs from the checkpoint.")
_SHAPES_OF_DATA = N_(
    "These are the shapes of a batch or of activations ({names}), which have no parameters: list the tensors of the "
    "model instead, such as pooler.dense.weight torch.Size([768, 768])."
)


def _data_in(text: str, names: Sequence[str]) -> list[str]:
    """Return the names of inputs and activations if a listing consists of them; empty if it lists a model."""
    if names and all(name.startswith(f"{_NAMELESS} ") for name in names):
        labels = [
            line[: shape.start()].removesuffix("torch.Size(").strip(" :：=") for line, shape in _lines_with_shapes(text)
        ]
        return labels if labels and all(map(_LABEL_OF_DATA.search, labels)) else []
    plain = {name: _PRINTED.sub("", name) for name in names}
    sure = [name for name in names if _INPUT.search(plain[name])]
    if any(_PARAMETER.search(plain[name]) for name in names if name not in sure):
        return []
    data = [name for name in names if name in sure or name != plain[name] or _OUTPUT.search(name)]
    return data if 2 * len(data) > len(names) and (sure or len(data) == len(names)) else []


def _lines_with_shapes(text: str) -> Iterator[tuple[str, re.Match[str]]]:
    for line in without_ansi(text).split("\n"):
        if shape := _SHAPE.search(line):
            yield line, shape


_PRINTED = re.compile(r"(?:\.data)?\.shape$")  # endings of printed expressions, such as outputs.shape
# Endings of the names of model inputs and of module outputs. Parameters may have the names of outputs, too.
_INPUT = re.compile(
    r"(?:^|[_./])(?:ids|masks?|labels?|class_labels|images?|pixel_values|bbox|boxes|logits|hidden_states?"
    r"|last_hidden_state|pooler_output|embeds(?:_proj)?|offset_mapping|attentions|xpath_\w+_seq)$",
    re.I,
)
_OUTPUT = re.compile(
    r"(?:^|[_./])(?:inputs?|outputs?|targets?|features?|sizes|seq|scores|probs|values|batch|x|y)$", re.I
)
_PARAMETER = re.compile(
    r"weight|bias|kernel|gamma|beta|embedd|norm|proj|quer|key|dense|linear|lora|table|running_|scale|intermediate|att"
    r"|\bw[a-z]{0,2}[0-9]?$|\bb[0-9]?$|\bfc[0-9]?$|token$",
    re.I,
)
_LABEL_OF_DATA = re.compile(
    r"\b(?:outputs?|inputs?|logits|hidden|(?:shape|size) of (?!tensor|param|weight)|activations?|features?|batch"
    r"|images?|masks?|labels?)\b"
    r"|输出|输入|形状",
    re.I,
)


def is_list_of_counts(text: str, model: Model) -> bool:
    """Whether a text lists tensors with their numbers of parameters and is not a hand count of ``model``."""
    counts = counted(text)
    tensors = sum(name.endswith(_ENDINGS) for name, _count in counts)
    lines = sum(any(map(str.isalnum, line)) for line in text.split("\n"))
    if tensors < _FEWEST_COUNTS or 2 * len(counts) < lines or sentences(text) >= len(counts):
        return False
    counts_of_model = {
        model.without_prefix(tensor.name): tensor.num_parameters() for tensor in model.tensors(folded=False)
    }
    names = [model.without_prefix(name) for name, _count in counts]
    right = sum(counts_of_model.get(name) == count for name, (_name, count) in zip(names, counts, strict=True))
    is_hand_count = all(name in counts_of_model for name in names) and 2 * right >= len(names)
    return not is_hand_count or _of_counts(counts, text).agrees


_ENDINGS = (".weight", ".bias", ".gamma", ".beta")
_FEWEST_COUNTS = 3  # minimum number of tensors in a list


def names_alone(text: str) -> tuple[str, ...]:
    """Return the tensor names if a text consists of them, such as ``state_dict().keys()``; empty for other texts."""
    names = tuple(dict.fromkeys(name for name in _NAME.findall(without_ansi(text)) if name.endswith(_ENDINGS)))
    written = sum(map(len, names))
    return names if len(names) >= _FEWEST_NAMES and 2 * written >= len("".join(text.split())) else ()


_FEWEST_NAMES = 5


def _of_names(names: tuple[str, ...]) -> TextReading:
    """Read names without shapes: they may show the class and the number of layers, but no sizes."""
    sentence = Problem.of(N_("Read as: a list of the names of {count} tensors."), count=len(names))
    notes = [
        Problem.of(
            N_("Names alone show no sizes: list each tensor with its shape, such as {example}."), example=_EXAMPLE
        )
    ]
    if model := _named_model({name for name in names if name not in _buffers(names)}):
        message = N_("The names belong to {architecture} with {layers} layers.")
        layers = model.config.num_hidden_layers
        notes.insert(0, Problem.of(message, architecture=model.architecture, layers=layers))
    return TextReading("listing", sentence, notes=tuple(notes))


def _named_model(names: set[str]) -> Model | None:
    """Return a model with default sizes and these tensor names; None if there is none.

    The names of tied tensors are optional.
    """
    family = family_of_names(names)
    layers = max((int(number) for name in names for number in _LAYER_NUMBER.findall(name)), default=0) + 1
    for cls in family.classes:
        for pooler in (True, False):
            with suppress(ConfigError):
                config = replace(family.config.default(), num_hidden_layers=layers)
                model = Model(config, cls.name, pooler)
                names_of_model = {tensor.name for tensor in model.tensors(folded=False)}
                if names_of_model <= names and names - names_of_model <= _tied_names(model):
                    return model
    return None


def _tied_names(model: Model) -> set[str]:
    return {f"{path}.{name}" for path, module, _copies in model.modules(folded=False) for name in module.tied}


_LAYER_NUMBER = re.compile(r"\.([0-9]{1,3})\.")


def _of_counts(counts: Counts, text: str) -> TextReading:
    """Read a list of names and numbers of parameters: infer the shapes and the model, or else return only the sum."""
    shapes = shapes_of(counts)
    sentence = Problem.of(N_("Read as: a list of {count} tensors with their numbers of parameters."), count=len(counts))
    reading = of_tensors("listing", Listing(shapes, _buffers(dict(shapes))), text)
    if reading.model is not None and not reading.reshaped:
        return replace(reading, sentence=sentence)
    tensors = tuple(Tensor(name, (count,), 1) for name, count in counts)
    left_out = bool(_LEFT_OUT.search(text))
    return TextReading(
        "listing", sentence, None, None, tensors, sum(count for _name, count in counts), left_out, notes=(_NO_SHAPES,)
    )


_NO_SHAPES = Problem.of(
    N_("Without shapes, the model cannot be identified: list each tensor with its shape, such as {example}."),
    example="pooler.dense.weight torch.Size([768, 768])",
)
_EXAMPLE = "pooler.dense.weight torch.Size([768, 768])"


def of_tensors(kind: Kind, listing: Listing, text: str = "") -> TextReading:
    """Recognize the model of tensors with names and shapes. ``text``, which lists them, may contain their total."""
    sentence = Problem.of(N_("Read as: a listing of {count} tensors."), count=len(listing.tensors))
    if listing.from_tensorflow:
        sentence = Problem.of(N_("Read as: the {count} variables of a TensorFlow model."), count=len(listing.tensors))
    if kind == "safetensors-header":
        sentence = Problem.of(N_("Read as: a safetensors header with {count} tensors."), count=len(listing.tensors))
    tensors = tuple(Tensor(name, shape, 1) for name, shape in listing.tensors if name not in listing.buffers)
    count = sum(tensor.num_parameters() for tensor in tensors)
    listing = listing._replace(tensors=tuple((without_adapters(name), shape) for name, shape in listing.tensors))
    recognition = recognized([*stored(listing.tensors)]) or _under_other_names(listing)
    left_out = bool(_LEFT_OUT.search(text))
    notes = tuple(_notes(listing, left_out))
    if recognition is None:
        return TextReading(kind, sentence, None, None, tensors, count, left_out, notes=notes)
    recognition, possible = _with_ties(recognition, listing, text)
    possible = (*_of_all_layers(recognition), *possible)
    return TextReading(
        kind,
        sentence,
        recognition.model,
        recognition.model,
        tensors,
        recognition.num_parameters,
        left_out,
        possible,
        recognition.missing,
        recognition.additional,
        recognition.reshaped,
        recognition.guessed,
        recognition.preset,
        notes,
    )


_LEFT_OUT = re.compile(r"^[ \t]{0,80}(?:\.{3,12}|…{1,6})[ \t,]{0,9}$|\)…", re.MULTILINE)


def _of_all_layers(recognition: Recognition) -> Iterator[PossibleCount]:
    """Yield the possible counts if a listing has one layer: it may be an excerpt of a published model, or complete."""
    model = recognition.model
    if model.config.num_hidden_layers != 1 or not recognition.agrees:
        return
    for name, preset in PRESETS.items():
        config = preset.config
        same = type(config) is type(model.config) and all(
            getattr(config, field) == getattr(model.config, field) for field in _TELLING
        )
        if same and config.num_hidden_layers > 1:
            whole = model.changed(config=replace(model.config, num_hidden_layers=config.num_hidden_layers))
            yield PossibleCount(whole.num_parameters(), Problem.of(N_("if the rest is like {preset}"), preset=name))
            yield PossibleCount(model.num_parameters(), Problem.of(N_("if the model has only the listed tensors")))
            return


_TELLING = (*(field for field in TELLING if field != "num_hidden_layers"), "intermediate_size")


def _under_other_names(listing: Listing) -> Recognition | None:
    """Recognize a model with a tied matrix that is listed only under the head's name.

    PyTorch lists it like this in families that register the head first. Returns None if no such matrix is listed.
    """
    for head, table in _tables_of_heads():
        if head in dict(listing.tensors):
            renamed = [(table if name == head else name, shape) for name, shape in listing.tensors]
            return recognized([*stored(renamed)])
    return None


@cache
def _tables_of_heads() -> tuple[tuple[str, str], ...]:
    """Return the (head's matrix, word embeddings) pairs of names for which PyTorch lists only the head's matrix."""
    pairs = (
        (listed_name, table)
        for family in FAMILIES.values()
        for table, listed_name in Model(family.config.default(), family.for_task("masked-lm")).ties().items()
        if family.head_first and table.endswith("word_embeddings.weight")
    )
    return tuple(dict.fromkeys(pairs))


def _with_ties(recognition: Recognition, listing: Listing, text: str) -> tuple[Recognition, tuple[PossibleCount, ...]]:
    """Decide whether a matrix with two names is tied: a state_dict lists it twice, ``named_parameters()`` once.

    If the text does not show which listing it is, the matrix is assumed to be tied, which is the default. Both counts
    are then possible.
    """
    model = recognition.model
    tied = with_ties(model, True)
    if tied is None or not type(model.config).default().tie_word_embeddings:
        return recognition, ()
    again = recognized([*stored(listing.tensors)], tied.architecture, prepare=lambda _model: tied)
    if again is None or again.distance > recognition.distance or not again.second_names:
        return recognition, ()
    if listing.buffers:
        return again, ()  # only a state_dict lists buffers
    counts = tuple(of_ties(tied, again.num_parameters))
    if any(f"{counts[-1].parameters:{sign}}" in text for sign in (",", "")):
        return recognition, ()
    return again, counts


def _notes(listing: Listing, left_out: bool) -> Iterator[Problem]:
    yield from listing.contradictions
    if left_out:
        yield Problem.of(N_("Some lines of the listing are missing."))
    if listing.tensors and listing.tensors[0][0].startswith(f"{_NAMELESS} "):
        yield Problem.of(N_("The tensors have no names, so their model is unknown."))
    if listing.optimizer:
        message = N_("{count} optimizer variables are left out.")
        yield Problem.of(message, count=listing.optimizer)
    if listing.quantized:
        message = N_("Quantized weights: {count}. Their scales, zero points and tables are not counted.")
        yield Problem.of(message, count=listing.quantized)
    if listing.buffers:
        message = N_("Not counted, because they are buffers: {names}.")
        yield Problem.of(message, names=", ".join(map(shorten, listing.buffers[:4])))
