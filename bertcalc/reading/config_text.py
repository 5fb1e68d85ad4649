"""Recognize and parse a configuration in JSON, as printed by transformers, or as a Python dictionary.

>>> config_from_text("BertConfig {'hidden_size': 128, 'is_decoder': False,}  # small")
{'model_type': 'bert', 'hidden_size': 128, 'is_decoder': False}
>>> looks_like_config('{"hidden_size": 128}'), looks_like_config("hidden_size = 128")
(True, False)
"""

import json
import re
from collections.abc import Collection, Iterable, Iterator
from itertools import islice
from typing import Any

from bertcalc.config import ConfigError
from bertcalc.config.fields import EVERY_LETTER
from bertcalc.families import FAMILIES
from bertcalc.families.config_files.size_names import SIZE_NAMES
from bertcalc.families.hf_json import LARGEST, read_object
from bertcalc.proofreading.mentions.config_code import configs_in_code
from bertcalc.text.arguments import checked
from bertcalc.text.loose_json import NAMESPACE, as_json, begins_object, class_in_front
from bertcalc.text.problem import InputError

_READ = 20_000  # maximum number of characters that are searched for keys
_KEY = re.compile(r"""["'“]?\b([A-Za-z_]{1,60})["'”]?[ \t]{0,9}[:：=]""")
_KEYS = SIZE_NAMES | {"model_type", "architectures", "transformers_version", "id2label", "auto_map"}
_OTHER_KEYS = frozenset({"nbformat", "data_offsets", "weight_map"})


@checked
def config_from_text(text: str) -> dict[str, Any]:
    """Parse the text of a config.json in any common notation.

    Args:
        text: At most 1,000,000 characters of JSON, or 200,000 characters of another notation: ``BertConfig {...}`` as
            transformers prints it, a Python dictionary, or the call ``BertConfig(hidden_size=128)``. If there is no
            model type, the name ``BertConfig`` implies it. Comments, single quotes and trailing commas are allowed.
            Nothing in the text is executed.

    Returns:
        The keys and values as in the text.

    Raises:
        ConfigError: The text is not an object, is ambiguous, or is a file that does not describe a model.

    Example:
        >>> config_from_text("{'vocab_size': 30_522}")
        {'vocab_size': 30522}
    """
    try:
        return read_object(text)
    except InputError as error:
        raise ConfigError(*error.problems) from None


def config_in(text: str) -> str:
    """Extract a configuration from the text around it: a few words, a code block or Python code.

    Lines of keys and values are rewritten as a JSON object; any other text is returned unchanged.

    >>> config_in('Our model: {"hidden_size": 128, "num_hidden_layers": 2}')
    '{"hidden_size": 128, "num_hidden_layers": 2}'
    >>> config_in("config = BertConfig(hidden_size=128, num_hidden_layers=2)\\nmodel = BertModel(config)")
    'BertConfig(hidden_size=128, num_hidden_layers=2, architectures=["BertModel"])'
    >>> config_in("hidden_size: 128\\nnum_hidden_layers: 2\\nvocab_size: 99")
    '{"hidden_size": 128, "num_hidden_layers": 2, "vocab_size": 99}'
    >>> config_in("H = {768}")
    'H = {768}'
    """
    if len(text) > LARGEST:
        return text
    least = len(text) if _is_log(text) else _LEAST_CALL
    calls = (_block(text, call.start(), call.end() - 1, least) for call in _CALL.finditer(text))
    if is_loading(text) and (loaded := configs_in_code(text).configs):
        return loaded[0].text
    block = next(filter(None, islice(calls, _MOST_CALLS)), "")
    block = block or next((call[0] for call in _DEFAULTS.finditer(text)), "")
    is_code = block.endswith(")") or (begins_object(text) and as_json(text) is None)
    if is_code and len(configs := configs_in_code(text).configs) == 1:
        return configs[0].text
    if block.endswith(")"):
        block = _with_class(_PRODUCT.sub(lambda product: f"{int(product[1]) * int(product[2])}", block), text, block)
    block = "" if _DEFAULTS.fullmatch(block) else block  # ignore defaults if no model is built
    return block or ("" if begins_object(text) else _object_in(text) or config_of_lines(text)) or text


def is_loading(text: str) -> bool:
    """Whether at least a fifth of a text are calls that load a model, or build it from a configuration in the call.

    >>> is_loading('model = BertModel.from_pretrained("bert-base-uncased", num_hidden_layers=2)')
    True
    """
    calls = sum(len(call[0]) for call in _LOADS.finditer(text))
    return _LEAST_LOAD * calls >= len(text.strip()) > 0


