"""Descriptions of parts, known counts and mistakes, as messages that a page can translate.

>>> from bertcalc import BertConfig, build
>>> from bertcalc.diagnosis.layer_parts import parts_of
>>> from bertcalc.diagnosis.miscounts import MiscountSizes, counted
>>> bert = build(BertConfig())
>>> attention = list(parts_of(counted(bert), MiscountSizes.of(bert.config), ["attention"]))
>>> print(part_in_words(attention[0], bert), "-", part_in_words(attention[1], bert))
attention of all 12 layers - attention of one layer
"""

from collections.abc import Iterator
from functools import reduce

from bertcalc.config import Config
from bertcalc.diagnosis.explain import Explanation
from bertcalc.diagnosis.known_counts import CONVENTIONS, KnownCount
from bertcalc.diagnosis.layer_parts import PARTS, WHOLE_MODEL, Counted
from bertcalc.diagnosis.miscounts import MISCOUNTS, Miscount
from bertcalc.model.model import Model
from bertcalc.text import N_
from bertcalc.text.problem import Problem


def part_in_words(part: Counted, model: Model) -> Problem:
    """Describe a part of a model with its layers: "of one layer", "of all 12 layers"."""
    layers = model.final_config.num_hidden_layers
    if part.layers != "all" or layers == 1 or not _is_of_layers(part):
        return part_in_layers(part)
    if part.part == "layers":
        return Problem.of(N_("all {layers} layers"), layers=layers)
    return Problem.of(N_("{part} of all {layers} layers"), part=_in_counted_layers(part), layers=layers)


def part_in_layers(part: Counted) -> Problem:
    """Describe a part and, unless all layers are counted, its layers: "attention of one layer".

    A part that is not in PARTS is described by its tensor or module name, or by the typed text.
    """
    if part.layers == "all":
        return _of_head(part, part.part)
    if part.part == "layers":
        return Problem.of(N_("one layer") if part.layers == "one" else N_("all layers but one"))
    message = N_("{part} of one layer") if part.layers == "one" else N_("{part} of all layers but one")
    return Problem.of(message, part=_in_counted_layers(part))


def _in_counted_layers(part: Counted) -> Problem:
    """Describe a part for a phrase that names its layers: "matrices" for "matrices of the layers"."""
    return _of_head(part, _OF_THE_LAYERS.get(part.part, part.part))


_OF_THE_LAYERS = {
    f"{name} of the layers": name for name in (N_("LayerNorms"), N_("biases"), N_("matrices"), N_("vectors"))
}


def _of_head(part: Counted, text: str) -> Problem:
    name = Problem.of(text) if part.part in PARTS else Problem.of("{part}", part=text)
    return Problem.of(N_("{part} of one head"), part=name) if part.heads == "one" else name


def _is_of_layers(part: Counted) -> bool:
    """Whether a part lies in the encoder and at least one of its tensors is repeated in several layers.

    The whole model does not count as such a part.
    """
    tensors = [tensor for tensor in part.tensors if tensor.num_parameters()]
    in_layers = all(tensor.place.component == "encoder" for tensor in tensors)
    return in_layers and part.part != WHOLE_MODEL and any(tensor.copies > 1 for tensor in part.tensors)


def known_in_words(count: KnownCount) -> Problem:
    """Describe a known count: its class, with or without a pooler, tied or untied, and its convention."""
    model, message = count.model, "{architecture}"
    if model.cls.task == "base" and model.cls.pooler:
        message = N_("{architecture} with pooler") if model.add_pooling_layer else N_("{architecture} without pooler")
    elif count.has_decoder:
        tied, untied = N_("{architecture}, decoder tied"), N_("{architecture}, decoder untied")
        message = tied if model.config.tie_word_embeddings else untied
    words = Problem.of(message, architecture=model.architecture)
    for convention in _conventions(count):
        words = Problem.of(N_("{known}, {convention}"), known=words, convention=convention)
    return words


def _conventions(known_count: KnownCount) -> Iterator[Problem]:
    if known_count.convention:
        count = known_count.model.config.num_labels if known_count.convention == "labels" else known_count.buffers
        yield Problem.of(CONVENTIONS[known_count.convention], count=count)
    if known_count.buffers and known_count.convention in ("", "pooler"):
        yield Problem.of(
            N_("with {count} position_ids, a buffer in files of older releases"), count=known_count.buffers
        )


def mistakes_in_words(explanation: Explanation, config: Config) -> Problem:
    """Describe all mistakes of an explanation in one phrase."""
    return reduce(
        lambda first, second: Problem.of(N_("{first}; {second}"), first=first, second=second),
        _mistakes(explanation, config),
    )


def _mistakes(explanation: Explanation, config: Config) -> Iterator[Problem]:
    """Yield a description of each mistake; a wrong size is described by the name of its field."""
    for cause in explanation:
        miscount = MISCOUNTS.get(cause.miscount)
        if miscount is None:
            yield Problem.of(N_("a different size: {name}"), name=cause.miscount)
            continue
        if cause.miscount != "encoder once":  # the factor below already says this
            yield miscount_in_words(miscount)
        if cause.miscount.endswith("once"):
            message = N_("one layer instead of {layers}: multiply by {layers}")
            yield Problem.of(message, layers=config.num_hidden_layers)


def miscount_in_words(miscount: Miscount) -> Problem:
    """Return the description of a miscount, with its values filled in."""
    return Problem.of(miscount.description, **miscount.values)
