"""Published decoders that are built from the layers of a supported family: Llama from EuroBERT, GPT-3 from GPT-2.

>>> RELATIVES["llama-7b"].model.num_parameters()
6738415616
>>> str(renamed(Problem.of("{name} has {count}.", name="EuroBertForMaskedLM", count=7), RELATIVES["llama-7b"].model))
'LlamaForCausalLM has 7.'
"""

import re
from collections.abc import Mapping
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any

from bertcalc.config import Config
from bertcalc.families.eurobert import EuroBertConfig
from bertcalc.families.gpt2 import GPT2Config
from bertcalc.model.model import Model
from bertcalc.text.problem import Problem

# Words for model sizes, as a regular expression.
SIZE_NAMES = "tiny|mini|small|medium|base|large|xx?-?large|xl"


class Relative:
    """A published model: its configuration in a supported family, the class that counts it, and its real class names.

    ``classes`` maps class names of the supported family to class names of the published model.
    """

    def __init__(self, config: Config, architecture: str, classes: Mapping[str, str]) -> None:
        self.config = config
        self.classes = classes
        self._architecture = architecture

    @cached_property
    def model(self) -> Model:
        return Model(self.config, self._architecture)


def _llama(*sizes: int, prefix: str = "Llama", tied: bool = False) -> Relative:
    """Return a model with Llama's architecture.

    ``sizes`` are the hidden size, layers, attention heads, key and value heads, intermediate size and vocabulary.
    """
    hidden, layers, heads, shared, intermediate, vocabulary = sizes
    config = EuroBertConfig(
        vocab_size=vocabulary,
        hidden_size=hidden,
        num_hidden_layers=layers,
        num_attention_heads=heads,
        num_key_value_heads=shared,
        intermediate_size=intermediate,
        tie_word_embeddings=tied,
        pad_token_id=None,
    )
    return Relative(config, "EuroBertForMaskedLM", {"EuroBertForMaskedLM": f"{prefix}ForCausalLM", "EuroBert": prefix})


def _gpt3(hidden: int, layers: int, heads: int) -> Relative:
    """Return a model from Brown et al. 2020, Table 2.1."""
    config = GPT2Config(vocab_size=50257, n_embd=hidden, n_layer=layers, n_head=heads, n_positions=2048)
    return Relative(config, "GPT2Model", {"GPT2": "GPT3"})


# Sizes as in the published config files.
RELATIVES: Mapping[str, Relative] = {
    "llama-7b": _llama(4096, 32, 32, 32, 11008, 32000),
    "llama-13b": _llama(5120, 40, 40, 40, 13824, 32000),
    "llama-30b": _llama(6656, 60, 52, 52, 17920, 32000),
    "llama-65b": _llama(8192, 80, 64, 64, 22016, 32000),
    "llama-2-70b": _llama(8192, 80, 64, 8, 28672, 32000),
    "llama-3-8b": _llama(4096, 32, 32, 8, 14336, 128256),
    "llama-3-70b": _llama(8192, 80, 64, 8, 28672, 128256),
    "llama-3-405b": _llama(16384, 126, 128, 8, 53248, 128256),
    "llama-3.2-1b": _llama(2048, 16, 32, 8, 8192, 128256, tied=True),
    "llama-3.2-3b": _llama(3072, 28, 24, 8, 8192, 128256, tied=True),
    "mistral-7b": _llama(4096, 32, 32, 8, 14336, 32000, prefix="Mistral"),
    "tinyllama-1.1b": _llama(2048, 22, 32, 4, 5632, 32000),
    "gpt-3-175b": _gpt3(12288, 96, 96),
}
# Maps other spellings, in lower case with spaces, to names in RELATIVES.
SPELLINGS: Mapping[str, str] = {
    "llama 2 7b": "llama-7b",
    "llama 2 13b": "llama-13b",
    "llama 33b": "llama-30b",
    "llama 70b": "llama-2-70b",
    "llama2 7b": "llama-7b",
    "llama2 13b": "llama-13b",
    "llama2 70b": "llama-2-70b",
    "llama3 8b": "llama-3-8b",
    "llama3 70b": "llama-3-70b",
    "llama 8b": "llama-3-8b",
    "llama 3.1 8b": "llama-3-8b",
    "llama 3.1 70b": "llama-3-70b",
    "llama 3.3 70b": "llama-3-70b",
    "llama 3.1 405b": "llama-3-405b",
    "llama 405b": "llama-3-405b",
    "tinyllama": "tinyllama-1.1b",
    "gpt 3": "gpt-3-175b",
    "gpt3": "gpt-3-175b",
    **{name.replace("-", " "): name for name in RELATIVES},
}


@lru_cache(maxsize=1)
def counts_of_relatives() -> Mapping[int, str]:
    """Map numbers of parameters, with and without the head, to the names of the published decoders.

    >>> counts_of_relatives()[6_738_415_616], counts_of_relatives()[1_235_814_400]
    ('llama-7b', 'llama-3.2-1b')
    """
    counts: dict[int, str] = {}
    for name, relative in RELATIVES.items():
        model = relative.model
        for architecture in (model.architecture, model.family.base.name):
            counts.setdefault(model.changed(architecture=architecture).num_parameters(), name)
    return counts


@lru_cache(maxsize=64)
def relative_of(config: Config) -> Relative | None:
    """Return the published decoder with this configuration; None if there is none."""
    return next((relative for relative in RELATIVES.values() if relative.config == config), None)


def nominal_count(model: Model) -> int | None:
    """Return the rounded count in the name of a published decoder, such as 7e9 for Llama-7B; otherwise None.

    Texts often calculate with this count.

    >>> nominal_count(RELATIVES["llama-2-70b"].model)
    70000000000
    """
    names = (name for name, relative in RELATIVES.items() if relative.config == model.config)
    sizes = (re.search(r"-([0-9]+(?:\.[0-9]+)?)b$", name) for name in names)
    return next((int(Fraction(size[1]) * 10**9) for size in sizes if size), None)


def renamed(problem: Problem, model: Model | None) -> Problem:
    """Replace the family's class names in a sentence about a published decoder with the decoder's real class names.

    A sentence about any other model is returned unchanged.
    """
    relative = relative_of(model.config) if model else None
    return problem if relative is None else _with_classes(problem, relative.classes)


def _with_classes(value: Any, classes: Mapping[str, str]) -> Any:
    if isinstance(value, Problem):
        return value._replace(values={name: _with_classes(inner, classes) for name, inner in value.values.items()})
    if isinstance(value, str):
        return re.sub("|".join(map(re.escape, classes)), lambda match: classes[match[0]], value)
    return value