_LOADS = re.compile(
    r"\b(?:[A-Z]\w{1,60}(?:(?:Config|Model|For\w{1,40})\.from_pretrained\(|(?:Model|For\w{1,40})\(\s?[A-Z]\w{1,60}Config\()"
    r"|SentenceTransformer\(|pipeline\()[^)]{1,600}\)"
)


def _is_log(text: str) -> bool:
    """Whether a text is a log in which transformers printed one configuration.

    Such a log describes this configuration, no matter how long the log is.
    """
    printed = {_NAMED_FILE.sub("", block[0]) for block in _PRINTED.finditer(text)}
    lines = [line for line in text.split("\n") if line.strip() and not _IN_OBJECT.match(line)]
    is_about_one = len(printed) == 1 and not any(map(_OF_COUNT.search, lines))
    return is_about_one and 2 * sum(map(bool, map(_LOG_LINE.match, lines))) >= len(lines)


_PRINTED = re.compile(r"\bModel config [A-Z][A-Za-z0-9]{0,60}Config \{[^}]{0,20000}\}")
_NAMED_FILE = re.compile(r"\"_?name_or_path\": [^\n]{0,300}\n")
_IN_OBJECT = re.compile(r"\s*(?:[\"'][\w.]{1,60}[\"']\s?:|[{}\[\]]|-?[0-9][0-9.eE+-]{0,20},?\s*$)")
_OF_COUNT = re.compile(r"\bparam|参数", re.I)
_LOG_LINE = re.compile(
    r"\s*(?:[\[(]?[0-9]{2,4}[-/:][0-9]{2}.{0,30}(?:[0-9]{2}:[0-9]{2}|\b(?:INFO|WARNING|DEBUG|ERROR)\b)"
    r"|[\[(]?(?:INFO|WARNING|DEBUG|ERROR)\b|[a-z]*loading\b|Model config\b|Some weights\b|- This IS\b|You should\b"
    r"|All (?:the |model )|If your task\b|creating\b|storing\b|Didn't find\b|PyTorch version\b|Generate config\b"
    r"|Special tokens\b|Assigning\b|Instantiating\b|https?:|\S+: +[0-9]+%)",
    re.I,
)


def _block(text: str, start: int, bracket: int, share: int) -> str:
    """Return the text from ``start`` to the closing bracket.

    The result is empty unless this block has sizes and is at least 1/``share`` of the whole text.
    """
    depth = 0
    for sign in _BRACKET.finditer(text, bracket, bracket + _READ):
        depth += 1 if sign[0] in "([{" else -1
        if not depth:
            block = text[start : sign.end()]
            return block if share * len(block) >= len(text.strip()) and has_sizes(block) else ""
    return ""


def _with_class(call: str, text: str, written: str) -> str:
    """Add the class that the text builds, as in ``BertForMaskedLM(config)``, to the call of a configuration.

    ``written`` is the call as written in the text.
    """
    before, _call, after = text.partition(written)
    variable = _ASSIGNED.search(before)
    if variable is None or "architectures" in call:
        return call
    built = re.search(rf"\b([A-Z]\w{{2,60}})\(\s{{0,40}}(?:config\s?=\s?)?{variable[1]}\s{{0,40}}[,)]", after)
    arguments = call[:-1].rstrip().rstrip(",")
    comma = "" if arguments.endswith("(") else ", "
    return f'{arguments}{comma}architectures=["{built[1]}"])' if built else call


_PRODUCT = re.compile(r"(?<==)\s?([0-9]{1,6})\s?\*\s?([0-9]{1,6})(?=\s{0,9}[,)])")
_DEFAULTS = re.compile(r"\b[A-Z][A-Za-z0-9]{0,60}Config\(\s{0,9}\)")
_ASSIGNED = re.compile(r"([A-Za-z_]\w{0,60})\s{0,20}=\s{0,20}$")


def _object_in(text: str) -> str:
    """Return the object that makes up at least half of a text; empty if there is none."""
    symbols = sum(ord(sign) > _SYMBOLS and not sign.isalnum() for sign in text)
    start, depth, least = -1, 0, (len(text.strip()) - symbols) // 2
    for brace in _BRACE.finditer(text):
        if brace[0] == "{":
            start, depth = start if depth else brace.start(), depth + 1
        elif depth:
            depth -= 1
            if not depth and brace.end() - start >= least and has_sizes(text[start : brace.end()]):
                return text[start : brace.end()]
    return ""


