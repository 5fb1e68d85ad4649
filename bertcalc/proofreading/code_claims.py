r"""Judge a number in code: after a module, nn.Linear(768, 3072)  # 2362368, or the total that the code prints.

>>> from bertcalc.proofreading.mentions.calculations import find
>>> from bertcalc.proofreading.mentions.contexts import Surroundings
>>> text = "count(nn.Linear(3072, 768))  # 2,362,368"
>>> [entry] = [entry for entry in find(text, {}) if not entry.computes]
>>> print(judge_module(entry, Surroundings(text).of(entry)).reasons[0])
2,360,064 is right for nn.Linear(3072, 768).
>>> code = "model = BertModel(BertConfig(num_hidden_layers=6))\nprint(model.num_parameters())  # 81 million"
>>> judge_printed_total(find(code, {})[-1], code).right_value
Fraction(66955008, 1)
"""

import re
from fractions import Fraction
from functools import lru_cache
from math import prod

from bertcalc.config import ConfigError
from bertcalc.families import build, hf_json
from bertcalc.model.model import Model
from bertcalc.proofreading.mentions.calculations import WrittenNumber
from bertcalc.proofreading.mentions.config_code import configs_in_code
from bertcalc.proofreading.mentions.contexts import Context
from bertcalc.proofreading.named_parts import count_of_part
from bertcalc.proofreading.verdicts import LEAST, Judged, compared, is_far
from bertcalc.proofreading.whole_counts import total_is
from bertcalc.text import N_
from bertcalc.text.problem import Problem

_MODULE = re.compile(
    r"(?:nn\.)?(?P<name>Linear|Embedding|LayerNorm)\((?P<arguments>(?:[^()]|\([0-9, ]{1,20}\)){1,120})\)"
    r"[\s)#:：=→>-]{0,30}(?:params?|parameters|参数量?)?[\s:：=]{0,5}$"
)
# The arguments of each module, in order.
_ARGUMENTS = {
    "Linear": ("in_features", "out_features", "bias"),
    "Embedding": ("num_embeddings", "embedding_dim", "padding_idx"),
    "LayerNorm": ("normalized_shape", "eps", "elementwise_affine", "bias"),
}
# Further arguments, which do not change a module's shapes.
_OTHERS = ("device", "dtype", "max_norm", "norm_type", "scale_grad_by_freq", "sparse")


def judge_module(entry: WrittenNumber, context: Context) -> Judged | None:
    """Judge a number directly after a module or a tensor's shape; return None for other numbers or unknown modules."""
    side = entry.best
    if tensor := _TENSOR.search(context.before):
        return _of_shape(entry, tensor)
    if elements := _elements(entry, context):
        return elements
    module = _MODULE.search(context.before) if not entry.computes and side.value >= LEAST else None
    right = _count(module) if module else 0
    if module is None or not right or not side.counts_parameters:
        return None
    called = f"{module['name']}({module['arguments']})"
    called = f"nn.{called}" if module[0].startswith("nn.") else called
    counts = Problem.of(N_("the parameters of {module}"), module=called)
    reason = Problem.of(N_("{right} is right for {part}."), right=right, part=called)
    return compared(Fraction(right), side.value, counts, reason, side.rough)


# A tensor with its shape: encoder.layer.0.output.dense.weight torch.Size([768, 3072])
_TENSOR = re.compile(
    r"(?<![\w.])(?P<name>(?:\w{1,40}\.){1,12}(?:weight|bias))[\s`'\"|:,=→>-]{1,30}"
    r"(?:torch\.Size)?\(?[\[(](?P<sizes>[0-9]{1,7}(?:,\s?[0-9]{1,7}){0,3}),?[\])]\)?[\s`'\"|:,=→>-]{1,30}$"
)


def _of_shape(entry: WrittenNumber, tensor: re.Match[str]) -> Judged | None:
    """Judge the number of elements that a text states after a tensor's name and shape."""
    side, right = entry.best, prod(int(size) for size in tensor["sizes"].split(","))
    if entry.computes or not side.counts_parameters or side.value < LEAST:
        return None
    counts = Problem.of(N_("the elements of {tensor}"), tensor=tensor["name"])
    reason = Problem.of(N_("{right} is right for {part}."), right=right, part=tensor["name"])
    return compared(Fraction(right), side.value, counts, reason, side.rough)


# A shape in a column before a count, perhaps of several tensors: [768 × 768] × 4 | 2,359,296
_SHAPE = re.compile(
    r"(?:torch\.Size)?\(?(?:\[(?P<in_brackets>[0-9]{1,7}(?:\s?[,×x]\s?[0-9]{1,7}){1,3})\]"
    r"|\((?P<sizes>[0-9]{1,7}(?:,\s?[0-9]{1,7}){1,3})\))\)?(?:\s?[×x*]\s?(?P<tensors>[0-9]{1,3}))?"
    r"[ `'\"|→>-]{2,30}$"
)
_LONGEST_SHAPE = 90
# A shape and a count in the same row, from which the other rows can be compared.
_MATRIX_AND_COUNT = re.compile(
    r"[\[(](?P<rows>[0-9]{1,7})\s?[,×x]\s?(?P<columns>[0-9]{1,7})[\])][ `'\"|→>-]{2,30}(?P<count>[0-9][0-9,]{2,14})"
)
_NEAR = 2000  # number of characters around a row that may belong to its table


