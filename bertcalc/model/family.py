"""The definition of a family: a configuration, a program for the body, and classes with programs for their heads."""

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import field, replace
from typing import Any, Literal, NamedTuple

from bertcalc.config import Config, ConfigError, all_or_none
from bertcalc.model.modules import Module
from bertcalc.model.trace import Trace, Value
from bertcalc.text import N_
from bertcalc.text.arguments import checked
from bertcalc.text.problem import Problem
from bertcalc.text.records import dataclass

Task = Literal[
    "base",
    "pretraining",
    "replaced-tokens",
    "masked-lm",
    "causal-lm",
    "next-sentence",
    "sequence-classification",
    "token-classification",
    "question-answering",
    "multiple-choice",
    "double-heads",
]

LANGUAGE_MODEL = "language model"  # the block of a head that scores every token of the vocabulary
TARGETS = ("labels", "next_sentence_label", "sentence_order_label", "start_positions", "end_positions", "mc_labels")

_PER_TOKEN = ("pretraining", "replaced-tokens", "masked-lm", "causal-lm", "token-classification", "double-heads")


def output_embeddings(linear: Iterable[Module]) -> list[Module]:
    """Return a list with the module in ``linear`` that transformers returns as a model's output embeddings.

    The list is empty if the model has no language-model head. DeBERTa's decoder is not a module: transformers
    returns the layer before it.
    """
    heads = [module for module in linear if module.place.block == LANGUAGE_MODEL]
    return [module for module in heads if module.place.role == "decoder"] or heads


class Hidden(NamedTuple):
    """The outputs of a body, which heads use: one vector per token, and one per sequence if there is a pooler."""

    states: Value
    pooled: Value | None


class Class(NamedTuple):
    """A model class of transformers.

    - ``head``: runs the modules that the class adds to the body, and declares its outputs.
    - ``inputs``: the parameters of the forward method, in order.
    - ``pooler``: whether the body has a pooler.
    - ``laid_out``: the inputs in which the axis of choices is flattened into the batch axis.
    - ``caches_with_labels``: whether the cache is filled even if labels are given.
    - ``finds_last_token``: whether it searches each sequence for its last token that is not padding.
    - ``flattens_regression``: whether a single score per sequence loses its axis if labels are given.
    - ``widens_scores``: whether the loss is computed from the scores in float32.
    - ``withholds``: outputs of the body that the class does not return.
    - ``builds_with``: (field, value) pairs: transformers builds the class only with these values.
    - ``by_labels``: the field, if any, that makes the head skip tokens without a label when labels are given.
    """

    name: str
    task: Task
    head: Callable[[Trace, Any, Hidden], None]
    inputs: tuple[str, ...]
    pooler: bool = False
    laid_out: tuple[str, ...] = ()
    caches_with_labels: bool = False
    finds_last_token: bool = False
    flattens_regression: bool = False
    widens_scores: bool = False
    withholds: tuple[str, ...] = ()
    builds_with: tuple[tuple[str, Any], ...] = ()
    by_labels: str = ""

    def unbuilt(self, config: Config) -> Problem | None:
        """The problem if transformers refuses to build the class with a configuration; otherwise None.

        Symbols are not checked. Raises MixedError for columns in which only some rows have a problem.
        """
        for name, needed in self.builds_with:
            value = getattr(config, name)
            if (isinstance(value, int) or hasattr(value, "all")) and all_or_none(value != needed):
                message = N_("{architecture} cannot be built with {field} {value}: transformers accepts only {needed}.")
                first = value if isinstance(value, int) else int(value.flat[0])
                values = {"architecture": self.name, "field": name, "value": first, "needed": needed}
                return Problem.of(message, name, first, {name: needed}, **values)
        return None

    def leaves_out_tokens(self, config: Config) -> bool:
        """Whether the head skips tokens without a label. Its costs then depend on the labels."""
        return bool(self.by_labels and getattr(config, self.by_labels))

    @property
    def targets(self) -> tuple[str, ...]:
        """The names of the inputs that are labels."""
        return tuple(name for name in self.inputs if name in TARGETS)

    @property
    def pooler_is_optional(self) -> bool:
        return self.task == "base" and self.pooler

    @property
    def per_token(self) -> bool:
        """Whether there is one label per token, not one per sequence."""
        return self.task in _PER_TOKEN

    @property
    def takes_choices(self) -> bool:
        """Whether each sequence comes with several choices, exactly one of them right."""
        return self.task in ("multiple-choice", "double-heads")

    @property
    def sees_encoder(self) -> bool:
        return "encoder_hidden_states" in self.inputs

    @property
    def caches(self) -> bool:
        """Whether the class accepts past_key_values. It also returns them, unless they are in ``withholds``."""
        return "past_key_values" in self.inputs

    @property
    def labels_stop_caching(self) -> bool:
        """Whether the class switches the cache off if labels are given."""
        return self.caches and bool(self.targets) and not self.caches_with_labels


