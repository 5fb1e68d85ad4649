"""Recognize the kind of a pasted text, and read it as that kind.

>>> read("Linear(in_features=768, out_features=2, bias=True)").num_parameters
1538
>>> print(read("fc.weight torch.Size([2, 768])\\nfc.bias torch.Size([2])"))
Read as: a listing of 2 tensors.
The text describes 1,538 parameters.
"""

import re
from collections.abc import Callable
from itertools import pairwise
from os.path import commonprefix

from bertcalc.diagnosis.number_meanings import (
    is_answered,
    number_asked,
    only_number,
    whole_line_of_peft,
)
from bertcalc.families import build
from bertcalc.families.presets import DEFAULT_PRESET
from bertcalc.model.model import Model
from bertcalc.proofreading.mentions.config_code import configs_in_code
from bertcalc.proofreading.mentions.model_names import models_named
from bertcalc.proofreading.mentions.program import is_program
from bertcalc.proofreading.proofread import proofread
from bertcalc.reading.adapter_files import adapter_content, read_adapter
from bertcalc.reading.config_text import config_in, config_of_lines, is_loading, looks_like_config, repeated_sizes
from bertcalc.reading.explained import (
    is_hand_count,
    number_in,
    number_kind,
    read_article,
    read_hand_count,
    read_number,
    read_peft_line,
    read_program,
    states_part,
)
from bertcalc.reading.fvcore_table import read_fvcore, rows_of
from bertcalc.reading.json_files import json_kind, read_config, read_json_file, tensor_lines
from bertcalc.reading.lightning_table import lightning_table, read_lightning
from bertcalc.reading.listing import Listing, is_list_of_counts, listed, names_alone, read_listing
from bertcalc.reading.loading_messages import is_loading_message, read_loading, without_messages
from bertcalc.reading.plain_lines import checked_length, sentences, without_ansi
from bertcalc.reading.pointer_files import pointed_size, read_pointer
from bertcalc.reading.printed_model import read_printed
from bertcalc.reading.printed_tree import printed_models
from bertcalc.reading.published_name import (
    NO_PRESET,
    is_unlisted_name,
    name_in,
    presets_called,
    read_called,
    read_name,
)
from bertcalc.reading.several_configs import are_several
from bertcalc.reading.summary_table import read_table, table_kind
from bertcalc.reading.tensors.bare_numbers import with_plain_numbers
from bertcalc.reading.tensors.batch_shapes import may_be_parameters
from bertcalc.reading.text_reading import KINDS, Kind, TextReading
from bertcalc.text import N_
from bertcalc.text.arguments import checked, choice
from bertcalc.text.arithmetic import TIMES
from bertcalc.text.loose_json import begins_object
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
        text: Anything of at most 1,000,000 characters (an article or a program: at most 100,000): a number, a
            calculation, a hand count, an article, a config.json, the name of a published model, a printed model, a
            listing of tensors, a summary of Keras, torchinfo or torchsummary, an index or a header of safetensors
            files, or an adapter_config.json. Nothing in it is executed.
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
    text = tensor_lines(_without_log(_without_margin(_unescaped(text))))
    if (conflict := _CONFLICT.search(text)) and text.lstrip()[:1] in ("{", "["):
        raise wrong(_UNRESOLVED, line=text.count("\n", 0, conflict.start()) + 1)
    present = build(DEFAULT_PRESET) if model is None else model
    plain = _WIDTH.sub(r"\1 bytes", with_plain_numbers(text.translate(_TIMES)))
    chosen = kind or kind_of(plain, present)
    text = text if chosen in ("article", "program") else plain  # articles and programs are shown unchanged
    if chosen in _OF_NUMBERS:
        return _OF_NUMBERS[chosen](text, present)
    return _READERS[chosen](text)


def _unescaped(text: str) -> str:
    """Return the object in a text that is a JSON string; return other texts unchanged."""
    plain = text.strip()
    if plain[:1] in ("'", '"') and plain[1:].lstrip()[:1] == "{" and plain[-1:] == plain[:1]:
        plain = plain[1:-1]
    if not (plain.startswith("{") and plain.endswith("}")) or _PLAIN_QUOTE.search(plain) or '\\"' not in plain:
        return text
    return plain.replace("\\n", "\n").replace('\\"', '"')


