"""Read the name of a published model: a preset, its repository or URL on the Hub, or a call of from_pretrained.

>>> name_in("https://huggingface.co/google-bert/bert-base-uncased/tree/main")
PublishedName(name='google-bert/bert-base-uncased', architecture='')
>>> name_in('model = BertForMaskedLM.from_pretrained("bert-base-uncased")').architecture
'BertForMaskedLM'
"""

import re
from typing import NamedTuple

from bertcalc.families.presets import PRESETS, preset_named
from bertcalc.model.model import Model
from bertcalc.proofreading.mentions.model_names import (
    ends_with_unlisted_model,
    model_name_pattern,
    models_named,
    preset_by_name,
)
from bertcalc.reading.text_reading import PossibleCount, TextReading
from bertcalc.text import N_, shorten
from bertcalc.text.problem import Problem, wrong

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


def presets_called(text: str) -> tuple[str, ...]:
    """Return the presets that a name may mean, such as its cased and uncased versions; empty if a text is not a name.

    >>> presets_called("BERT large"), presets_called("bert base uncased"), presets_called("Hello world")
    (('bert-large-uncased', 'bert-large-cased', 'bert-large-chinese'), ('bert-base-uncased',), ())
    """
    if len(text) > _LONGEST:
        return ()
    name = _BESIDE_NAME.sub("", text.strip(" \t\r\n'\"`*.?!。？！"))
    if not _NAME.fullmatch(name):
        return ()
    same = tuple(preset for preset in PRESETS if _joined(preset) == _joined(name))
    words = " ".join(_PIECES.split(name.lower())).removeprefix("all ")
    called = {
        spelling.removeprefix("all "): preset for spelling, preset in preset_by_name().items() if preset in PRESETS
    }
    family = words.partition(" ")[0]
    similar = [
        preset
        for spelling, preset in called.items()
        if f"{spelling} ".startswith(f"{words} ") and family in preset.lower()
    ]
    usual = filter(None, [called.get(words)])
    return same or tuple(dict.fromkeys((*usual, *similar)))


def _joined(name: str) -> str:
    return _PIECES.sub("", name.lower())


_PIECES = re.compile(r"[\s_-]+")
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9.]{1,20}(?:[ _-][A-Za-z0-9.]{1,20}){0,6}")
_BESIDE_NAME = re.compile(r"^(?:the|model)\s*[:：]?\s+|\s*(?:models?|模型|的?参数量?)$", re.I)


def is_unlisted_name(text: str) -> bool:
    """Whether a text is only the name of a model that is not a preset, such as T5-base or TinyBERT."""
    name = text.strip()
    if len(name.split()) > _MOST_WORDS or not _NAME.fullmatch(name) or models_named(name) & PRESETS.keys():
        return False
    return bool(model_name_pattern().match(name)) or ends_with_unlisted_model(name)


_MOST_WORDS = 3


def read_called(text: str) -> TextReading:
    """Read a name that fits several presets: each has its possible count."""
    presets = presets_called(text)
    if len(presets) == 1:
        return read_name(presets[0])
    possible = (
        PossibleCount(model.num_parameters(), Problem.of(_IF, name=name, model=model.architecture))
        for name in presets[:_MOST_SHOWN]
        for model in [Model(PRESETS[name].config)]
    )
    sentence = Problem.of(_SEVERAL, count=len(presets), example=presets[0])
    return TextReading("config", sentence, possible_counts=tuple(possible))


_MOST_SHOWN = 12
_SEVERAL = N_("Read as: a name that fits {count} published models. Write the full name, such as {example}.")
_IF = N_("if {name} is meant, as {model}")


def read_name(text: str) -> TextReading:
    """Read the name of a preset, without a class. Raises InputError if there is no preset with this name."""
    published = name_in(text)
    if published is None or published.preset is None:
        raise wrong(NO_PRESET, name=shorten(published.name if published else text.strip()))
    model = Model(PRESETS[published.preset].config)
    sentence = Problem.of(N_("Read as: the name of a published model, {name}."), name=published.preset)
    return TextReading("config", sentence, model, model, tuple(model.tensors()), model.num_parameters())


NO_PRESET = N_("bertcalc does not have the sizes of {name}: paste its config.json.")
