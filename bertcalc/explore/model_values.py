"""A model as values of its fields, in the order in which differences are explained and links are written.

>>> values = values_of(model_of_preset("bert-base-uncased"))
>>> values["hidden_size"], values["architecture"]
(768, 'BertModel')
>>> model_of({**values, "num_hidden_layers": 24}).num_parameters()
194536704
"""

from collections.abc import Mapping
from functools import cache
from typing import Any

from bertcalc.config import ABSENT, ConfigError, Problem, absent
from bertcalc.config.fields import OWN_FIELDS
from bertcalc.families import CLASSES, NO_PRESET, class_of, family_of, preset_named
from bertcalc.families.presets import PRESETS
from bertcalc.model.model import Model
from bertcalc.text import N_
from bertcalc.text.arguments import checked, unknown

# All fields in which models can differ, the most important sizes first. Links are written and differences are explained
# in this order. Fields that constrain one another are adjacent.
FIELDS = (
    *("num_hidden_layers", "num_attention_heads", "hidden_size", "intermediate_size"),
    *("vocab_size", "pad_token_id", "max_position_embeddings", "type_vocab_size"),
    *("hidden_act", "position_embedding_type", "is_decoder", "add_cross_attention"),
    *("hidden_dropout_prob", "attention_probs_dropout_prob"),
    *("add_pooling_layer", "architecture", "tie_word_embeddings", "num_labels", "classifier_dropout"),
    *("layer_norm_eps", "initializer_range", "use_cache", "bos_token_id", "eos_token_id"),
    *OWN_FIELDS,
)
STEPS = "changes"  # the name under which change steps are compared like a field; their value is a tuple


@checked
def values_of(model: Model) -> dict[str, Any]:
    """Return the model's values for FIELDS, without the fields of other families.

    A common field that the family does not have gets its implicit value: GPT-2, for example, is always a decoder.
    """
    pooler = model.cls.pooler and model.add_pooling_layer
    return {
        **absent(type(model.config)),
        **model.config.shared(),
        "architecture": model.architecture,
        "add_pooling_layer": pooler,
    }


@checked
def model_of_preset(name: str) -> Model:
    """Return a preset in its family's base class, without a head.

    Raises UnknownNameError if there is no such preset.
    """
    preset = preset_named(name)
    if preset is None:
        raise unknown(NO_PRESET, name, PRESETS)
    return _of_preset(preset)


@cache  # one model for each preset
def _of_preset(preset: str) -> Model:
    config = PRESETS[preset].config
    return Model(config, family_of(config).base.name)


@checked
def model_of(values: Mapping[str, Any]) -> Model:
    """Return the model with these values (see ``values_of``). Raises ConfigError if the model cannot be built."""
    for name in ("architecture", "add_pooling_layer"):
        if name not in values:
            raise ConfigError(Problem.of(N_("{field} is missing."), name, None, field=name))
    architecture, pooler = values["architecture"], values["add_pooling_layer"]
    cls, family = class_of(architecture), CLASSES[architecture]
    config = {field: value for field, value in values.items() if family.config.has(field) or field in ABSENT}
    if not cls.pooler_is_optional and pooler != cls.pooler:
        message = N_("{architecture} does not have the option add_pooling_layer: only {base} does.")
        words = {"architecture": architecture, "base": family.base.name}
        raise ConfigError(Problem.of(message, "add_pooling_layer", pooler, **words))
    return Model(family.config(**config), architecture, pooler or not cls.pooler_is_optional)
