"""Another reading of a number that was judged wrong: by other words of its sentence, or by its calculation.

>>> from bertcalc import BertConfig, build
>>> from bertcalc.proofreading.calculations import find
>>> from bertcalc.proofreading.contexts import Surroundings
>>> text = "Two layers of it have 14,175,744 parameters."
>>> [entry] = find(text, {})
>>> str(other_reading(Judged("wrong"), entry, Surroundings(text).of(entry), build(BertConfig())).counts)
'2 times one layer'
"""

import re

from bertcalc.diagnosis.layer_parts import PARTS, USUAL, WHOLE_OR_BODY, Counted
from bertcalc.diagnosis.part_words import part_in_words
from bertcalc.model.model import Model
from bertcalc.proofreading.calculations import ChainSide, WrittenNumber
from bertcalc.proofreading.contexts import Context
from bertcalc.proofreading.mentions.written_sizes import in_digits
from bertcalc.proofreading.named_parts import WIDE, all_parts, meant_alone, names_particular_part
from bertcalc.proofreading.verdicts import LEAST_WITHOUT_WORDS, UNKNOWN, Judged, right_as
from bertcalc.proofreading.whole_counts import is_total, is_total_of_model
from bertcalc.text import N_
from bertcalc.text.problem import Problem

ROUGHEST = 400  # times half a unit in the last of three digits: 85.1M


def other_reading(judged: Judged, entry: WrittenNumber, context: Context, model: Model) -> Judged | None:
    """The verdict by a reading in which the number is not wrong; None if there is none."""
    side = entry.best
    if judged.counted and judged.counted.part.startswith(("gamma of", "beta of")):
        return UNKNOWN  # words that name one of the two often mean both
    if side.unit not in (None, "parameters") or side.value < LEAST_WITHOUT_WORDS or side.reach * ROUGHEST > side.value:
        return UNKNOWN if judged.counted and _says_only_biases(judged.counted, context) else None
    if times := _of_some_layers(side, context, model):
        return times
    of_whole = is_total_of_model(judged) or (judged.counted is not None and judged.counted.part in WIDE)
    only_above = not names_particular_part(context._replace(headings=()), model)
    if (of_whole or only_above) and (part := _named_in_sentence(side, context, model)):
        return right_as(part, model)
    if of_whole and not side.reach and not is_total(context._replace(headings=())):
        usual = (part for part in all_parts(model) if part.part in USUAL and part.part not in WHOLE_OR_BODY)
        exact = next((part for part in usual if part.right == side.value and part.layers == "all"), None)
        return right_as(exact, model) if exact and judged.counted and judged.counted.part in WHOLE_OR_BODY else None
    unnamed = not names_particular_part(context._replace(names=context.names[:1], headings=()), model)
    if (entry.computes or unnamed) and (part := _module(judged, side, context, model)):
        return Judged("right", counts=part_in_words(part, model), counted=part)
    return None


def _named_in_sentence(side: ChainSide, context: Context, model: Model) -> Counted | None:
    """The part with this count, if the sentence names it, although the nearest words mean layers or the model."""
    scope = context.scope(model.config.num_hidden_layers)
    for part in all_parts(model):
        is_part = part.part in PARTS and part.part not in WHOLE_OR_BODY and part.heads == "all"
        if not is_part or part.layers == "others" or (scope and part.layers != scope):
            continue
        if abs(part.right - side.value) <= side.reach and re.search(PARTS[part.part][1], context.sentence, re.I):
            return part
    return None


_LAYERS = re.compile(
    r"(?<![\w.-])(?P<number>[0-9]{1,3}|\w{2,12}(?:-four)?|[两三四六八十]) ?个?(?:layers|blocks|层)", re.I
)


def _of_some_layers(side: ChainSide, context: Context, model: Model) -> Judged | None:
    """The verdict on the count of several layers: two layers have 14,175,744 parameters."""
    for name in context.names[:2]:
        number = in_digits(match["number"]) if (match := _LAYERS.search(name)) else 0
        if not 1 < number < model.config.num_hidden_layers:
            continue
        for part in all_parts(model):
            is_named = part.part == "layers" or re.search(PARTS.get(part.part, ("", "(?!)"))[1], name, re.I)
            if part.layers == "one" and is_named and abs(number * part.right - side.value) <= side.reach:
                counts = Problem.of(N_("{number} times {part}"), number=number, part=part_in_words(part, model))
                return Judged("right", counts=counts)
    return None


# Modules whose weights and biases are often computed separately from the rest.
_MODULES = (
    "query, key and value",
    "output projection of the attention",
    "first matrix of the feed-forward",
    "second matrix of the feed-forward",
)


def _module(judged: Judged, side: ChainSide, context: Context, model: Model) -> Counted | None:
    """The module that a calculation counts with its biases, if only a heading names the part that contains it."""
    if any(meant_alone(name) and name in " ".join(context.before.split()) for name in context.names[:1]):
        return None
    whole = {tensor.name for tensor in judged.counted.tensors} if judged.counted else set()
    fitting = (part for part in all_parts(model) if part.part in _MODULES and part.heads == "all")
    inside = (part for part in fitting if {tensor.name for tensor in part.tensors} < whole)
    return next((part for part in inside if part.layers != "others" and part.right == side.value), None)


_ONLY_BIASES = re.compile(r"\W*(?:bias(?:es)?|偏置)\W*", re.I)


def _says_only_biases(part: Counted, context: Context) -> bool:
    """Whether the words beside a number name biases, but not of which part."""
    return part.part.startswith("biases") and any(map(_ONLY_BIASES.fullmatch, context.names[:2]))