_PLAIN_QUOTE = re.compile(r'(?<!\\)"')


_CONFLICT = re.compile(r"^(?:<{7} |={7}$|>{7} )", re.MULTILINE)
_UNRESOLVED = N_("This file has an unresolved merge conflict in line {line}: keep one of the two versions.")


def _without_log(text: str) -> str:
    """Return the object in a log that writes the time before each of its lines; return other texts unchanged."""
    lines = [line for line in text.split("\n") if line.strip()]
    if len(lines) < _FEWEST_LOGGED or not lines[0].rstrip().endswith("{") or not lines[0][:1].strip():
        return text
    prefix = commonprefix([_DIGIT.sub("0", line) for line in lines]).rstrip(" ")  # noqa: RUF071 # of characters
    inside = "\n".join(line[len(prefix) :] for line in lines)
    return inside if "0" in prefix and len(prefix) >= _FEWEST_LOGGED and begins_object(inside.strip()) else text


_DIGIT, _FEWEST_LOGGED = re.compile("[0-9]"), 5


def _without_margin(text: str) -> str:
    """Return the configuration in a text whose lines are colored, quoted, commented out or numbered.

    Numbers of lines increase by 1. Other texts are returned unchanged.
    """
    plain = without_ansi(text) if "\x1b" in text else text
    lines = plain.split("\n")
    written = [line for line in lines if line.strip()]
    for margin in _MARGINS:
        matches = [margin.match(line) for line in written]
        numbers = [int(match["number"]) for match in matches if match and match.lastgroup]
        if all(matches) and all(second - first == 1 for first, second in pairwise(numbers)):
            lines = [margin.sub("", line, count=1) for line in lines]
            written = [line for line in lines if line.strip()]
    inside = "\n".join(lines)
    is_config = inside != text and (begins_object(inside) or config_in(inside) != inside)
    return inside if is_config else text


_MARGINS = (
    re.compile(r"[ \t]{0,40}(?:> ?){1,9}"),
    re.compile(r"[ \t]{0,40}(?:#|//) ?"),
    re.compile(r"[ \t]{0,8}(?P<number>[0-9]{1,6})(?: ?[|:.│] ?|[ \t]+|$)"),
)


def _read_config(text: str) -> TextReading:
    name = name_in(text)
    if name and name.preset and not name.architecture:
        return read_name(text)
    return read_called(text) if presets_called(text) else read_config(text)


def _read_listing(text: str) -> TextReading:
    if table := rows_of(text):
        return read_fvcore(table)
    summary = lightning_table(text)
    return read_lightning(summary) if summary else read_listing(text)


def _read_other_file(text: str) -> TextReading:
    pointer = pointed_size(text)
    return read_pointer(*pointer) if pointer else read_json_file(text)


# Bytes per parameter after a count, such as 109,482,240 × 4 B: B does not mean billions.
_WIDTH = re.compile(r"((?<![\w.,])(?:[0-9][0-9,]{5,15}|[0-9.]{1,9} ?M) ?[×*] ?[1248]) ?B\b")
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
    "loading-message": read_loading,
    **dict.fromkeys(("keras-summary", "torchinfo", "torchsummary"), read_table),
    "adapter-config": read_adapter,
    **dict.fromkeys(("safetensors-index", "safetensors-header"), read_json_file),
    "other-file": _read_other_file,
}