def _elements(entry: WrittenNumber, context: Context) -> Judged | None:
    """Judge a number as right if it is the number of elements in the shape before it; return None otherwise."""
    stated = entry.stated
    shape = _SHAPE.search(context.text[max(0, stated.start - _LONGEST_SHAPE) : stated.start])
    if shape is None or stated.reach or stated.value < LEAST or not stated.counts_parameters:
        return None
    sizes = map(int, re.findall("[0-9]+", shape["in_brackets"] or shape["sizes"]))
    if prod(sizes) * int(shape["tensors"] or 1) != stated.value or _adds_biases(context.text, stated.start):
        return None
    return Judged("right", counts=Problem.of(N_("the number of elements in the shape before it")))


def _adds_biases(text: str, start: int) -> bool:
    """Whether another row near a position counts a matrix with its bias, so that a count without it is wrong."""
    for row in _MATRIX_AND_COUNT.finditer(text, max(0, start - _NEAR), start + _NEAR):
        rows, columns, count = (int(row[name].replace(",", "")) for name in ("rows", "columns", "count"))
        if count in (rows * columns + rows, rows * columns + columns):
            return True
    return False


def _count(module: re.Match[str]) -> int:
    """The parameters of a module; 0 if an argument is unknown, or is not a size."""
    names = _ARGUMENTS[module["name"]]
    values: dict[str, str] = {}
    for number, argument in enumerate(re.split(r",(?![^()]*\))", module["arguments"])):
        name, _sign, value = argument.rpartition("=")
        name = name.strip() or (names[number] if number < len(names) else "?")
        values[name] = value.strip().strip("(,)").replace("_", "")
    sizes = [int(values[name]) for name in names[:2] if re.fullmatch("[0-9]{1,7}", values.get(name, ""))]
    if values.keys() - {*names, *_OTHERS} or values.get("elementwise_affine") == "False":
        return 0
    has_bias = values.get("bias") != "False"
    if module["name"] == "LayerNorm":
        return sizes[0] * (1 + has_bias) if sizes else 0
    if len(sizes) < 2:
        return 0
    return prod(sizes) + (sizes[1] * has_bias if module["name"] == "Linear" else 0)


def judge_printed_total(entry: WrittenNumber, text: str) -> Judged | None:
    """Judge the number behind a line of code that counts a model's parameters; return None for other numbers.

    ``text`` is the whole text. The line counts the model that the code before it builds last, from a configuration.
    """
    before = text[max(0, entry.start - _LONGEST_CODE) : entry.start]
    counting = _COUNTS_MODEL.search(before)
    if entry.computes or not entry.stated.counts_parameters or counting is None or len(_BUILDS.findall(text)) > _MOST:
        return None
    built = [*_BUILDS.finditer(text, 0, entry.start)][-1:]
    if not built or built[0]["name"] != (counting["model"] or counting["module"]):
        return None
    end = text.find("\n", built[0].end())
    model = _built_in(text[: end if end >= 0 else len(text)])
    if model is None or is_far(entry.value, model.num_parameters(), _FARTHEST):
        return None
    total, width = model.num_parameters(), model.config.hidden_size
    if entry.stated.may_mean(total):
        return Judged("right", counts=Problem.of(N_("the count of {architecture}"), architecture=model.architecture))
    if entry.stated.means(total + width * width + width) and not count_of_part("pooler", model):
        message = N_("This is the count with a pooler. {architecture} has none in current versions of transformers.")
        reason = Problem.of(message, architecture=model.architecture)
        return Judged("conditional", Fraction(total), None, (reason,))
    return total_is(model)


_LONGEST_CODE, _FARTHEST, _MOST = 160, 4, 20
# Code that counts all parameters of a model, on the line of the number or on the line before it.
_COUNTS_MODEL = re.compile(
    r"\b(?:(?P<model>\w{1,40})\.num_parameters\(\)|\.?numel\(\) for \w+ in (?P<module>\w{1,40})\.parameters\(\)\))"
    r"[) \t,}'\":]{0,8}\n?[ \t]*(?:#|>>>|=>|->)?[ \t=>:]{0,8}"
    r"(?:\b(?:out(?:put)?|number of|total|parameters)\b[ \t:]{0,4}){0,3}$",
    re.I,
)
_BUILDS = re.compile(r"^[ \t]*(?P<name>\w{1,40}) ?= ?(?:\w{1,40}\.)?\w{1,40}(?:Model|For[A-Z]\w{1,40})\(", re.M)


@lru_cache(maxsize=4)
def _built_in(code: str) -> Model | None:
    """The last model that code builds from a configuration; None if anything about it is unknown."""
    written = configs_in_code(code)
    config = written.configs[-1] if written.configs else None
    if config is None or config.preset or config.tokens or config.unknown or written.unfollowed:
        return None
    try:
        reading = hf_json.read(config.text)
    except ConfigError:
        return None
    return build(reading.config, reading.architecture, add_pooling_layer=config.add_pooling_layer)