class Source(NamedTuple):
    """The source of a published configuration: its description and its URL."""

    description: str
    url: str


def model_card(name: str) -> Source:
    """The model card of a Hugging Face Hub repository (owner/name) as a source."""
    return Source(N_("Its model card on the Hugging Face Hub"), f"https://huggingface.co/{name}")


class Preset(NamedTuple):
    """A published configuration and its source."""

    config: Config
    source: Source


@dataclass(frozen=True)
class Family:
    """The models of one architecture.

    - ``prefix``: the attribute under which a class with a head holds the body, such as bert.
    - ``head_first``: whether the head is registered before the body, so that its tensors come first.
    - ``cross_cache``: whether the cache of layers with cross attention has room for an encoder's keys and values even
      if no encoder output is given.
    - ``buffers``: name suffixes of tensors in checkpoints that are not parameters.
    - ``remote``: model types of repositories that hold the same models with their own code.
    - ``meanings``: descriptions of inputs that have a different meaning in other families (forward/meanings.py).
    - ``prunes``: whether its models have prune_heads, up to version 4.57 of transformers, and whether a pruned model
      can run.
    - ``passes_cache``: whether its bodies pass past_key_values to attention, although it is not an input of any class.
    - ``keeps_bias``: whether the bias of an untied language-model head keeps its size if the vocabulary is resized.

    Three fields state which features bertcalc supports; it refuses all other requests with a message:

    - ``peaks``: peak memory. Set it once the simulation has been validated against PyTorch (tests/memory/test_peak.py).
    - ``like_bert``: explanations by the formulas of other tools, which assume BERT's layers (diagnosis/other_tools.py).
    - ``recomputes``: kinds of gradient checkpointing.
    """

    name: str  # Hugging Face's model_type
    prefix: str
    config: type[Config]
    body: Callable[[Trace, Any, bool], Hidden]
    classes: tuple[Class, ...]
    presets: Mapping[str, Preset]
    head_first: bool = False
    peaks: bool = False
    like_bert: bool = False
    recomputes: tuple[str, ...] = ("selective", "full")
    cross_cache: bool = False
    buffers: tuple[str, ...] = ()
    remote: tuple[str, ...] = ()
    meanings: Mapping[str, str] = field(default_factory=dict)
    prunes: Literal["yes", "no", "cannot run then"] = "yes"
    passes_cache: bool = False
    keeps_bias: bool = False

    @property
    def base(self) -> Class:
        """The class of the body without a head."""
        return self.classes[0]

    @property
    def kind(self) -> str:
        """The prefix of its class names, such as Bert."""
        return self.base.name.removesuffix("Model")

    def fullest(self, **fields: Any) -> Config:
        """The default configuration with all optional parts of the family, and with ``fields`` if they are valid."""
        config = self.config.default()
        everything: tuple[dict[str, Any], ...] = (
            {"is_decoder": True, "add_cross_attention": True},
            {"tie_word_embeddings": False},
            {"use_task_id": True},
            dict(self.config.most),
            fields,
        )
        for change in everything:
            lacking = {name: value for name, value in change.items() if not self.config.has(name)}
            if all(getattr(self.config, name, None) == value for name, value in lacking.items()):
                with suppress(ConfigError):
                    config = replace(config, **change)
        return config

    @checked
    def for_task(self, task: Task) -> str:
        """The name of the class for a task; the name of the body's class if the family has none for the task."""
        return next((cls.name for cls in self.classes if cls.task == task), self.base.name)
