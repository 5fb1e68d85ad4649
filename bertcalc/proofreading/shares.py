"""Judge a share of the parameters: 21.8% of BERT-base are in the embeddings.

>>> from bertcalc import BertConfig, build
>>> from bertcalc.proofreading.calculations import find
>>> from bertcalc.proofreading.contexts import Surroundings
>>> text = "31% of BERT-base is a lookup table."
>>> [entry] = find(text, {})
>>> print(judge_share(entry.best, Surroundings(text).of(entry), build(BertConfig())).reasons[0])
The share of this component is 21.4 %: word embeddings.
"""

import re
from collections.abc import Iterator, Sequence
from fractions import Fraction

from bertcalc.diagnosis.known_counts import every_count, known_counts
from bertcalc.diagnosis.layer_parts import PARTS, WHOLE_OR_BODY
from bertcalc.diagnosis.part_words import part_in_words
from bertcalc.model.model import Model
from bertcalc.model.totals import totals_by_component
from bertcalc.proofreading.calculations import ChainSide
from bertcalc.proofreading.contexts import Context
from bertcalc.proofreading.named_parts import all_parts, meant_alone, scoped
from bertcalc.proofreading.relatives import SIZE_NAMES
from bertcalc.proofreading.subject import without_models
from bertcalc.proofreading.verdicts import NO_CLAIM, Judged
from bertcalc.proofreading.whole_counts import name_of
from bertcalc.text import N_
from bertcalc.text.digits import fixed
from bertcalc.text.problem import Problem

_DOUBLE = Fraction(1, 10**12)  # shares are computed in double precision


def judge_share(side: ChainSide, context: Context, model: Model) -> Judged:
    """The verdict on a share of a component: 0.2177 of the parameters are in the embeddings."""
    if len(re.sub(r"\D", "", side.text.lstrip("0."))) < 2:
        judged = _other_share(side, context, model)
        is_far = judged and judged.right_value and not Fraction(2, 5) < side.value / judged.right_value < Fraction(5, 2)
        return judged if judged and is_far else NO_CLAIM
    right = model.num_parameters()
    for component, count in totals_by_component(model).items():
        if count and abs(Fraction(count, right) - side.value) <= max(side.reach, _DOUBLE):
            message = N_("the share of this component: {component}")
            return Judged("right", counts=Problem.of(message, component=Problem.of(component)))
    return _share_of_named(side, context, model) or _other_share(side, context, model) or NO_CLAIM


def _share_of_named(side: ChainSide, context: Context, model: Model) -> Judged | None:
    """The verdict on the share that a named part has of the model or of a layer."""
    scopes = {
        "all": model.num_parameters(),
        "one": next((p.right for p in scoped("layers", model) if p.layers == "one"), 0),
    }
    for part in all_parts(model):
        called = part.part in PARTS and part.heads == "all" and part.part not in WHOLE_OR_BODY
        whole = scopes.get(part.layers)
        if not called or not whole or abs(Fraction(part.right, whole) - side.value) > max(side.reach, _DOUBLE):
            continue
        if any(re.search(PARTS[part.part][1], name, re.I) for name in context.names[:3]):
            message = N_("the share of this component: {component}")
            return Judged("right", counts=Problem.of(message, component=part_in_words(part, model)))
    return None


# A share of a part, not of the model: 33% of the attention.
_OF_PART = re.compile(
    r"\s*of (?:the |its |each |a |every |all )*(?:\w+ )?(?:layer|block|encoder|attention|ffn|mlp|embed|feed)", re.I
)
# Words around a share that mean one of the parameters of the model.
_OF_PARAMETERS = re.compile(
    r"\bshare of|\bfraction of|\bproportion of|percent(?:age)? of|account|make up|% of|占|比例"
    r"|of (?:the |all |its |total |model )*(?:param|weights|model)",
    re.I,
)
_AROUND_SHARE = re.compile(
    rf"\b(?:[\w-]{{0,12}}(?:bert|electra|gpt-?2)(?:[-_ ](?:{SIZE_NAMES}))?(?:'s|’s)?)(?![\w-])"
    r"|\b(?:sits?|lives?|lies?|belongs?|goes|go|and|while|a|network|share|fraction|proportion|percentage|of|the|its?|in|is|are|about|roughly|around|only|just|so|thus|hence|for|up"
    r"|accounts?|makes?|take|takes|grows?|rises?|increases?|falls?|drops?|shrinks?|to|now|already|then|hold|holds|contain|contains|parameters?|params|total|all|model)\b"
    r"|占|的|(?:模型)?总?参数(?:总?量)?|全部|整个|模型|比例|约|为|是|[上升增加降下减少提高]{2}[到至]|[^\w\s]",
    re.I,
)
# The parts whose share is judged, with those that go by the same name.
_EMBEDDINGS = ("embeddings", "word embeddings", "embeddings without LayerNorm")
_COMPONENTS = {"embeddings": _EMBEDDINGS, "word embeddings": _EMBEDDINGS, "layers": ("layers",), "pooler": ("pooler",)}
_FAR_SHARE = Fraction(1, 50)  # a share this close to some right one is imprecise, not wrong


