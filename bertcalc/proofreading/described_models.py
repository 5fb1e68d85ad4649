"""Build models that a text describes by their sizes, and measure how well a model fits a text's numbers.

>>> from bertcalc.proofreading.mentions.written_sizes import size_groups
>>> line = "It is a BERT with 6 layers and hidden size 384."
>>> [name] = [described_by(group, line, "bert-base-uncased") for group in size_groups(line)]
>>> name, model_of(name).num_parameters()
('bert-base-uncased with num_hidden_layers=6, hidden_size=384', 22713216)
"""

import re
from collections.abc import Collection, Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any

from bertcalc.config import Config
from bertcalc.diagnosis.known_counts import every_count, known_counts
from bertcalc.diagnosis.relatives import RELATIVES
from bertcalc.families import build
from bertcalc.families.presets import PRESETS
from bertcalc.model.model import Model
from bertcalc.proofreading.mentions.written_sizes import SizeGroup, literals
from bertcalc.proofreading.named_parts import all_parts
from bertcalc.text.amounts import Typed, typed
from bertcalc.text.problem import InputError

_WITH = " with "  # separates the name of a preset from the sizes that differ from it
_FEWEST_SIZES = 2
_OF_DEPTH = re.compile(r"-layer\b", re.I)  # as in "a 3-layer BERT"


def described_by(group: SizeGroup, line: str, preset: str, *, alone: bool = False) -> str:
    """The name of the model that a group of sizes describes; empty if there are too few sizes.

    If a preset has these sizes, the name is the preset's. ``line`` is the line that contains the group, and ``preset``
    supplies the sizes missing from the group. With ``alone``, a single size is enough.
    """
    described = line[group.start : group.end]
    enough = len(group.sizes) >= _FEWEST_SIZES and {"hidden_size", "num_hidden_layers"} & group.sizes.keys()
    if not (enough or alone or _OF_DEPTH.search(described)) or preset not in PRESETS:
        return ""
    config = PRESETS[preset].config
    sized = with_sizes(config, group.sizes)
    if sized == config:
        return preset
    usual = with_sizes(config, {field: size for field, size in group.sizes.items() if field != "intermediate_size"})
    differing = ", ".join(
        f"{field}={size}"
        for field, size in group.sizes.items()
        if getattr(config, field, size) != size or getattr(usual, field, size) != size
    )
    return preset_with(sized) or (f"{preset}{_WITH}{differing}" if differing else preset)


def preset_of(name: str) -> str:
    """The preset that a described model is based on; a preset's name is returned unchanged."""
    return name.partition(_WITH)[0]


@lru_cache(maxsize=128)
def preset_with(config: Config) -> str:
    """The first preset with this configuration; empty if there is none."""
    return next((name for name, preset in PRESETS.items() if preset.config == config), "")


def is_described(name: str) -> bool:
    """Whether a name belongs to a described model, not to a preset."""
    return _WITH in name


def sizes_of(name: str) -> dict[str, int]:
    """The sizes in which a described model differs from its preset, keyed by field; empty for a preset."""
    sizes = name.partition(_WITH)[2]
    return {field: int(size) for field, _, size in (size.partition("=") for size in sizes.split(", ") if size)}


@lru_cache(maxsize=128)
def model_of(name: str) -> Model:
    """The model of a preset, a relative or a described model."""
    if name in RELATIVES:
        return RELATIVES[name].model
    return build(with_sizes(PRESETS[preset_of(name)].config, sizes_of(name)))


def with_sizes(config: Config, sizes: Mapping[str, int]) -> Config:
    """Return a copy of a configuration with other sizes, or the configuration itself if the sizes are invalid.

    If the hidden size changes, intermediate_size and num_attention_heads scale with it where possible, unless ``sizes``
    contains them.
    """
    hidden = sizes.get("hidden_size", config.hidden_size)
    changes = dict(sizes)
    if hidden != config.hidden_size:
        if config.intermediate_size == 4 * config.hidden_size:
            changes.setdefault("intermediate_size", 4 * hidden)
        if hidden % 64 == 0:
            changes.setdefault("num_attention_heads", hidden // 64)
    if changes.get("vocab_size", config.vocab_size) <= (getattr(config, "pad_token_id", 0) or 0):
        changes["pad_token_id"] = 0
    fields: dict[str, Any] = {
        type(config).own_name(name): value for name, value in changes.items() if type(config).has(name)
    }
    try:
        return replace(config, **fields)
    except (InputError, TypeError):
        return config


_NUMBER = re.compile(r"(?<![0-9A-Za-z_.,])([0-9]{1,3}(?:,[0-9]{3}){1,9}|[0-9]{5,12})(?![0-9A-Za-z_]|\.[0-9])")
_LEAST = 10_000  # smaller numbers fit many models


def long_numbers(text: str) -> frozenset[int]:
    """The numbers in a text that have enough digits to identify a model and are not rounded to thousands."""
    numbers = (int(match[1].replace(",", "")) for match in _NUMBER.finditer(text))
    return frozenset(number for number in numbers if number >= _LEAST and number % 1000)


def fit(model: Model | None, numbers: Collection[int]) -> int:
    """Count the numbers that are parameter counts of a model or of its parts; return 0 if ``model`` is None."""
    return len(_counts(model) & frozenset(numbers)) if numbers and model else 0


@lru_cache(maxsize=64)
def _counts(model: Model) -> frozenset[int]:
    counts = every_count(model.config, known_counts)
    return frozenset((*(part.right for part in all_parts(model)), *(count.total for count in counts)))


@lru_cache(maxsize=128)
def resized(model: Model, sizes: tuple[tuple[str, int], ...]) -> Model:
    """The model with other sizes, given as (field, size) pairs."""
    config = with_sizes(model.config, dict(sizes))
    return model if config == model.config else build(config)


def is_chosen_depth(text: str, preset: str, layers: int) -> bool:
    """Whether a different number of layers is plausible: a divisor (a smaller model), or one more (the embeddings).

    Any number is plausible if the text's counts fit that number of layers better than the published number.
    """
    published = model_of(preset)
    right = published.config.num_hidden_layers
    if right % layers == 0 or layers == right + 1:
        return True
    return with_counted_layers(text, published, layers) is not published


def with_counted_layers(text: str, model: Model, layers: int) -> Model:
    """The model with this number of layers, if it explains the text's numbers better; otherwise ``model``."""
    other = resized(model, (("num_hidden_layers", layers),))
    total, numbers = other.num_parameters(), long_numbers(text)
    is_total = literals(text)[total] or any(amount.means(total) for amount in rounded_amounts(text))
    is_counted = is_total and total != model.num_parameters()
    return other if is_counted or fit(other, numbers) > fit(model, numbers) else model


def rounded_amounts(text: str) -> list[Typed]:
    """The amounts in millions or billions in a text."""
    return [typed(match[0]) for match in _AMOUNT.finditer(text)]


_AMOUNT = re.compile(r"(?<![0-9.,])[0-9]{1,4}(?:\.[0-9]{1,3})?\s?(?:M|B|million|billion|百万|万|亿)(?![A-Za-z])")
