"""Recognize the kind of a pasted text, and read it as that kind.

>>> read("Linear(in_features=768, out_features=2, bias=True)").num_parameters
1538
>>> print(read("fc.weight torch.Size([2, 768])\\nfc.bias torch.Size([2])"))
Read as: a listing of 2 tensors.
The text describes 1,538 parameters.
"""

import re
from collections.abc import Callable

from bertcalc.diagnosis.number_meanings import number_asked, only_number, whole_line_of_peft
from bertcalc.families import build
from bertcalc.families.presets import DEFAULT_PRESET
from bertcalc.model.model import Model
from bertcalc.proofreading.mentions.model_names import models_named
from bertcalc.proofreading.mentions.program import is_program
from bertcalc.proofreading.proofread import proofread
from bertcalc.reading.adapter_files import adapter_content, read_adapter
from bertcalc.reading.config_text import config_in, looks_like_config
from bertcalc.reading.explained import (
    is_hand_count,
    number_in,
    number_kind,
    read_article,
    read_hand_count,
    read_number,
    read_peft_line,
    read_program,
)
from bertcalc.reading.fvcore_table import read_fvcore, rows_of
from bertcalc.reading.json_files import json_kind, read_config, read_json_file
from bertcalc.reading.lightning_table import lightning_table, read_lightning
from bertcalc.reading.listing import Listing, is_list_of_counts, listed, names_alone, read_listing
from bertcalc.reading.plain_lines import checked_length, sentences
from bertcalc.reading.printed_model import read_printed
from bertcalc.reading.printed_tree import printed_models
from bertcalc.reading.published_name import NO_PRESET, name_in, read_name
from bertcalc.reading.summary_table import read_table, table_kind
from bertcalc.reading.text_reading import KINDS, Kind, TextReading
from bertcalc.text import N_
from bertcalc.text.arguments import checked, choice
from bertcalc.text.arithmetic import TIMES
from bertcalc.text.problem import wrong

_LONGEST_CALCULATION = 300
_WORDS = re.compile(r"[^\W\d_]{2,}")
_FEWEST_WORDS, _FEW_WORDS = 12, 4  # minimum number of words in an article, and in one that names a model
_CHINESE = re.compile("[\u4e00-\u9fff]")
_SHORT = re.compile(
    r"[0-9] ?(?:(?:million|billion|[kMB]) )?(?:trainable )?(?:param|FLOP|MAC|亿|万|个?参数)|params?:? {1,9}[0-9]",
    re.IGNORECASE,
)
_NOTHING = N_(
    "bertcalc cannot recognize this: paste a number, a calculation, a config.json, the output of "
    "print(model), a list of tensors, a summary, or an article."
)


@checked
def read(text: str, kind: Kind | None = None, model: Model | None = None) -> TextReading:
    """Read a text as ``kind``, or recognize its kind first.

    Args:
        text: Anything of at most 1,000,000 characters: a number, a calculation, a hand count, an article, a
            config.json, the name of a published model, a printed model, a listing of tensors, a summary of Keras,
            torchinfo or torchsummary, an index or a header of safetensors files, or an adapter_config.json. Nothing in
            it is executed.
        kind: The kind of the text; None to recognize it.
        model: The model that numbers and hand counts are compared with; BERT-base if it is None.

    Returns:
        The kind, the model, the number of parameters, and sentences about them.

    Raises:
        InputError: The text is too long, or is not of this kind.

    Example:
        >>> read("110M").kind, read("Bert", "article").kind
        ('number', 'article')
    """
    checked_length(text)
    if kind is not None:
        choice("kind", kind, KINDS)
    text = _uncommented(text)
    present = build(DEFAULT_PRESET) if model is None else model
    plain = text.translate(_TIMES)
    chosen = kind or kind_of(plain, present)
    text = text if chosen in ("article", "program") else plain  # articles and programs are shown unchanged
    if chosen in _OF_NUMBERS:
        return _OF_NUMBERS[chosen](text, present)
    return _READERS[chosen](text)


def _uncommented(text: str) -> str:
    """Uncomment a JSON object in which every line starts with #; return other texts unchanged."""
    lines = [line.lstrip() for line in text.split("\n") if line.strip()]
    is_object = len(lines) > 1 and lines[0].startswith("#") and lines[0].lstrip("# ").startswith("{")
    return _COMMENT.sub("", text) if is_object and all(line.startswith("#") for line in lines) else text


_COMMENT = re.compile(r"^[ \t]*#", re.MULTILINE)


