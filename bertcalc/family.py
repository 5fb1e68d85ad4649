"""What a family is: a configuration, a program for the body, classes with a program for their heads, and words."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple

from bertcalc.config import Config, ConfigError
from bertcalc.forward.trace import Sizes, Step, Trace, Value
from bertcalc.text import N_
from bertcalc.tree.nn import Attention, Module

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

LANGUAGE_MODEL = "language model"  # the block of a head that scores every word piece

TARGETS = ("labels", "next_sentence_label", "sentence_order_label", "start_positions", "end_positions", "mc_labels")

_PER_TOKEN = ("pretraining", "replaced-tokens", "masked-lm", "causal-lm", "token-classification", "double-heads")


class Hidden(NamedTuple):
    """What a body gives to a head: a vector for each token, and one for each sequence if there is a pooler."""

    states: Value
    pooled: Value | None


class Class(NamedTuple):
    """A class of transformers.

    ``head`` runs what it adds to the body, and says what it returns. ``inputs`` are the parameters of its forward
    method in their order; ``pooler`` says whether the body has its own. Of ``inputs``, those that are ``laid_out`` have
    each choice of a sequence as a sequence of its own. With ``caches_with_labels``, the cache is filled also where the
    right answers are given; what the class ``withholds``, the body returns and it does not. With ``finds_last_token``,
    it looks for the last token of each sequence that is no padding; with ``flattens_regression``, a single score of
    each sequence loses its axis where the right answers are given; with ``widens_scores``, the loss takes them in
    float32.
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

    @property
    def targets(self) -> tuple[str, ...]:
        """The right answers that it can be given."""
        return tuple(name for name in self.inputs if name in TARGETS)

    @property
    def pooler_is_optional(self) -> bool:
        return self.task == "base" and self.pooler

    @property
    def per_token(self) -> bool:
        """Whether labels are for each token, not for each sequence."""
        return self.task in _PER_TOKEN

    @property
    def takes_choices(self) -> bool:
        """Whether each sequence comes in several forms, of which one is to be chosen."""
        return self.task in ("multiple-choice", "double-heads")

    @property
    def sees_encoder(self) -> bool:
        return "encoder_hidden_states" in self.inputs

    @property
    def caches(self) -> bool:
        """Whether it takes past_key_values, and returns them unless it withholds them."""
        return "past_key_values" in self.inputs

    @property
    def labels_stop_caching(self) -> bool:
        """Whether it switches the cache off where it is given the right answers."""
        return self.caches and bool(self.targets) and not self.caches_with_labels


class Source(NamedTuple):
    """Where a configuration was published: in words, and its address."""

    said: str
    url: str


def model_card(name: str) -> Source:
    """The card of a model on the Hugging Face Hub, by its name there."""
    return Source(N_("Its model card on the Hugging Face Hub"), f"https://huggingface.co/{name}")


class Preset(NamedTuple):
    """A published configuration; every field that is not named has its default."""

    config: Config
    source: Source


@dataclass(frozen=True)
class Family:
    """Models of one architecture.

    ``prefix`` is the name that a class with a head gives the body (bert). With ``head_first``, the head is registered
    before the body, so that its tensors come first. What cannot be said of a family is refused where it is asked for:
    ``peaks``, the peaks of memory, for which one has to know what the forward methods keep alive
    (bertcalc/memory/peak.py); ``like_bert``, how the formulas of other tools, which are for BERT's layers, lead to its
    counts (bertcalc/diagnosis/tools.py); ``recomputes``, what of its layers can be run again in training. With
    ``cross_cache``, a cache of layers with cross attention has room for an encoder's keys and values also where none
    came. ``buffers`` are ends of names in its files of what is no parameter. ``remote`` are model types in config.json
    files of such models that come with a program of their own in their repository. ``meanings`` are of inputs that mean
    something else than in other families (bertcalc/forward/meanings.py).
    """

    name: str  # Hugging Face's model_type
    prefix: str
    config: type[Config]
    body: Callable[[Trace, Any, bool], Hidden]
    classes: tuple[Class, ...]
    presets: Mapping[str, Preset]
    head_first: bool = False
    peaks: bool = True
    like_bert: bool = True
    recomputes: tuple[str, ...] = ("selective", "full")
    cross_cache: bool = False
    buffers: tuple[str, ...] = ()
    remote: tuple[str, ...] = ()
    meanings: Mapping[str, str] = field(default_factory=dict)

    @property
    def base(self) -> Class:
        """The class that is the body alone."""
        return self.classes[0]

    @property
    def kind(self) -> str:
        """What the names of its classes begin with: Bert."""
        return self.base.name.removesuffix("Model")

    def fullest(self, **more: Any) -> Config:
        """A configuration in which a model has everything that it can have, as far as the family can."""
        found = self.config.default()
        everything: tuple[dict[str, Any], ...] = (
            {"is_decoder": True, "add_cross_attention": True},
            {"tie_word_embeddings": False},
            {"use_task_id": True},
            dict(self.config.most),
            more,
        )
        for change in everything:
            lacking = {name: value for name, value in change.items() if not self.config.has(name)}
            if all(getattr(self.config, name, None) == value for name, value in lacking.items()):
                with suppress(ConfigError):
                    found = replace(found, **change)
        return found

    def for_task(self, task: Task) -> str:
        """The name of the class for a task, or that of the body if there is none."""
        return next((cls.name for cls in self.classes if cls.task == task), self.base.name)


_ONE = Sizes()


class Model(Module):
    """The root of a tree, which knows the program that it comes from, so that it can run it."""

    def __init__(self, family: Family, cls: Class, config: Any, pooler: bool) -> None:
        self.kind = cls.name
        self.children = {}
        self.family = family
        self.cls = cls
        self.config = config
        self.pooler = pooler

    @property
    def prefix(self) -> str:
        """What the names of the body's tensors begin with: "bert.", or "" where the model is the body."""
        return "" if self.cls.task == "base" else f"{self.family.prefix}."

    def bare(self, name: str) -> str:
        """The name of a module or tensor without the prefix of the body."""
        return name.removeprefix(self.prefix)

    def body(self) -> Module:
        """The body: the model itself, or what a class with a head has under its prefix."""
        return self.children.get(self.family.prefix, self) if self.cls.task != "base" else self

    def heads(self) -> Module:
        """The module of the first attention, in which query, key and value are. Raises KeyError if there is none."""
        for _path, module, _copies in self.modules():
            if isinstance(module, Attention):
                return module
        raise KeyError("attention")

    def declare(self) -> "Model":
        self._run(self, _ONE, None)
        return self

    def run(self, sizes: Sizes) -> list[Step]:
        """Every step from the token ids to the outputs, in order; the steps of a layer once, with their runs."""
        steps: list[Step] = []
        self._run(Model(self.family, self.cls, self.config, self.pooler), sizes, steps)
        return steps

    def _run(self, root: Module, sizes: Sizes, steps: list[Step] | None) -> None:
        family, cls, config = self.family, self.cls, self.config
        t = Trace(root, self.prefix, sizes, steps, choices=cls.takes_choices)
        if cls.task == "base":
            cls.head(t, config, family.body(t, config, self.pooler))
            return
        with t.module(family.prefix, family.base.name):
            hidden = family.body(t, config, self.pooler)
        cls.head(t, config, hidden)
        if family.head_first:
            root.children[family.prefix] = root.children.pop(family.prefix)
