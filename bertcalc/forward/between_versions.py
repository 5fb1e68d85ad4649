"""The differences between the inputs and outputs of forward methods in transformers 4 and 5."""

from collections.abc import Iterator

from bertcalc.config import Problem
from bertcalc.families import family_of
from bertcalc.families.common import FLAGS
from bertcalc.forward.call import Call, attends, caches
from bertcalc.model.model import Model
from bertcalc.text import N_
from bertcalc.transformers4.version import FIVE, FOUR, Version, version_of


def inputs(version: Version, names: tuple[str, ...]) -> tuple[str, ...]:
    """The parameters of a forward method in a version of transformers; ``names`` are its parameters in version 5."""
    if version is FIVE:
        return names
    position = names.index("inputs_embeds")
    same = tuple(name for name in names if name != "logits_to_keep")
    cached = ("cache_position",) if "past_key_values" in names else ()
    return (*same[:position], "head_mask", *same[position:], *FLAGS, *cached)


def problems(model: Model, call: Call) -> Iterator[Problem]:
    """The problems that make a forward pass fail in transformers 4 but not in 5, for models that version 4 builds."""
    if version_of(model.config) is FOUR and _fails(model, call):
        message = N_(
            "With cross-attention but no encoder_hidden_states, transformers 4 fails with output_attentions: set "
            "output_attentions or add_cross_attention to False."
        )
        yield Problem.of(message, "output_attentions", True, {"output_attentions": False})


def _fails(model: Model, call: Call) -> bool:
    """Whether transformers 4 expects cross attentions that do not exist."""
    return call.output_attentions and model.config.add_cross_attention and not attends(model, call)


def differences(model: Model, call: Call) -> Iterator[Problem]:
    """Notes on how the outputs of transformers 4 and 5 differ for this call."""
    config, cls, crossed = model.config, model.cls, attends(model, call)
    if version_of(config) is FOUR:
        yield Problem.of(
            N_("This shows transformers 4, because transformers 5 has no relative positions."),
            "position_embedding_type",
        )
        return
    cached = caches(model, call)
    if _fails(model, call):
        message = N_("transformers 4 fails here: it expects cross-attentions, and there are none.")
        yield Problem.of(message, "cross_attentions")
        return
    as_bert = not family_of(config).cross_cache  # GPT-2's cache is the same in both versions
    if as_bert and cls.caches and cached and not crossed:
        message = N_("transformers 4 returns an EncoderDecoderCache, with an empty half for the cross-attention.")
        yield Problem.of(message, "past_key_values")
    if cls.caches and call.output_attentions and not crossed and "cross_attentions" not in cls.withholds:
        yield Problem.of(N_("transformers 4 omits empty cross_attentions."), "cross_attentions")
    if as_bert and not cls.caches and not call.return_dict and (cached or (crossed and call.output_attentions)):
        message = N_(
            "In a tuple, transformers 4 also returns past_key_values and cross_attentions if the body has them."
        )
        yield Problem.of(message, "return_dict")
    if not call.return_dict and not model.add_pooling_layer:
        yield Problem.of(
            N_("In a tuple, transformers 4 has None in place of the missing pooler_output."), "return_dict"
        )
