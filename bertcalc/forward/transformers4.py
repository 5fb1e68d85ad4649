"""The differences between the forward methods of transformers 4 and 5.

Only 4 can build models with relative positions, so 4 is described for them and 5 for all others. Differences in printed
modules and tied tensors are in the families' programs, those in saved tensors in ``bertcalc.memory``.
"""

from collections.abc import Iterator
from typing import NamedTuple

from bertcalc.config import Config, Problem
from bertcalc.families import family_of
from bertcalc.families.usual import FLAGS
from bertcalc.forward.call import Call, Container, attends, caches
from bertcalc.subject import Subject
from bertcalc.text import N_


class Version(NamedTuple):
    """A major version of transformers: its pip requirement, and the inputs and outputs of its forward methods.

    ``need_weights`` are the activations that cannot be built on the meta device. ``cache`` is the container of keys and
    values without cross attention. With ``whole_tuples``, a tuple has everything that the body returns, and None for a
    missing pooler. With ``states_first``, the body returns hidden_states before past_key_values.
    """

    requirement: str = "transformers>=5"
    need_weights: tuple[str, ...] = ()
    cache: Container = "DynamicCache"
    whole_tuples: bool = False
    states_first: bool = False
    empty_cross_attentions: bool = True

    def inputs(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """The parameters of a class's forward method in this version, given those in transformers 5."""
        if self is FIVE:
            return names
        at = names.index("inputs_embeds")
        same = tuple(name for name in names if name != "logits_to_keep")
        cached = ("cache_position",) if "past_key_values" in names else ()
        return (*same[:at], "head_mask", *same[at:], *FLAGS, *cached)


FIVE = Version()
FOUR = Version(
    requirement="transformers<5",
    need_weights=("xielu",),  # its constructor reads the value of a tensor, which a meta tensor lacks
    cache="EncoderDecoderCache",
    whole_tuples=True,
    states_first=True,
    empty_cross_attentions=False,
)


def version_of(config: Config) -> Version:
    return FOUR if config.transformers_version == 4 else FIVE


def problems(subject: Subject, call: Call) -> Iterator[Problem]:
    """The reasons why forward would fail in transformers 4 but not in 5, for models that 4 builds."""
    if version_of(subject.config) is FOUR and _fails(subject, call):
        message = N_(
            "With cross attention but no encoder_hidden_states, transformers 4 fails at output_attentions: set "
            "output_attentions or add_cross_attention to False."
        )
        yield Problem.of(message, "output_attentions", True, {"output_attentions": False})


def _fails(subject: Subject, call: Call) -> bool:
    """Whether transformers 4 expects cross attentions that do not exist."""
    return call.output_attentions and subject.config.add_cross_attention and not attends(subject, call)


def differences(subject: Subject, call: Call) -> Iterator[Problem]:
    """Notes on what transformers 4 and 5 return differently for this call."""
    config, cls, crossed = subject.config, subject.cls, attends(subject, call)
    if version_of(config) is FOUR:
        yield Problem.of(N_("This is transformers 4, because 5 has no relative positions."), "position_embedding_type")
        return
    cached = caches(subject, call)
    if _fails(subject, call):
        message = N_("transformers 4 fails here: it expects cross attentions, and there are none.")
        yield Problem.of(message, "cross_attentions")
        return
    as_bert = not family_of(config).cross_cache  # GPT-2's cache is the same in both
    if as_bert and cls.caches and cached and not crossed:
        message = N_("transformers 4 returns an EncoderDecoderCache, its half for the cross attention empty.")
        yield Problem.of(message, "past_key_values")
    if cls.caches and call.output_attentions and not crossed and "cross_attentions" not in cls.withholds:
        yield Problem.of(N_("transformers 4 leaves empty cross_attentions out."), "cross_attentions")
    if as_bert and not cls.caches and not call.return_dict and (cached or (crossed and call.output_attentions)):
        message = N_(
            "In a tuple, transformers 4 returns past_key_values and cross_attentions too, where the body has them."
        )
        yield Problem.of(message, "return_dict")
    if not call.return_dict and not subject.add_pooling_layer:
        yield Problem.of(
            N_("In a tuple, transformers 4 has None in place of the missing pooler_output."), "return_dict"
        )
