"""Judge a number after a PyTorch module: nn.Linear(768, 3072)  # 2362368.

>>> from bertcalc.proofreading.mentions.calculations import find
>>> from bertcalc.proofreading.mentions.contexts import Surroundings
>>> text = "count(nn.Linear(3072, 768))  # 2,362,368"
>>> [entry] = [entry for entry in find(text, {}) if not entry.computes]
>>> print(judge_module(entry, Surroundings(text).of(entry)).reasons[0])
2,360,064 is right for nn.Linear(3072, 768).
"""

import re
from fractions import Fraction
from math import prod

from bertcalc.proofreading.mentions.calculations import WrittenNumber
from bertcalc.proofreading.mentions.contexts import Context
from bertcalc.proofreading.verdicts import LEAST, Judged
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
    """Judge a number directly after a module or a tensor's shape; return None if neither precedes it."""
    side = entry.best
    if tensor := _TENSOR.search(context.before):
        return _of_shape(entry, tensor)
    module = _MODULE.search(context.before) if not entry.computes and side.value >= LEAST else None
    right = _count(module) if module else 0
    if module is None or not right or side.unit not in (None, "parameters"):
        return None
    called = f"{module['name']}({module['arguments']})"
    called = f"nn.{called}" if module[0].startswith("nn.") else called
    counts = Problem.of(N_("the parameters of {module}"), module=called)
    if abs(side.value - right) <= max(side.reach, side.rough):
        return Judged("right", counts=counts)
    reason = Problem.of(N_("{right} is right for {part}."), right=right, part=called)
    return Judged("wrong", Fraction(right), counts, (reason,))


# A tensor with its shape: encoder.layer.0.output.dense.weight torch.Size([768, 3072])
_TENSOR = re.compile(
    r"(?<![\w.])(?P<name>(?:\w{1,40}\.){1,12}(?:weight|bias))[\s`'\"|:,=→>-]{1,30}"
    r"(?:torch\.Size)?\(?[\[(](?P<sizes>[0-9]{1,7}(?:,\s?[0-9]{1,7}){0,3}),?[\])]\)?[\s`'\"|:,=→>-]{1,30}$"
)


def _of_shape(entry: WrittenNumber, tensor: re.Match[str]) -> Judged | None:
    """Judge the number of elements that a text states after a tensor's name and shape."""
    side, right = entry.best, prod(int(size) for size in tensor["sizes"].split(","))
    if entry.computes or side.unit not in (None, "parameters") or side.value < LEAST:
        return None
    counts = Problem.of(N_("the elements of {tensor}"), tensor=tensor["name"])
    if abs(side.value - right) <= max(side.reach, side.rough):
        return Judged("right", counts=counts)
    reason = Problem.of(N_("{right} is right for {part}."), right=right, part=tensor["name"])
    return Judged("wrong", Fraction(right), counts, (reason,))


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
