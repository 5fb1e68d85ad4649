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
from itertools import islice, product
from math import prod
from typing import Any, NamedTuple

from bertcalc.checkpoints.checkpoint import BUFFERS, family_of_names, wrapper_of
from bertcalc.config import Config, ConfigError
from bertcalc.families import FAMILIES
from bertcalc.families.presets import PRESETS
from bertcalc.model.model import Model
from bertcalc.model.modules import Shape, Tensor
from bertcalc.proofreading.mentions.plain_text import without_prompts
from bertcalc.reading.plain_lines import sentences, without_ansi
from bertcalc.reading.recognition import TELLING, Recognition, recognized, stored, with_ties, without_adapters
from bertcalc.reading.tensor_counts import Counts, counted, shapes_of
from bertcalc.reading.tensors.batch_shapes import check_labels, check_names
from bertcalc.reading.tensors.listed_names import ENDINGS, NAME, REACH, column_of, name_after, name_before, names_follow
from bertcalc.reading.tensors.packed_weights import is_packed_matrix, unpack_weights
from bertcalc.reading.tensors.shared_tables import SharedTables, shared_in
from bertcalc.reading.tensors.stored_parts import is_of_torch_optimizer, unpacked
from bertcalc.reading.text_reading import Kind, PossibleCount, TextReading, of_tie, of_ties
from bertcalc.storage.tensorflow_names import OF_CLASSIFIER, is_of_albert, is_of_optimizer, pytorch_tensor
from bertcalc.text import N_, shorten
from bertcalc.text.problem import Problem, wrong

_SIZE = r"[0-9][0-9,_']{0,20}"
_SHAPE = re.compile(
    rf"[\[(] {{0,9}}(?P<sizes>{_SIZE}(?:,? {{1,9}}{_SIZE}){{0,7}}) {{0,4}},? {{0,4}}[\])]"
    rf"|(?<![\w.])(?P<crossed>{_SIZE}(?: ?[x×] ?{_SIZE}){{1,7}})(?![\w.])|(?:Size|Shape)\(\[(?P<scalar>)\]\)"
    r"|(?<=\w[\s:,|=])(?:\(\)|\[\])(?=\s*(?:[|,]|$|[0-9]))",
    re.MULTILINE,
)
# A module that code builds, as in self.fc = nn.Linear(784, 256), before the parenthesis: 784 and 256 are no shape.
_CALL = re.compile(r"= ?(?:[A-Za-z_]\w{0,30}\.){0,4}(?!\w{0,30}(?:Size|Shape|Parameter|Tensor)\b)[A-Z]\w{0,40}$")
_LONGEST_CALL = 120
_NUMBER = re.compile(r"(?<![\w.,])[0-9][0-9,_]*(?![\w.,])")
_AFTER = 80  # characters after a shape in which a count may follow
_MOST_TENSORS = 20_000
_MOST_DIGITS = 18
_MORE_BUFFERS = (
    *(*BUFFERS, "num_batches_tracked", "running_mean", "running_var", "inv_freq", "masked_bias", "final_logits_bias"),
    *("relative_position_index", "e_score_correction_bias"),
)
_SMALLEST_COUNT = 100  # a smaller number after a shape is probably a line number


class Listing(NamedTuple):
    """The tensors of a listing under PyTorch's names, and contradictions in its lines."""

    tensors: tuple[tuple[str, Shape], ...]
    buffers: tuple[str, ...] = ()
    optimizer: int = 0  # number of variables of the optimizer, which are left out
    contradictions: tuple[Problem, ...] = ()
    from_tensorflow: bool = False
    quantized: int = 0  # number of weights that are stored in fewer bits
    by_bits: tuple[tuple[int, int], ...] = ()  # (bits, elements of packed weights), if several are possible
    packed: tuple[str, ...] = ()  # packed weights of an unknown format
    repeated: int = 0  # number of names that are listed again


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
    optimizer, slashes, repeated = 0, 0, 0
    plain = _STRIDES.sub("", _MISMATCH.sub(r"\g<shape>", without_prompts(without_ansi(text))))
    entries = list(_entries(plain)) or _nameless(plain)
    albert = any(is_of_albert(entry.name) for entry in entries)
    for name, shape, written in entries:
        if is_of_optimizer(name):
            optimizer += 1
            continue
        if "/" in name or name in OF_CLASSIFIER:
            slashes += 1
            name, shape = pytorch_tensor(name, shape, albert)
        repeated += name in tensors
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
        repeated=repeated,
    )


