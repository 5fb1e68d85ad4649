"""Find mistyped sizes of a published model: d_model = 786 for BERT-base.

>>> config = PRESETS["bert-base-uncased"].config
>>> is_slip_of_size("hidden_size", 786, config), is_slip_of_size("hidden_size", 512, config)
(True, False)
>>> without_slips({"hidden_size": 786, "num_hidden_layers": 6}, config)
{'num_hidden_layers': 6}
"""

import re
from collections.abc import Mapping
from fractions import Fraction
from functools import lru_cache

from bertcalc.config import Config
from bertcalc.diagnosis.relatives import RELATIVES
from bertcalc.families.presets import PRESETS
from bertcalc.model.model import Model
from bertcalc.proofreading.claims import in_words
from bertcalc.proofreading.mentions.calculations import WrittenNumber
from bertcalc.proofreading.mentions.contexts import Context
from bertcalc.proofreading.mentions.written_sizes import SUPPOSED, StatedSize
from bertcalc.proofreading.verdicts import Judged
from bertcalc.text import N_
from bertcalc.text.arithmetic import evaluate
from bertcalc.text.problem import InputError, Problem

MISTYPED = N_("The {field} of the model is {right}: the digits of {written} are mistyped.")
# Fields with sizes of three digits or more.
_LONG = ("hidden_size", "intermediate_size", "vocab_size", "max_position_embeddings")
_ROUND, _MULTIPLE = 50, 64  # deliberately chosen sizes are multiples of these
_MOST_ADDED, _ADDED_AT_ONCE = 100, 100  # a text may add up to 100 tokens, or a multiple of 100
_CLOSE = 40  # a slip differs from the right size by at most a fortieth


def is_slip_of_size(field: str, size: int, config: Config) -> bool:
    """Whether a size is a configuration's size with two digits exchanged, or with one or two wrong digits."""
    if field not in _LONG or not config.has(field):
        return False
    right: int = getattr(config, field)
    if abs(size - right) <= 1 or len(str(size)) != len(str(right)):
        return False
    if size % _ROUND == 0 or size % _MULTIPLE == 0 or size in _published_sizes(field):
        return False
    if _is_exchanged(size, right):
        return True
    differing = [index for index, digit in enumerate(str(right)) if str(size)[index] != digit]
    surplus = size - right
    is_extended = field == "vocab_size" and surplus > 0 and (surplus <= _MOST_ADDED or surplus % _ADDED_AT_ONCE == 0)
    is_close = len(differing) <= _TWO and abs(size - right) * _CLOSE <= right
    return is_close and not is_extended and field != "max_position_embeddings"  # 510 is 512 without [CLS] and [SEP]


def _is_exchanged(size: int, right: int) -> bool:
    """Whether a size equals the right size except for two exchanged digits."""
    differing = [pair for pair in zip(str(size), str(right), strict=True) if pair[0] != pair[1]]
    return len(differing) == _TWO and sorted(str(size)) == sorted(str(right))


_TWO = 2


def is_slip_of_vocabulary(size: int, config: Config) -> bool:
    """Whether a vocabulary size is a configuration's vocabulary size with one wrong digit other than the last.

    >>> [is_slip_of_vocabulary(size, PRESETS["bert-base-uncased"].config) for size in (30532, 30523, 30528)]
    [True, False, False]
    """
    right = config.vocab_size
    is_chosen_depth = (
        size % _OF_PADDED == 0 or (size - right) % _ADDED_AT_ONCE == 0 or size in _published_sizes("vocab_size")
    )
    if is_chosen_depth or len(str(size)) != len(str(right)):
        return False
    differing = [index for index, digit in enumerate(str(right)) if str(size)[index] != digit]
    return len(differing) == 1 and differing[0] < len(str(right)) - 1 and abs(size - right) * _CLOSE <= right


_OF_PADDED = 8  # padded vocabulary sizes are multiples of 8


def is_rounded_vocabulary(size: int | Fraction, vocabulary: int) -> bool:
    """Whether a size is a multiple of 1,000 that differs from a vocabulary size by at most a twentieth.

    >>> is_rounded_vocabulary(30_000, 30_522), is_rounded_vocabulary(21_128, 30_522)
    (True, False)
    """
    near = vocabulary // 20
    return size % 1000 == 0 and size != vocabulary and vocabulary - near <= size <= vocabulary + near


@lru_cache(maxsize=8)
def _published_sizes(field: str) -> frozenset[int]:
    return frozenset(getattr(config, field) for config in _published() if config.has(field))


@lru_cache(maxsize=1)
def _published() -> tuple[Config, ...]:
    """The configurations of the published models."""
    return *(preset.config for preset in PRESETS.values()), *(relative.config for relative in RELATIVES.values())


