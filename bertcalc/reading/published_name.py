"""Read the name of a published model: a preset, its repository or URL on the Hub, or a call of from_pretrained.

>>> name_in("https://huggingface.co/google-bert/bert-base-uncased/tree/main")
PublishedName(name='google-bert/bert-base-uncased', architecture='')
>>> name_in('model = BertForMaskedLM.from_pretrained("bert-base-uncased")').architecture
'BertForMaskedLM'
"""

import re
from contextlib import suppress
from typing import NamedTuple

from bertcalc.families import CLASSES
from bertcalc.families.presets import PRESETS, preset_named
from bertcalc.model.model import Model
from bertcalc.reading.text_reading import TextReading
from bertcalc.text import N_, shorten
from bertcalc.text.problem import InputError, Problem, wrong

_LONGEST = 300  # maximum number of characters
_REPOSITORY = r"(?P<name>(?:[\w.-]{1,100}/)?[\w.-]{1,100})"
_SITES = r"(?:huggingface\.co|hf\.co|hf-mirror\.com)"
_LOADER = r"(?P<kind>\w{0,50}(?:Model|For|Config)\w{0,50})\.from_pretrained"
_PATTERNS = tuple(
    map(
        re.compile,
        (
            rf"(?:https?://)?(?:www\.)?{_SITES}/{_REPOSITORY}(?:/(?:tree|blob|resolve)/\S*)?/?",
            rf"(?:\w{{1,60}} ?= ?)?{_LOADER}\(\s?['\"]{_REPOSITORY}['\"][^()]*\)",
            rf"['\"`]?{_REPOSITORY}['\"`]?",
        ),
    )
)


class PublishedName(NamedTuple):
    """A possible name of a published model, and the class that loads it if the text names a class."""

    name: str
    architecture: str = ""

    @property
    def preset(self) -> str | None:
        """The preset with this name; None if there is none."""
        return preset_named(self.name)

    @property
    def is_repository(self) -> bool:
        """Whether the name has the form of a repository on the Hub, with an owner."""
        return "/" in self.name


def name_in(text: str) -> PublishedName | None:
    """Return the name if a text consists of a model's name, its URL on the Hub, or a call that loads it; else None."""
    plain = text.strip()
    if len(plain) > _LONGEST:
        return None
    for pattern in _PATTERNS:
        if match := pattern.fullmatch(plain):
            return PublishedName(match["name"], match.groupdict().get("kind") or "")
    return None


def read_name(text: str) -> TextReading:
    """Read the name of a preset. Raises InputError if there is no preset with this name."""
    published = name_in(text)
    if published is None or published.preset is None:
        raise wrong(NO_PRESET, name=shorten(published.name if published else text.strip()))
    config = PRESETS[published.preset].config
    model = Model(config)
    if CLASSES.get(published.architecture) is model.family:
        with suppress(InputError):
            model = Model(config, published.architecture)
    sentence = Problem.of(N_("Read as: the name of a published model, {name}."), name=published.preset)
    return TextReading("config", sentence, model, model, tuple(model.tensors()), model.num_parameters())


NO_PRESET = N_("bertcalc does not have the sizes of {name}: paste its config.json.")