# What TorchScript prints after the sizes: Float(2, 768, strides=[768, 1], requires_grad=1, device=cpu)
_STRIDES = re.compile(r", strides=\[[0-9, ]{0,90}\][^()\n]{0,90}(?=\))")
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
    stored_weights = {name: shape for name, shape in tensors.items() if name not in states}
    plain, quantized = unpacked(stored_weights)
    unchanged = [name for name in plain if name in integers and plain[name] == tensors[name]]
    usual = dict.fromkeys(_buffers(plain))
    packed = {name: None for name in unchanged if is_packed_matrix(name, plain[name]) and name not in usual}
    masks = (name for name, shape in plain.items() if _is_mask(name, shape))
    buffers = dict.fromkeys((*usual, *masks, *(name for name in unchanged if name not in packed)))
    listing = Listing(tuple(entry for entry in plain.items() if entry[0] not in packed), tuple(buffers), len(states))
    by_bits = tuple(unpack_weights(stored_weights).by_bits.items())
    return listing._replace(quantized=quantized, by_bits=by_bits, packed=tuple(packed))


def _is_mask(name: str, shape: Shape) -> bool:
    """Whether a tensor is the causal mask that attention modules such as GPT-Neo's call their bias."""
    return name.endswith(".bias") and len(shape) == 4 and shape[:2] == (1, 1) and shape[2] == shape[3]


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
    is_reversed = names_follow(text, [(start, after) for start, after, _shape in shapes])
    for number, (start, after, shape) in enumerate(shapes):
        following = shapes[number + 1][0] if number + 1 < len(shapes) else len(text)
        if is_reversed:
            name = name_after(text[after : min(following, after + REACH)])
        else:
            name = name_before(text[max(end, start - REACH) : start])
        end = after
        if name:
            yield _ListedTensor(name, shape, _written(text[after : min(following, after + _AFTER)], shape))


def _shapes(text: str) -> Iterator[tuple[int, int, Shape]]:
    for match in _SHAPE.finditer(text):
        sizes = _sizes(match["sizes"] or match["crossed"] or "")
        if sizes is not None and not _CALL.search(text, max(0, match.start() - _LONGEST_CALL), match.start()):
            yield match.start(), match.end(), sizes


def _with_single_sizes(text: str, shapes: list[tuple[int, int, Shape]]) -> list[tuple[int, int, Shape]]:
    """Add the one-dimensional shapes, such as 768, to a listing that writes shapes as 768 x 768.

    They are in the same column as the other shapes.
    """
    columns: set[str] = set()
    lines_with_shapes: set[int] = set()
    for start, after, _shape in shapes:
        line = text.rfind("\n", 0, start) + 1
        lines_with_shapes.add(line)
        if text[start].isdigit():
            end = text[after : after + REACH].partition("\n")[0]
            columns.add(column_of(text[max(line, start - REACH) : start], end))
    columns.discard("")
    if not columns:
        return shapes
    single = [
        (line.start() + size.start(), line.start() + size.end(), (int(re.sub(r"\D", "", size[0])),))
        for line in _LINE.finditer(text)
        if line.start() not in lines_with_shapes
        for size in islice(_NUMBER.finditer(line[0]), _MOST_COLUMNS)
        if len(size[0]) <= _MOST_DIGITS and column_of(line[0][: size.start()], line[0][size.end() :]) in columns
    ]
    return sorted([*shapes, *single])


_LINE = re.compile(r"^[^\n]{1,1000}", re.MULTILINE)
_MOST_COLUMNS = 8


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
    tensors = sum(name.endswith(ENDINGS) for name, _count in counts)
    if len(counts) > len(listing.tensors) and (tensors >= _FEWEST_COUNTS or 2 * tensors >= len(counts)):
        return _of_counts(counts, text)
    if not listing.tensors and (names := names_alone(text)):
        return _of_names(names, text)
    if all(name.startswith(f"{_NAMELESS} ") for name, _shape in listing.tensors):
        plain = without_ansi(text)
        starts = [start for start, _end, _shape in _shapes(plain)]
        check_labels(plain, starts, [shape for _name, shape in listing.tensors])
    else:
        check_names([name for name, _shape in listing.tensors])
    if not listing.tensors:
        raise wrong(
            N_("This text lists no tensors: write a name and a shape in each line, such as {example}."),
            example=_EXAMPLE,
        )
    return of_tensors("listing", listing, text)


def is_list_of_counts(text: str, model: Model) -> bool:
    """Whether a text lists tensors with their numbers of parameters and is not a hand count of ``model``."""
    counts = counted(text)
    tensors = sum(name.endswith(ENDINGS) for name, _count in counts)
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


_FEWEST_COUNTS = 3  # minimum number of tensors in a list


def names_alone(text: str) -> tuple[str, ...]:
    """Return the tensor names if a text consists of them, such as ``state_dict().keys()``; empty for other texts."""
    names = tuple(dict.fromkeys(name for name in NAME.findall(without_ansi(text)) if name.endswith(ENDINGS)))
    written = sum(map(len, names))
    return names if len(names) >= _FEWEST_NAMES and 2 * written >= len("".join(text.split())) else ()