def kind_of(text: str, model: Model) -> Kind:
    """Recognize the kind of a text. Raises InputError if the text is of no known kind."""
    if pointed_size(text):
        return "other-file"
    message = is_loading_message(text)
    is_short = not message and len(text) <= _LONGEST_CALCULATION and not begins_object(text) and not _KEYED.search(text)
    is_short = is_short and not config_of_lines(text)
    if is_short and not _SHAPED_TENSOR.search(text) and states_part(text, model):
        return "hand-count"
    if is_short and number_in(text, model) and (is_answered(text) or not _is_judged(text)):
        return number_kind(number_asked(text))
    if len(text) <= _LONGEST_CALCULATION and whole_line_of_peft(text):
        return "peft-line"
    if _ARITHMETIC.fullmatch(text.strip()) and not _SEVERAL.search(text):
        return "calculation"  # the reader of calculations explains what is wrong with the text
    if ((name := name_in(text)) and name.preset) or presets_called(text):
        return "config"
    kind = json_kind(text)
    if kind == "other-file" and are_several(text):
        return "config"
    if kind is None and adapter_content(text):
        return "adapter-config"
    kind = kind or ("config" if looks_like_config(text) else None) or table_kind(text)
    kind = kind or _structure(without_messages(text) if message else text, model)
    if kind:
        return kind
    if message and not _is_judged_article(without_messages(text)):
        return "loading-message"
    if config_in(text) != text or are_several(text) or repeated_sizes(text):
        return "config"
    if is_hand_count(text, model):
        return "hand-count"
    if (is_program(text) or is_loading(text)) and _only_builds(text):
        return "config"
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
    if is_unlisted_name(text):
        raise wrong(NO_PRESET, name=text.strip())
    raise wrong(_NOTHING)


# A tensor with its shape, possibly after its dtype.
_SHAPED_TENSOR = re.compile(r"\.(?:weight|bias)\b\W{1,6}(?:\w{1,16}\W{1,6})?(?:torch\.Size\()?[\[(]")
_KEYED = re.compile(r"[{,，]\s{0,9}[\"'“][A-Za-z_]{1,60}[\"'”]\s{0,9}[:：]")  # keys of an object
_ARITHMETIC, _SEVERAL = re.compile(r"[-+−(]{0,9}[0-9][0-9.,eE+−*×/^() -]{0,300}"), re.compile(r"[0-9]\s+[0-9]|--")


def _is_judged_article(text: str) -> bool:
    """Whether the proofreader can judge a number in the first lines of a text."""
    return any(claim.verdict in ("right", "wrong") for claim in proofread(text[:_HEAD]).claims)


_HEAD = 5_000  # characters


def _only_builds(text: str) -> bool:
    """Whether code builds or loads a model, and no number in the text can be judged."""
    code = configs_in_code(text)
    return bool(code.configs or code.unlisted or code.unnamed) and not proofread(text).claims


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
    if not may_be_parameters((name for name, _shape in listing.tensors), text):
        listing = Listing(())
    tensors = len(listing.tensors) + listing.optimizer + _BESIDE * listing.quantized
    if printed and _SHARE * printed >= lines:
        return "printed-model"
    if tensors > sentences(text) and _SHARE * tensors >= lines:
        return "listing"
    return "listing" if is_list_of_counts(text, model) or names_alone(text) else None


def _is_calculation(text: str) -> bool:
    """Whether the products in a text are calculations rather than shapes."""
    if _COMPUTED.search(text) and not _TENSOR.search(text):
        return True
    return not _BRACKETS.search(text) and ("=" in text or not _NAMED_SHAPE.search(text))


# A product after an equals sign, in a sum or with a unit: W_Q = 768 x 768, 768x768+768, 12 x 64 x 2 bytes
_COMPUTED = re.compile(
    r"=\s*[(0-9][0-9,]{0,20} ?[x×] ?[0-9(]|[0-9] ?[x×] ?[0-9][0-9,]{0,20}\)? ?(?:[+*]|bytes)|[0-9] ?[x×] ?\("
)
_TENSOR = re.compile(r"\w\.(?:weight|bias)\b|(?i:shape)")
_BRACKETS = re.compile(r"[\[(x]")
_NAMED_SHAPE = re.compile(r"\.(?:weight|bias)\b[^\n]{1,80}×")
_SHAPES = re.compile(r"[\[(x×]")
_BESIDE = 3  # number of tensors that are stored beside a quantized weight
_SHARE = 4  # at least 1/4 of the lines have to be modules or tensors; half of a printout may be parentheses