def without_slips(sizes: Mapping[str, int], config: Config) -> dict[str, int]:
    """The sizes in a text, except those that are mistyped sizes of a configuration."""
    return {field: size for field, size in sizes.items() if not is_slip_of_size(field, size, config)}


@lru_cache(maxsize=64)
def is_published(model: Model) -> bool:
    """Whether a model has the configuration of a published model."""
    return model.config in _published()


def judge_size(stated: StatedSize, context: Context, model: Model, published: Config) -> Judged | None:
    """Judge a size that differs from the published model's; return None if the text may mean another model."""
    field, size = stated.field, stated.size
    right = getattr(published, field) if published.has(field) else None
    if right is None or size == right or getattr(model.config, field) != right:
        return None
    if context.supposes or SUPPOSED.search(context.sentence):
        return None
    # Whether the sentence also has the right size, such as both 786 and 768.
    is_beside = re.search(rf"(?<![0-9,.]){right}(?![0-9])", context.sentence)
    if is_slip_of_size(field, size, published) and not is_beside and not _OF_OTHER_PART.search(context.sentence):
        message = MISTYPED
    elif stated.is_fact and (stated.kind or not is_of_other_model(_around(stated, context))):
        message = N_("The {field} of the model is {right}, not {written}.")
    else:
        return None
    values = {"field": field, "right": right, "written": in_words(Fraction(size))}
    return Judged("wrong", Fraction(right), None, (Problem.of(message, **values),))


def _around(stated: StatedSize, context: Context) -> str:
    """The text in which words can show that a size belongs to another model.

    It is the sentence for an intermediate size, otherwise the line.
    """
    return context.sentence if stated.field == "intermediate_size" else context.line


# Words for something else in the sentence that the size may belong to, such as a classifier.
_OF_OTHER_PART = re.compile(
    r"\bclassif|dimensional vector|\bwider|narrower|\bclose to\b|\btypo|divisible|\bours\b"
    r"|\b(?:LSTM|GRU|CNN|RNN)\b|\bprobe|\bproject|\bon top\b|\badapter|\b(?:our|my|own)\b|分类器|自己",
    re.I,
)
# Words for a changed version of the published model, or for a part of it.
_OF_OTHER_MODEL = re.compile(
    r"\b(?:first|last|top|bottom|lower|upper|frozen?|freez\w+|per|remov\w+|prun\w+|drop\w*|distil\w*|student|keep\w*"
    r"|only|our|my|own|custom\w*|smaller|larger|instead|modif\w+|reduc\w+|version|variant|additional|extra|remain\w*|left|more|less"
    r"|fewer|every|each|out of|of the|vs|versus|compared|than|both|respectively|and)\b"
    r"|分别|比|和|与|前|后|最后|冻结|每|去掉|剪枝|裁剪|蒸馏|只|仅|自己|自定义|改|减|多|少|剩",
    re.I,
)


# The word between two sizes of one model: 12 layers and 12 heads, 12 层和 12 个头.
_BETWEEN_SIZES = re.compile(
    r"(?:\band|和|与)(?=\s?(?:an? )?(?:[0-9]|(?:hidden|intermediate|embedding|feed[ -]?forward|vocab)))", re.I
)


@lru_cache(maxsize=8)  # cached, because it is called for every model and every size on a line
def is_of_other_model(line: str) -> bool:
    """Whether a line may be about a changed version of a published model, a part of it, or several models.

    >>> is_of_other_model("BERT-base has 16 layers and 12 heads."), is_of_other_model("We keep 16 layers of BERT-base.")
    (False, True)
    """
    return bool(_OF_OTHER_MODEL.search(_BETWEEN_SIZES.sub(",", line)))


def judge_factor(entry: WrittenNumber, published: Config) -> Judged | None:
    """Judge a product with a mistyped size: 50427 * 768 for GPT-2's word embeddings; return None for other products."""
    side = entry.calculation
    if side is None or len(entry.sides) > _TWO or not entry.stated.counts_parameters:
        return None
    values = [int(number) for number in side.numbers if number.denominator == 1]
    sizes = {field: getattr(published, field) for field in _LONG if published.has(field)}
    slips = [
        (value, right)
        for value in dict.fromkeys(values)
        for field, right in sizes.items()
        if is_slip_of_size(field, value, published) and (right not in values or _is_exchanged(value, right))
    ]
    if len(slips) != 1 or not {*values} & {*sizes.values()}:
        return None
    [(written, size)] = slips
    try:
        right = evaluate(re.sub(rf"(?<![0-9.]){written}(?![0-9.])", f"{size}", side.text))
    except InputError:
        return None
    message = N_("{written} is a typo for {size}: with {size}, the calculation gives {right}.")
    reason = Problem.of(message, written=in_words(Fraction(written)), size=size, right=in_words(right))
    return Judged("wrong", right, None, (reason,))
