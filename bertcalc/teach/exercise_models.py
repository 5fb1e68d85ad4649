"""Draw models for exercises: small models for mental arithmetic, models with round sizes, and published models."""

from collections.abc import Mapping
from dataclasses import replace
from random import Random
from typing import Any, Literal

from bertcalc.config import Config
from bertcalc.families.presets import PRESETS
from bertcalc.model.batch import Batch
from bertcalc.model.family import Family
from bertcalc.text import N_

Level = Literal["easy", "medium", "hard"]
LEVELS: tuple[Level, ...] = (N_("easy"), N_("medium"), N_("hard"))

# Changes to these lists change the exercises behind existing links.
_SHAPES: Mapping[str, tuple[tuple[int, int], ...]] = {
    "easy": ((2, 1), (2, 2), (4, 1), (4, 2), (10, 2), (10, 5)),
    "medium": ((100, 2), (100, 10), (200, 4), (256, 4), (500, 10)),
}
_SIZES: Mapping[str, Mapping[str, tuple[int, ...]]] = {
    "easy": {
        "vocab_size": (10, 20, 50, 100),
        "num_hidden_layers": (2, 3),
        "max_position_embeddings": (5, 10, 20),
        "num_labels": (3, 5),
    },
    "medium": {
        "vocab_size": (1_000, 5_000, 10_000, 20_000),
        "num_hidden_layers": (2, 4, 5, 10),
        "max_position_embeddings": (100, 200, 500),
        "num_labels": (3, 5, 10),
    },
    "hard": {"num_labels": (3, 5, 9, 18)},
}
_WIDER = (2, 3, 4)  # possible ratios of intermediate_size to hidden_size
_PUBLISHED = (
    "bert-base-uncased",
    "bert-large-uncased",
    "bert-base-cased",
    "bert-large-cased",
    "bert-base-multilingual-cased",
    "bert-base-chinese",
    "all-MiniLM-L6-v2",
    "all-MiniLM-L12-v2",
    "bert_uncased_L-2_H-128_A-2",
    "bert_uncased_L-4_H-512_A-8",
    "bert_uncased_L-8_H-512_A-8",
)
_BATCHES: Mapping[str, tuple[tuple[int, int], ...]] = {
    "easy": ((2, 3), (2, 5), (3, 5)),
    "medium": ((2, 10), (4, 50), (10, 100)),
    "hard": ((8, 128), (16, 128), (32, 64), (4, 512)),
}


def config(random: Random, level: Level, family: Family) -> Config:
    """Draw the configuration of a model of a family."""
    sizes: dict[str, Any] = {field: random.choice(values) for field, values in _SIZES[level].items()}
    if level == "hard":
        published = [name for name in _PUBLISHED if type(PRESETS[name].config) is family.config]
        start = PRESETS[random.choice(published)].config if published else family.config.default()
        return replace(start, **sizes)
    unit = family.config.heads_of
    hidden, heads = random.choice([shape for shape in _SHAPES[level] if shape[0] % (shape[1] * unit) == 0])
    wider = random.choice(_WIDER)
    sizes |= {"hidden_size": hidden, "num_attention_heads": heads, "intermediate_size": wider * hidden}
    if (family.config.default().pad_token_id or 0) >= sizes["vocab_size"]:
        sizes["pad_token_id"] = 0
    return replace(family.config.default(), **sizes)


def batch(random: Random, level: Level, config: Config) -> Batch:
    """Draw a batch that the model accepts."""
    batch_size, sequence_length = random.choice(_BATCHES[level])
    return Batch(batch_size, min(sequence_length, config.longest))
