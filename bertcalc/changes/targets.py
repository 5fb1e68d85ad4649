"""The modules that an adapter targets, and the modules that it trains as a whole, by peft 0.21's rules.

The rules are in peft/tuners/tuners_utils.py and peft/peft_model.py, the defaults in peft/utils/constants.py.
"""

import re
from collections.abc import Collection, Mapping
from typing import Any, Literal, NamedTuple

from bertcalc.changes.rewriting import Rewriting, Spot
from bertcalc.model.family import Task, output_embeddings
from bertcalc.model.modules import Conv1D, Linear, Module, split_layer
from bertcalc.text import N_
from bertcalc.text.bounded_matching import index_in, matches
from bertcalc.text.problem import InputError, Problem

TaskType = Literal["SEQ_CLS", "TOKEN_CLS", "QUESTION_ANS", "CAUSAL_LM", "FEATURE_EXTRACTION"]
Names = str | Collection[str]
Kinds = tuple[type[Module], ...]
LINEAR: Kinds = (Linear, Conv1D)

# Maps peft's task types to the modules that peft trains as a whole.
HEADS: Mapping[str | None, tuple[str, ...]] = {
    "SEQ_CLS": ("classifier", "score"),
    "TOKEN_CLS": ("classifier", "score"),
    "QUESTION_ANS": ("qa_outputs",),
}
# Maps the tasks of model classes to peft's task types.
TASK_TYPES: Mapping[Task, TaskType] = {
    "sequence-classification": "SEQ_CLS",
    "token-classification": "TOKEN_CLS",
    "question-answering": "QUESTION_ANS",
    "causal-lm": "CAUSAL_LM",
}
# peft's default targets, keyed by model type: TRANSFORMERS_MODELS_TO_..._MODULES_MAPPING, where the dots stand for
# LORA_TARGET, IA3_TARGET, IA3_FEEDFORWARD and LNTUNING_TARGET.
LORA_TARGETS: Mapping[str, Names] = {
    **dict.fromkeys(("bert", "roberta", "xlm-roberta", "electra"), ("query", "value")),
    "deberta-v2": ("query_proj", "value_proj"),
    "deberta": ("in_proj",),
    "gpt2": ("c_attn",),
}
IA3_TARGETS: Mapping[str, Names] = {
    **dict.fromkeys(("bert", "roberta"), ("key", "value", "output.dense")),
    "deberta-v2": ("key_proj", "value_proj", "output.dense"),
    "deberta": ("in_proj", "output.dense"),
    "gpt2": ("c_attn", "mlp.c_proj"),
}
IA3_FEED_FORWARD: Mapping[str, Names] = {
    **dict.fromkeys(("bert", "roberta", "deberta-v2", "deberta"), ("output.dense",)),
    "gpt2": ("mlp.c_proj",),
}
LAYER_NORMS: Mapping[str, Names] = {"gpt2": ("ln_1", "ln_2", "ln_f")}
# peft's EMBEDDING_LAYER_NAMES. If such a module is a target, peft saves its whole table.
EMBEDDING_LAYERS = ("embed_tokens", "lm_head")
ALL_LINEAR = "all-linear"
# Common values of target_modules. peft adapts every module with a name that ends in one of these names: c_proj means
# both modules with this name in a GPT-2 layer.
NAMED_TARGETS: tuple[Names, ...] = (
    *(("dense",), ("query", "value", "dense"), ("c_attn", "c_proj"), ("c_attn", "c_proj", "c_fc"), ALL_LINEAR),
)
_NO_DEFAULT = N_("peft has no default {field} for {family}: name the modules, for instance {example}.")
_NOTHING = N_("No module of {architecture} matches target_modules {targets}: use, for instance, {example}.")
_ALL_SAVED = N_("All target_modules ({targets}) are in modules_to_save ({modules}), which peft trains as a whole.")
_NO_PATTERN = N_(
    "A target_modules string is a regular expression for a module's full name, and no module of {architecture} "
    "matches {targets}: use a list of names, such as {example}."
)
_EMPTY = N_("target_modules is an empty list: name the modules, for instance {example}.")
_NOT_IN_LAYERS = N_(
    "The layers_to_transform {numbers} have none of the target_modules {targets}: the layers of {architecture} are "
    "{first} to {last}."
)
_NOT_IN_PATTERN = N_(
    "The layers_to_transform {numbers} of the layers_pattern {pattern} have none of the target_modules {targets}: the "
    "layers of {architecture} are {first} to {last}."
)


