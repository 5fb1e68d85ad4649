"""The texts at each stop of the walk through a model: a label, an explanation, and questions that learners ask.

The texts are in lessons.toml, in English with placeholders in braces; the caller translates them.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from bertcalc.config import Config
from bertcalc.forward.walk import Stop
from bertcalc.model.modules import Norm
from bertcalc.text.toml_tables import table_beside
from bertcalc.transformers4.version import version_of

_Condition = Callable[[Stop, Config], bool]


class Lesson(NamedTuple):
    """The label of a stop's box in the picture, and an explanation of the stop."""

    label: str
    text: str


class Question(NamedTuple):
    """A question for stops with a key that ends in one of ``keys``.

    All conditions in ``when`` must hold, and none of the conditions in ``unless`` may hold.
    """

    keys: tuple[str, ...]
    question: str
    answer: str
    when: tuple[_Condition, ...]
    unless: tuple[_Condition, ...]


def lesson(stop: Stop) -> Lesson:
    """Return the label and the explanation of a stop."""
    return _LESSONS[_special(stop) or _text_key(stop.key)]


def _special(stop: Stop) -> str:
    """Return the key of a stop's texts if they depend on more than the stop's own key; otherwise an empty string."""
    module = stop.steps[0].module
    if stop.steps[0].operation == "unused" and stop.key == "embeddings.position":
        return "embeddings.unused position"
    if stop.layers and stop.shares:
        return f"{stop.key}, shared"
    if not stop.alike:
        return f"{stop.key}, other"
    if stop.between:
        return "layers.before, convolution"
    if stop.layers or not isinstance(module, Norm):
        return ""
    if not module.centers:
        return "everywhere.RMSNorm"
    return "" if "bias" in module.parameters else "everywhere.norm without beta"


def has_lesson(key: str) -> bool:
    """Whether there are texts for a stop with this key."""
    return _text_key(key) in _LESSONS


def _text_key(key: str) -> str:
    """Return the key of a stop's texts: the stop's key, if there are texts for it, or else a more general key.

    Cross-attention uses the texts of attention. Other stops use the texts for their role under "everywhere".
    """
    in_attention = key.replace("cross-attention", "attention")
    return next(
        (candidate for candidate in (key, in_attention) if candidate in _LESSONS),
        f"everywhere.{key.rpartition('.')[2]}",
    )


def questions(stop: Stop, config: Config) -> Iterator[Question]:
    """Yield the questions that fit a stop and the configuration."""
    for question in _QUESTIONS:
        if not stop.key.endswith(question.keys):
            continue
        if all(holds(stop, config) for holds in question.when) and not any(
            holds(stop, config) for holds in question.unless
        ):
            yield question


# The conditions of questions: predicates of a stop and the configuration.
_CONDITIONS: Mapping[str, _Condition] = {
    "padding": lambda _stop, config: config.pad_token_id is not None,
    "absolute positions": lambda _stop, config: not version_of(config).distances,
    "bias": lambda stop, _config: any(tensor.name.rpartition(".")[2] == "bias" for tensor in stop.tensors),
    "local attention": lambda _stop, config: config.has("local_attention") and config.layer_period > 1,
    "several heads": lambda _stop, config: config.num_attention_heads > 1,
    "tied": lambda _stop, config: config.tie_word_embeddings,
}
_TEXTS = table_beside(__file__)


def _question(entry: Mapping[str, Any]) -> Question:
    when, unless = (tuple(_CONDITIONS[name] for name in entry.get(key, ())) for key in ("when", "unless"))
    return Question(tuple(entry["at"]), entry["question"], entry["answer"], when, unless)


_QUESTIONS = tuple(map(_question, _TEXTS.pop("question")))
_LESSONS = {
    f"{block}.{role}": Lesson(entry.get("term") or entry["label"], entry["text"])
    for block, roles in _TEXTS.items()
    for role, entry in roles.items()
}