_FEWEST_NAMES = 5


def _of_names(names: tuple[str, ...], text: str) -> TextReading:
    """Read names without shapes: they may show the class and the number of layers, but no sizes.

    Rounded counts beside the names, such as 23.4M, do not show sizes either.
    """
    sentence = Problem.of(N_("Read as: a list of the names of {count} tensors."), count=len(names))
    message = N_("Names alone show no sizes: list each tensor with its shape, such as {example}.")
    if 2 * len(_ROUNDED.findall(text)) > len(names):
        message = N_(
            "The counts in the text are rounded, so they show no sizes: list shapes instead, such as {example}."
        )
    notes = [Problem.of(message, example=_EXAMPLE)]
    if model := _named_model(set(names).difference(_buffers(names))):
        message = N_("The names belong to {architecture} with {layers} layers.")
        layers = model.config.num_hidden_layers
        notes.insert(0, Problem.of(message, architecture=model.architecture, layers=layers))
    return TextReading("listing", sentence, notes=tuple(notes))


_ROUNDED = re.compile(r"(?<![\w.])[0-9]{1,6}(?:\.[0-9]{1,6})? ?[KMB](?![A-Za-z])")


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
    buffers = _buffers(dict(counts))
    tensors = tuple(Tensor(name, (count,), 1) for name, count in counts if name not in buffers)
    shared = shared_in({tensor.name: tensor.shape for tensor in tensors})
    number, possible = _with_shared(shared, sum(tensor.num_parameters() for tensor in tensors), text)
    notes, left_out = (_NO_SHAPES, *_stacks(shared)), bool(_LEFT_OUT.search(text))
    return TextReading("listing", sentence, None, None, tensors, number, left_out, possible, notes=notes)


_NO_SHAPES = Problem.of(
    N_("Without shapes, the model cannot be identified: list each tensor with its shape, such as {example}."),
    example="pooler.dense.weight torch.Size([768, 768])",
)
_EXAMPLE = "pooler.dense.weight torch.Size([768, 768])"


def of_tensors(kind: Kind, listing: Listing, text: str = "") -> TextReading:
    """Recognize the model of tensors with names and shapes. ``text``, which lists them, may contain their total."""
    if listing.by_bits:
        return _of_bits(of_tensors(kind, listing._replace(by_bits=()), text), listing.by_bits)
    one, several = N_("Read as: a listing of one tensor."), N_("Read as: a listing of {count} tensors.")
    sentence = Problem.of(one if len(listing.tensors) == 1 else several, count=len(listing.tensors))
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
    left_out = left_out or bool(listing.packed) or _has_several(listing)
    # A file never has two copies of a shared matrix: save_pretrained leaves out the second one.
    shared = None if kind == "safetensors-header" else shared_in({tensor.name: tensor.shape for tensor in tensors})
    if recognition is None:
        number, possible = _with_shared(shared, count, text)
        notes = (*notes, *_stacks(shared), *_of_part([tensor.name for tensor in tensors]))
        return TextReading(kind, sentence, None, None, tensors, number, left_out, possible, notes=notes)
    recognition, possible = _with_ties(recognition, listing, text)
    number = recognition.num_parameters
    if not possible and not recognition.second_names:
        other, possible = _with_shared(shared, number, text)
        if not recognition.agrees:
            number, notes = other, (*notes, *_stacks(shared))
    possible = (*_of_all_layers(recognition), *possible)
    return TextReading(
        kind,
        sentence,
        recognition.model,
        recognition.model,
        tensors,
        min(possible).parameters if number is None else number,
        left_out or number is None,
        possible,
        recognition.missing,
        recognition.additional,
        recognition.reshaped,
        recognition.guessed,
        recognition.preset,
        notes,
    )


def _has_several(listing: Listing) -> bool:
    """Whether a text lists some tensors again, but not all of them: they may belong to another model."""
    return _FEWEST_REPEATED <= listing.repeated < len(listing.tensors)


_FEWEST_REPEATED = 3


def _of_part(names: Sequence[str]) -> Iterator[Problem]:
    """Yield a note if the names are only some of the names of a model's tensors."""
    if len(names) < _FEWEST_NAMES:
        return
    wrapper = wrapper_of(stored((name, ()) for name in names))
    inside = [without_adapters(name.removeprefix(wrapper)) for name in names]
    family = family_of_names(inside)
    layers = max((int(number) for name in inside for number in _LAYER_NUMBER.findall(name)), default=0) + 1
    for cls, config in product((family.base, *family.classes), (family.config.default(), family.fullest())):
        with suppress(ConfigError):
            model = _with_layers(config, cls.name, layers)
            own = {model.without_prefix(tensor.name): tensor.name for tensor in model.tensors(folded=False)}
            tied = {model.without_prefix(name) for name in _tied_names(model)}
            listed_names = {model.without_prefix(name) for name in inside}
            absent = [name for bare, name in own.items() if bare not in listed_names]
            if listed_names <= own.keys() | tied and absent:
                yield Problem.of(_PART, architecture=model.architecture, names=", ".join(map(shorten, absent[:3])))
                return