class Targets(NamedTuple):
    """The modules that an adapter targets, with the arguments of peft's configurations."""

    target_modules: Names
    exclude_modules: Names | None = None
    layers_to_transform: Collection[int] | int | None = None
    layers_pattern: Names | None = None
    saved: Collection[str] = ()  # modules that are trained as a whole and therefore are not targets

    def match(self, name: str) -> bool:
        """Whether the module with this full name is a target."""
        if self.exclude_modules and _matches(self.exclude_modules, name):
            return False
        if any(matches(rf"(^|.*\.){saved}($|\..*)", name, whole=False) for saved in self.saved):
            return False
        if not isinstance(self.target_modules, str) and name in self.target_modules:
            return True
        return _matches(self.target_modules, name) and self._in_layers(name)

    def _in_layers(self, name: str) -> bool:
        layers = self.layers_to_transform
        if layers is None or layers == () or isinstance(self.target_modules, str):
            return True
        patterns = [self.layers_pattern] if isinstance(self.layers_pattern, str) else self.layers_pattern
        starts = [rf"(?:^|.*?\.){pattern}" for pattern in patterns] if patterns else [r".*?\.[^.]*"]
        indices = (index_in(rf"{start}\.(?P<idx>\d+)\.", name) for start in starts)
        number = next((int(index) for index in indices if index is not None), None)
        return number in ([layers] if isinstance(layers, int) else layers)


def _matches(names: Names, name: str) -> bool:
    if isinstance(names, str):
        return matches(names, name)
    return name in names or any(name[dot.end() :] in names for dot in re.finditer(r"\.", name))


def matching(rewriting: Rewriting, targets: Targets, kinds: Kinds = LINEAR) -> list[Spot]:
    """Return the modules of the tree that are targets.

    Raises InputError if there are none. The error suggests modules of ``kinds``.
    """
    spots = [spot for spot in rewriting.spots() if targets.match(rewriting.full_names(spot)[0])]
    if not spots:
        raise _nothing(rewriting, targets, kinds)
    return spots


def named_by_layer(names: Names | None) -> bool:
    """Whether names or a pattern may select only some of the layers.

    This is possible if they contain a digit. A pattern may also contain a dot for any character, or a character class.
    """
    if isinstance(names, str):
        return bool(re.search(r"[0-9.\[\\]", re.sub(r"\\\.|\.[*+]", "", names)))
    return any(re.search("[0-9]", name) for name in names or ())


def resolved(
    rewriting: Rewriting,
    field: str,
    names: Names | None,
    defaults: Mapping[str, Names],
    task_type: TaskType | None,
    kinds: Kinds = LINEAR,
) -> Names:
    """Return the module names in a field: ``names``, unless it is None or "all-linear".

    None stands for peft's default for the family, as listed in ``defaults``. "all-linear" stands for all linear modules
    except the output layer. Raises InputError if there is no default. The error suggests modules of ``kinds``.
    """
    family = rewriting.model.family.name
    if names is None:
        if family not in defaults:
            example = _example(rewriting, kinds)
            raise InputError(Problem.of(_NO_DEFAULT, field, None, field=field, family=family, example=example))
        return defaults[family]
    if isinstance(names, str) and names.lower() == ALL_LINEAR:
        return frozenset(_linear(rewriting, task_type))
    return names


def _nothing(rewriting: Rewriting, targets: Targets, kinds: Kinds) -> InputError:
    model, names, layers = rewriting.model, targets.target_modules, targets.layers_to_transform
    values: dict[str, Any] = {
        "architecture": model.architecture,
        "targets": names if isinstance(names, str) else _listed(sorted(names)[:6]),
        "example": _example(rewriting, kinds),
    }
    every = [name for spot in rewriting.spots() for name in rewriting.full_names(spot)]
    if layers is not None and any(map(targets._replace(layers_to_transform=None).match, every)):
        paths = [path for name in every if (path := split_layer(name)[0])]
        values |= {"numbers": _listed(layers), "pattern": _listed(targets.layers_pattern or ())}
        values |= {"first": paths[0], "last": paths[-1]}
        message = _NOT_IN_PATTERN if targets.layers_pattern else _NOT_IN_LAYERS
        return InputError(Problem.of(message, "layers_to_transform", layers, **values))
    if any(map(targets._replace(saved=()).match, every)):
        values["modules"] = _listed(targets.saved)
        return InputError(Problem.of(_ALL_SAVED, "modules_to_save", None, **values))
    message = _NO_PATTERN if isinstance(names, str) else _NOTHING if names else _EMPTY
    return InputError(Problem.of(message, "target_modules", None, **values))


def _listed(values: Collection[object] | int) -> str:
    items = [values] if isinstance(values, (str, int)) else values
    return ", ".join(map(str, items))


def _example(rewriting: Rewriting, kinds: Kinds) -> str:
    spots = [spot for spot in rewriting.spots() if isinstance(spot.module, kinds)]
    names = dict.fromkeys(spot.name for spot in spots if split_layer(spot.path)[0]) or {spots[0].name: None}
    return ", ".join([*names][:2])


def _linear(rewriting: Rewriting, task_type: TaskType | None) -> list[str]:
    """Return the names of all linear modules except the output layer: a language model's decoder or a classifier."""
    spots = [spot for spot in rewriting.spots() if isinstance(spot.module, (Linear, Conv1D))]
    outputs = output_embeddings(spot.module for spot in spots)
    if not outputs and task_type == "SEQ_CLS":
        outputs = [spot.module for spot in spots if spot.path in ("score", "classifier")]
    return [name for spot in spots if spot.module not in outputs for name in rewriting.full_names(spot)]