def _labels(names: Sequence[str]) -> Iterator[str]:
    """The parts that the words beside a share mean, the nearest first."""
    for name in names:
        label = " ".join(_AROUND_SHARE.sub(" ", without_models(name)).split())
        if _LOOKUP.fullmatch(label):
            yield "word embeddings"
        yield from (part for part in meant_alone(label) if part in _COMPONENTS)


# The table of the words by other names.
_LOOKUP = re.compile(r"(?:vocabulary|vocab|lookup|embedding)(?: (?:table|matrix))?|词表|词向量表?", re.I)


def _other_share(side: ChainSide, context: Context, model: Model) -> Judged | None:
    """The verdict on the share of a component that is none of it in any count of the model."""
    words = " ".join((*context.names[:2], context.before, context.sentence))
    if not side.text.strip().endswith("%") or not _OF_PARAMETERS.search(words):
        return None
    sentence = " ".join(context.sentence.split())
    beside = [name for name in context.names[:3] if name in sentence] if sentence else context.names[:1]
    meant = list(_labels(beside))[:1]
    if not meant or context.supposes or _OF_PART.match(context.after):
        return None
    scope = context.scope(model.config.num_hidden_layers) if meant[0] == "layers" else ""
    parts = [part for name in _COMPONENTS[meant[0]] for part in scoped(name, model)]
    counts = [part.right for part in parts if not scope or part.layers == scope]
    wholes = _wholes(model)
    shares = [Fraction(count, whole) for count in counts for whole in wholes if whole]
    far = side.reach * 4 if "." in side.text else min(_FAR_SHARE, side.value / 4)
    if not counts or any(abs(share - side.value) <= max(side.reach, far) for share in shares):
        return None
    right = Fraction(counts[_COMPONENTS[meant[0]].index(meant[0])], model.num_parameters())
    message = N_("The share of this component is {share} %: {component}.")
    reason = Problem.of(message, share=fixed(100 * right, 1), component=Problem.of(meant[0]))
    return Judged("wrong", right, None, (reason,))


def _wholes(model: Model) -> list[int]:
    """The wholes that a share may refer to: each class with each convention, or the layers."""
    wholes = [known.total for known in every_count(model.config, known_counts)]
    return wholes + [part.right for part in scoped("layers", model)]


def judge_share_of(count: Fraction, side: ChainSide, model: Model) -> Judged | None:
    """The verdict on the share of all parameters that a count before it has; None if it is one of something else."""
    wholes = _wholes(model)
    right = count / model.num_parameters()
    counts = Problem.of(N_("the share of the number before it"))
    if abs(right - side.value) <= max(side.reach, _DOUBLE):
        return Judged("right", counts=counts)
    roughly = max(side.reach, min(_ROUGHLY, side.value / 10))
    if right >= 1 or any(abs(count / whole - side.value) <= roughly for whole in wholes):
        return None
    message = N_("The share of the number before it is {share} %.")
    reason = Problem.of(message, share=fixed(100 * right, 1))
    return Judged("wrong", right, counts, (reason,))


_ROUGHLY = Fraction(1, 200)


def judge_ratio(side: ChainSide, more: str, model: Model, other: Model) -> Judged | None:
    """The verdict on the share that a model's parameters are of another's, or by which they are ``more`` or fewer.

    None if it is right only roughly.
    """
    ratio = Fraction(model.num_parameters(), other.num_parameters())
    right = ratio if not more else ratio - 1 if more.lower() in ("more", "larger", "bigger") else 1 - ratio
    counts = Problem.of(N_("the number of parameters of {first} beside that of {second}"), first=name_of(model),
                        second=name_of(other))  # fmt: skip
    if abs(right - side.value) <= max(side.reach, _DOUBLE):
        return Judged("right", counts=counts)
    if right <= 0 or abs(right - side.value) <= max(side.reach, _ROUGH_RATIO):
        return None
    message = N_("The number of parameters of {first} is {share} % of that of {second}.")
    reason = Problem.of(message, first=name_of(model), second=name_of(other), share=fixed(100 * ratio, 1))
    return Judged("wrong", right, counts, (reason,))


_ROUGH_RATIO = Fraction(3, 100)  # published numbers have few digits