def _read_config(text: str) -> TextReading:
    name = name_in(text)
    return read_name(text) if name and name.preset else read_config(text)


def _read_listing(text: str) -> TextReading:
    if table := rows_of(text):
        return read_fvcore(table)
    summary = lightning_table(text)
    return read_lightning(summary) if summary else read_listing(text)


_TIMES = str.maketrans(dict.fromkeys(TIMES, "×"))
_OF_NUMBERS: dict[Kind, Callable[[str, Model], TextReading]] = {
    "number": read_number,
    "calculation": read_number,
    "hand-count": read_hand_count,
    "article": read_article,
    "program": read_program,
    "peft-line": read_peft_line,
}
_READERS: dict[Kind, Callable[[str], TextReading]] = {
    "config": _read_config,
    "printed-model": read_printed,
    "listing": _read_listing,
    **dict.fromkeys(("keras-summary", "torchinfo", "torchsummary"), read_table),
    "adapter-config": read_adapter,
    **dict.fromkeys(("safetensors-index", "safetensors-header", "other-file"), read_json_file),
}


def kind_of(text: str, model: Model) -> Kind:
    """Recognize the kind of a text. Raises InputError if the text is of no known kind."""
    if len(text) <= _LONGEST_CALCULATION and number_in(text, model) and not _is_judged(text):
        return number_kind(number_asked(text))
    if len(text) <= _LONGEST_CALCULATION and whole_line_of_peft(text):
        return "peft-line"
    if _ARITHMETIC.fullmatch(text.strip()) and not _SEVERAL.search(text):
        return "calculation"  # the reader of calculations explains what is wrong with the text
    if (name := name_in(text)) and name.preset:
        return "config"
    kind = json_kind(text)
    if kind is None and adapter_content(text):
        return "adapter-config"
    kind = kind or ("config" if looks_like_config(text) else None) or table_kind(text)
    kind = kind or _structure(text, model)
    if kind:
        return kind
    if config_in(text) != text:
        return "config"
    if is_hand_count(text, model):
        return "hand-count"
    if is_program(text):
        return "program"
    if (
        len(_WORDS.findall(text)) >= _FEWEST_WORDS
        or _SHORT.search(text)
        or proofread(text[:_LONGEST_CALCULATION]).claims
        or (len(text.split()) + len(_CHINESE.findall(text)) >= _FEW_WORDS and models_named(text))
    ):
        return "article"
    if text.lstrip()[:1] == "{":
        return "config"  # the reader of configurations explains what is wrong with the text
    if (name := name_in(text)) and name.is_repository:
        raise wrong(NO_PRESET, name=name.name)
    raise wrong(_NOTHING)


_ARITHMETIC, _SEVERAL = re.compile(r"[-+−(]{0,9}[0-9][0-9.,eE+−*×/^() -]{0,300}"), re.compile(r"[0-9]\s+[0-9]|--")


def _is_judged(text: str) -> bool:
    """Whether a sentence with a single number names a model, or the proofreader can judge this number."""
    number = only_number(text)
    if number and models_named(text):
        return True
    return bool(number) and any(
        number in claim.text and claim.verdict in ("right", "wrong") for claim in proofread(text).claims
    )


def _structure(text: str, model: Model) -> Kind | None:
    """Return the kind of a printed model or a listing; None for other texts, such as prose with some shapes in it."""
    if rows_of(text) or lightning_table(text):
        return "listing"
    lines = sum(bool(line.strip()) for line in text.split("\n"))
    trees = printed_models(text)
    printed = sum(tree.lines for tree in trees)
    listing = listed(text) if _SHAPES.search(text) and not _is_calculation(text) else Listing(())
    tensors = len(listing.tensors) + listing.optimizer + _BESIDE * listing.quantized
    if printed and _SHARE * printed >= lines:
        return "printed-model"
    if tensors > sentences(text) and _SHARE * tensors >= lines:
        return "listing"
    return "listing" if is_list_of_counts(text, model) or names_alone(text) else None


def _is_calculation(text: str) -> bool:
    """Whether the products with × in a text are calculations rather than shapes."""
    return not _BRACKETS.search(text) and ("=" in text or not _NAMED_SHAPE.search(text))


_BRACKETS = re.compile(r"[\[(x]")
_NAMED_SHAPE = re.compile(r"\.(?:weight|bias)\b[^\n]{1,80}×")
_SHAPES = re.compile(r"[\[(x×]")
_BESIDE = 3  # number of tensors that are stored beside a quantized weight
_SHARE = 4  # at least 1/4 of the lines have to be modules or tensors; half of a printout may be parentheses