def config_of_lines(text: str) -> str:
    """Convert lines of keys and values, as in YAML, to a JSON object; empty unless at least three keys are sizes."""
    if metadata := _of_gguf(text[:_READ]):
        return metadata
    lines = [line.strip() for line in _ENTRIES.split(text[:_READ]) if line.strip() and not _SECTION.fullmatch(line)]
    if len(lines) > _HEAD_OF_TABLE and lines[0].startswith("|") and _RULE.fullmatch(lines[1]):
        lines = list(_of_rows(lines[_HEAD_OF_TABLE:]))
    written = {match[1]: match[2] for match in map(_LINE.fullmatch, lines) if match}
    pairs = {_field(key, written): value.replace(",", "") for key, value in written.items()}
    sizes = [value for key, value in pairs.items() if key in SIZE_NAMES]
    if (
        len(text) > _READ
        or len(pairs) != len(lines)
        or len(sizes) < _FEWEST_LINES
        or not all(map(str.isdecimal, sizes))
    ):
        return ""
    return "{" + ", ".join(f'"{key}": {_value(value)}' for key, value in pairs.items()) + "}"


def _field(key: str, keys: Collection[str]) -> str:
    """The field that a key means: shell variables are in capitals, and all keys may be letters of formulas."""
    if {"L", "H"} <= set(keys) <= set(EVERY_LETTER.values()):
        return next(field for field, letter in EVERY_LETTER.items() if letter == key)
    return key.lower() if key.isupper() and len(key) > 1 else key


def _of_gguf(text: str) -> str:
    """Convert the metadata of a GGUF file, as llama.cpp prints it, to a JSON object; empty for other texts."""
    written = {(match["type"], match["key"], int(match["size"])) for match in _GGUF.finditer(text)}
    if len(written) < _FEWEST_LINES or len({key for _kind, key, _size in written}) < len(written):
        return ""  # two files in one text
    [kind] = {kind.replace("-", "_") for kind, _key, _size in written}
    names = FAMILIES[kind].config.attribute_map if kind in FAMILIES else {}
    content: dict[str, Any] = {"model_type": kind if kind in FAMILIES else f"{kind} (GGUF)"}
    content |= {names.get(_GGUF_NAMES[key], _GGUF_NAMES[key]): size for _kind, key, size in written}
    if tokens := _GGUF_TOKENS.search(text):
        content["vocab_size"] = int(tokens[1])
    return json.dumps(content)


_GGUF_NAMES = {
    "block_count": "num_hidden_layers",
    "embedding_length": "hidden_size",
    "feed_forward_length": "intermediate_size",
    "attention.head_count": "num_attention_heads",
    "context_length": "max_position_embeddings",
}
_GGUF = re.compile(
    rf"(?<![\w.])(?P<type>[a-z][a-z0-9_-]{{1,30}})\.(?P<key>{'|'.join(map(re.escape, _GGUF_NAMES))})"
    r"[ \t]{1,99}(?:u?int|u)[0-9]{2}[ \t]{0,99}[=:][ \t]{0,99}(?P<size>[0-9]{1,9})(?![0-9])"
)
_GGUF_TOKENS = re.compile(r"tokenizer\.ggml\.tokens[ \t]{1,99}arr\[str, ?([0-9]{1,9})\]")


def repeated_sizes(text: str) -> dict[str, list[str]]:
    """Return the sizes that have several values in lines of keys and values, each with its values.

    The result is empty unless such lines are at least half of the text.

    >>> repeated_sizes("hidden_size=8\\nnum_hidden_layers=1\\nvocab_size=99\\nnum_hidden_layers=2")
    {'num_hidden_layers': ['1', '2']}
    """
    if len(text) > _READ or begins_object(text):
        return {}
    lines = [line.strip() for line in text.split("\n") if line.strip()]
    values: dict[str, list[str]] = {}
    for match in filter(None, map(_LINE.fullmatch, lines)):
        if match[1] in SIZE_NAMES and match[2].isdecimal() and match[2] not in values.setdefault(match[1], []):
            values[match[1]].append(match[2])
    count = sum(map(len, values.values()))
    is_config = len(values) >= _FEWEST_LINES and 2 * count >= len(lines)
    return {key: several for key, several in values.items() if len(several) > 1} if is_config else {}


def _value(text: str) -> str:
    """Convert a value to JSON; a word without quotes becomes a string."""
    plain = _WORDS.get(text.lower(), text)
    return plain if plain in _WORDS.values() or _NUMBER.fullmatch(plain) else json.dumps(text.strip("'\""))


