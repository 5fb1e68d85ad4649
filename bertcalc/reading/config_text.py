"""Recognize and parse the text of a configuration: JSON, as transformers prints it, or a Python dictionary.

>>> config_from_text("BertConfig {'hidden_size': 128, 'is_decoder': False,}  # small")
{'model_type': 'bert', 'hidden_size': 128, 'is_decoder': False}
>>> looks_like_config('{"hidden_size": 128}'), looks_like_config("hidden_size = 128")
(True, False)
"""

import re
from typing import Any

from bertcalc.config import ConfigError
from bertcalc.families.config_files.size_names import SIZE_NAMES
from bertcalc.families.hf_json import LARGEST, read_object
from bertcalc.text.arguments import checked
from bertcalc.text.loose_json import begins_object, class_in_front
from bertcalc.text.problem import InputError

_READ = 20_000  # characters in which a key is searched
_KEY = re.compile(r"""["'“]?\b([A-Za-z_]{1,60})["'”]?[ \t]{0,9}[:：=]""")
_KEYS = SIZE_NAMES | {"model_type", "architectures", "transformers_version", "id2label", "auto_map"}
_OTHER_KEYS = frozenset({"nbformat", "data_offsets", "weight_map"})


@checked
def config_from_text(text: str) -> dict[str, Any]:
    """Parse the text of a config.json, in any of the notations that people paste.

    Args:
        text: At most 1,000,000 characters of JSON, or 200,000 of another notation: ``BertConfig {...}`` as transformers
            prints it, whose name gives the model type if there is none; a Python dictionary, or the call
            ``BertConfig(hidden_size=128)``; comments, single quotes, trailing commas. Nothing in it is executed.

    Returns:
        The keys and values, as they stand in the text.

    Raises:
        ConfigError: The text is no object, its meaning is not certain, or it is a file that describes no model.

    Example:
        >>> config_from_text("{'vocab_size': 30_522}")
        {'vocab_size': 30522}
    """
    try:
        return read_object(text)
    except InputError as error:
        raise ConfigError(*error.problems) from None


def config_in(text: str) -> str:
    """The object with sizes of a model that stands among a few words, or in a code block; else the whole text.

    >>> config_in('Our model: {"hidden_size": 128, "num_hidden_layers": 2}')
    '{"hidden_size": 128, "num_hidden_layers": 2}'
    >>> config_in("H = {768}")
    'H = {768}'
    """
    if len(text) > LARGEST or begins_object(text):
        return text
    start, depth, least = -1, 0, len(text.strip()) // 2
    for brace in _BRACE.finditer(text):
        if brace[0] == "{":
            start, depth = start if depth else brace.start(), depth + 1
        elif depth:
            depth -= 1
            if not depth and brace.end() - start >= least and _has_sizes(text[start : brace.end()]):
                return text[start : brace.end()]
    return text


def _has_sizes(block: str) -> bool:
    return len(SIZE_NAMES & set(_KEY.findall(block[:_READ]))) >= _FEWEST_SIZES


_BRACE = re.compile(r"[{}]")
_FEWEST_SIZES = 2  # keys that an object among words must have


@checked
def looks_like_config(text: str) -> bool:
    """Whether a text is probably a configuration, which takes microseconds: an object with a key of a model's.

    Example:
        >>> looks_like_config("Model config BertConfig {}"), looks_like_config('{"cells": [], "nbformat": 4}')
        (True, False)
    """
    if len(text) > LARGEST or not begins_object(text):
        return False
    keys = set(_KEY.findall(text[:_READ]))
    printed = bool(class_in_front(text))
    return (printed or not keys.isdisjoint(_KEYS)) and keys.isdisjoint(_OTHER_KEYS)
