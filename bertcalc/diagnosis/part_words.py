"""Parts, known counts and mistakes in words, as messages that a page can translate.

>>> from bertcalc import BertConfig, build
>>> from bertcalc.diagnosis.layer_parts import parts_of
>>> from bertcalc.diagnosis.miscounts import MiscountSizes, counted
>>> bert = build(BertConfig())
>>> attention = list(parts_of(counted(bert), MiscountSizes.of(bert.config), ["attention"]))
>>> print(part_in_words(attention[0], bert), "-", part_in_words(attention[1], bert))
attention of all 12 layers - attention of one layer
"""

from collections.abc import Iterator

from bertcalc.config import Config
from bertcalc.diagnosis.explain import Explanation
from bertcalc.diagnosis.known_counts import CONVENTIONS, KnownCount
from bertcalc.diagnosis.layer_parts import PARTS, Counted
from bertcalc.diagnosis.miscounts import MISCOUNTS
from bertcalc.model.model import Model
from bertcalc.text import N_, shorten
from bertcalc.text.problem import Problem

_WHOLE = "the whole model"


def part_in_words(part: Counted, model: Model) -> Problem:
    """A part with its layers."""
    name: object = Problem.of(part.part) if part.part in PARTS else shorten(part.part)
    if part.heads == "one":
        name = Problem("", None, N_("{part} of one head"), {"part": name})
    if part.layers == "all":
        layers = model.config.num_hidden_layers
        if (
            any(tensor.copies > 1 for tensor in part.tensors)
            and layers > 1
            and part.part != _WHOLE
            and _only_layers(part)
        ):
            if part.part == "layers":
                return Problem.of(N_("all {layers} layers"), layers=layers)
            return Problem("", None, N_("{part} of all {layers} layers"), {"part": name, "layers": f"{layers:,}"})
        return name if isinstance(name, Problem) else Problem("", None, "{part}", {"part": name})
    if part.part == "layers":
        return Problem.of(N_("one layer") if part.layers == "one" else N_("all layers but one"))
    message = N_("{part} of one layer") if part.layers == "one" else N_("{part} of all layers but one")
    return Problem("", None, message, {"part": name})


def _only_layers(part: Counted) -> bool:
    return all(tensor.place.component == "encoder" for tensor in part.tensors if tensor.num_parameters())


def known_in_words(known: KnownCount) -> Problem:
    """A known count: its class, with or without a pooler, tied or untied."""
    model = known.model
    if model.cls.task == "base" and model.cls.pooler:
        message = N_("{architecture} with pooler") if model.add_pooling_layer else N_("{architecture} without pooler")
    elif known.has_decoder:
        message = (
            N_("{architecture}, decoder tied")
            if model.config.tie_word_embeddings
            else N_("{architecture}, decoder untied")
        )
    else:
        message = "{architecture}"
    counted = Problem.of(message, architecture=model.architecture)
    if not known.convention:
        return counted
    labels = known.convention == "labels"
    count = model.config.num_labels if labels else known.buffers
    convention = Problem("", None, CONVENTIONS[known.convention], {"count": count, "rank": known.rank})
    return Problem("", None, "{known}, {convention}", {"known": counted, "convention": convention})


def mistakes(explanation: Explanation, config: Config) -> Iterator[Problem]:
    """Each mistake of an explanation; a size that is wrong has the name of its field."""
    for cause in explanation:
        miscount = MISCOUNTS.get(cause.miscount)
        if miscount is None:
            yield Problem.of(N_("another size: {name}"), name=cause.miscount)
            continue
        yield Problem("", None, miscount.description, dict(miscount.values))
        if cause.miscount.endswith("once"):
            message = N_("one layer instead of {layers}: × {layers}")
            yield Problem.of(message, layers=config.num_hidden_layers)