def _of_rows(rows: Iterable[str]) -> Iterator[str]:
    """Yield the lines of keys and values in a table with two columns; a row with a count is left out."""
    for row in rows:
        match = _ROW.fullmatch(row)
        words = (
            " ".join(re.sub(r"[_-]|\b(?:number of|num|model)\b", " ", match["name"].lower()).split()) if match else ""
        )
        if match is None:
            yield row
        elif not _COUNT.match(words):
            yield f"{_LABELS.get(words, match['name'])}: {re.sub(',(?=[0-9]{3})', '', match['value'])}"


_FEWEST_SIZES, _FEWEST_LINES = 2, 3  # minimum number of sizes in an object, and in lines without braces


def has_sizes(block: str, fewest: int = _FEWEST_SIZES) -> bool:
    """Whether an object has at least ``fewest`` sizes of a model."""
    return len(SIZE_NAMES & set(_KEY.findall(block[:_READ]))) >= fewest


_SYMBOLS = 0x2000  # arrows, box drawings, emoji and other signs around an object are no text
_BRACE = re.compile(r"[{}]")
_BRACKET = re.compile(r"[][(){}]")
_CALL = re.compile(rf"\b(?:[A-Z][A-Za-z0-9]{{0,60}}Config\s{{0,9}}[({{]|{NAMESPACE}\()")
_LINE = re.compile(
    r"(?:--|[-*]|export(?= ))? {0,4}[\"']?([A-Za-z_]{1,60})[\"']?(?:[ \t]{0,20}[:=][ \t]{0,20}|[ \t]{1,40})"
    r"([0-9]{1,3}(?:,[0-9]{3}){1,3}|[\w.+'\"/-]{1,100}),?"
)
# Lines, the options of a command, or key=value, key=value.
_ENTRIES = re.compile(r"\n|[ \t](?=--[a-z])|,[ \t]{0,9}(?=[A-Za-z_]{1,60}[ \t]{0,9}[=:])")
_SECTION = re.compile(r"[ \t]*(?:\w{1,60}:|\[[\w.]{1,60}\])[ \t]*")  # a heading in YAML or TOML
_ROW = re.compile(
    r"\|[ \t*`]{0,9}(?P<name>[A-Za-z_][\w -]{0,60}?)[ \t*`]{0,9}\|"
    r"[ \t*`]{0,9}(?P<value>[\w.,+/-]{1,100})[ \t*`]{0,9}\|?"
)
_COUNT = re.compile(r"(?:total |trainable )?param")
_LABELS = {
    **dict.fromkeys(("layers", "hidden layers", "encoder layers", "transformer layers"), "num_hidden_layers"),
    **dict.fromkeys(("hidden size", "hidden dim", "hidden dimension", "hidden", "d", "dimension"), "hidden_size"),
    **dict.fromkeys(("attention heads", "heads"), "num_attention_heads"),
    **dict.fromkeys(("ffn inner", "ffn size", "ffn dim", "ffn", "feed forward size"), "intermediate_size"),
    **dict.fromkeys(("intermediate size", "ffn hidden size", "ffn inner hidden size"), "intermediate_size"),
    **dict.fromkeys(("vocab size", "vocabulary size", "vocab", "vocabulary"), "vocab_size"),
    **dict.fromkeys(("max position embeddings", "max positions", "max length"), "max_position_embeddings"),
}
_RULE, _HEAD_OF_TABLE = re.compile(r"\|[-:| ]{3,200}"), 2  # the line between the head and the rows, and their number
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]{0,17})(?:\.[0-9]{1,20})?(?:[eE][+-]?[0-9]{1,3})?")
_WORDS = {"true": "true", "false": "false", "null": "null", "none": "null"}
# A call has to be at least a quarter of the text, calls that load at least a fifth; only the first calls are tried.
_LEAST_CALL, _LEAST_LOAD, _MOST_CALLS = 4, 5, 20


@checked
def looks_like_config(text: str) -> bool:
    """Whether a text is probably a configuration: an object with a typical key. The text is not parsed.

    Example:
        >>> looks_like_config("Model config BertConfig {}"), looks_like_config('{"cells": [], "nbformat": 4}')
        (True, False)
    """
    if len(text) > LARGEST or not begins_object(text):
        return False
    keys = set(_KEY.findall(text[:_READ]))
    printed = bool(class_in_front(text))
    return (printed or not keys.isdisjoint(_KEYS)) and keys.isdisjoint(_OTHER_KEYS)