_PART = N_("The names fit {architecture}, but some of its tensors are not in the text, such as {names}.")


def _with_layers(config: Config, architecture: str, layers: int) -> Model:
    changed: dict[str, Any] = {type(config).own_name("num_hidden_layers"): layers}
    return Model(replace(config, **changed), architecture)


def _of_bits(reading: TextReading, by_bits: tuple[tuple[int, int], ...]) -> TextReading:
    """Return a reading with a count for each possible number of bits; the count so far assumes the first."""
    first = by_bits[0][1]
    possible = tuple(
        PossibleCount(
            (reading.num_parameters or 0) - first + elements,
            Problem.of(N_("if the packed weights have {bits} bits"), bits=bits),
        )
        for bits, elements in by_bits
    )
    return TextReading(reading.kind, reading.sentence, possible_counts=possible, notes=reading.notes)


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
        is_head = re.compile(rf"(?:^|(?<=\.)){re.escape(head)}$")  # also behind "module."
        renamed = [(is_head.sub(table, name), shape) for name, shape in listing.tensors]
        if renamed != [*listing.tensors]:
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
    counts = tuple(_of_listed_ties(tied, again.num_parameters, {name for name, _shape in listing.tensors}))
    if any(f"{counts[-1].parameters:{sign}}" in text for sign in (",", "")):
        return recognition, ()
    return again, counts


def _of_listed_ties(tied: Model, count: int, names: set[str]) -> Iterator[PossibleCount]:
    """Yield the counts with a tied and with an untied head; older releases tie the bias of the head in both."""
    untied = with_ties(tied, False)
    biases = tied.ties().keys() - (untied.ties() if untied else {})
    unlisted = [
        tensor.num_parameters()
        for tensor in (untied.tensors(folded=False) if untied else ())
        if tensor.name in biases
        and tensor.name.endswith(".bias")
        and not any(name.endswith(tied.without_prefix(tensor.name)) for name in names)  # also behind "module."
    ]
    for possible in of_ties(tied, count):
        is_untied = possible.parameters > count
        yield possible._replace(parameters=possible.parameters - sum(unlisted)) if is_untied else possible


def _with_shared(shared: SharedTables | None, count: int, text: str) -> tuple[int | None, tuple[PossibleCount, ...]]:
    """Count shared matrices once, and return the possible counts if a head may be tied or separate.

    ``count`` counts every listed tensor. The number is None if the names do not show whether the class ties the head.
    """
    if shared is None:
        return count, ()
    count -= shared.repeated
    if not shared.heads:
        return count, ()
    heads = (name for name in shared.heads if name.endswith(".weight"))
    possible = of_tie(count - shared.parameters, count, ", ".join(map(shorten, heads)))
    for stated in possible:
        if any(f"{stated.parameters:{sign}}" in text for sign in (",", "")):
            return stated.parameters, ()
    return possible[0].parameters if shared.is_known else None, possible


def _stacks(shared: SharedTables | None) -> Iterator[Problem]:
    if shared and shared.stacks:
        names = ", ".join(map(shorten, (shared.table, *shared.stacks)))
        yield Problem.of(N_("Counted once, because they are the same table: {names}."), names=names)


_AGAIN = N_("{count} tensors are listed more than once: if the text has several models, paste one of them.")


def _notes(listing: Listing, left_out: bool) -> Iterator[Problem]:
    yield from listing.contradictions
    if left_out:
        yield Problem.of(N_("Some lines of the listing are missing."))
    if _has_several(listing):
        yield Problem.of(_AGAIN, count=listing.repeated)
    if listing.tensors and listing.tensors[0][0].startswith(f"{_NAMELESS} "):
        yield Problem.of(N_("The tensors have no names, so their model is unknown."))
    if listing.optimizer:
        message = N_("Variables of the optimizer, which are left out: {count}.")
        yield Problem.of(message, count=listing.optimizer)
    if listing.quantized:
        message = N_("Quantized weights: {count}. Their scales, zero points and tables are not counted.")
        yield Problem.of(message, count=listing.quantized)
    if listing.packed:
        message = N_("Not counted, because they are packed in an unknown format: {names}.")
        yield Problem.of(message, names=", ".join(map(shorten, listing.packed[:4])))
    if listing.buffers:
        message = N_("Not counted, because they are buffers: {names}.")
        yield Problem.of(message, names=", ".join(map(shorten, listing.buffers[:4])))
