"""Refuse the shapes of a batch or of activations, which have no parameters.

>>> check_names(["pooler.dense.weight", "classifier.weight"])
>>> check_names(["input_ids", "attention_mask"])  # doctest: +ELLIPSIS
Traceback (most recent call last):
bertcalc.text.problem.InputError: These are the shapes of a batch or of activations (input_ids, attention_mask), ...
"""

import re
from collections.abc import Iterable, Sequence

from bertcalc.model.modules import Shape
from bertcalc.text import N_
from bertcalc.text.problem import wrong

_SHAPES_OF_DATA = N_(
    "These are the shapes of a batch or of activations ({names}), which have no parameters: list the tensors of the "
    "model instead, such as pooler.dense.weight torch.Size([768, 768])."
)


_NO_NAMES = N_(
    "These shapes have no names, and nothing shows whether they belong to parameters or to a batch: list each tensor "
    "with its name, such as pooler.dense.weight torch.Size([768, 768])."
)


def check_names(names: Sequence[str]) -> None:
    """Raise InputError if the names of a listing are those of inputs and activations."""
    plain = {name: _PRINTED.sub("", name) for name in names}
    sure = [name for name in names if _INPUT.search(plain[name])]
    if any(_PARAMETER.search(plain[name]) for name in names if name not in sure):
        return
    data = [name for name in names if name in sure or name != plain[name] or _OUTPUT.search(name)]
    if 2 * len(data) >= len(names) and (sure or data == [*names]):
        raise wrong(_SHAPES_OF_DATA, names=", ".join(data[:3]))


def may_be_parameters(names: Iterable[str], text: str) -> bool:
    """Whether numbers in brackets beside names may be shapes, not the values of settings or the corners of boxes.

    >>> may_be_parameters(["hidden_size", "num_attention_heads"], "hidden_size: [8, 16], num_attention_heads: [2]")
    False
    """
    return bool(_OF_SHAPES.search(text)) or any(_PARAMETER.search(name) and not _SETTING.search(name) for name in names)


_OF_SHAPES = re.compile(
    r"torch\.Size|\b(?:shape|size|dtype|tensor|parameters?|numel|[Ff]loat(?:16|32)?|B?F(?:16|32))\b|形状"
)
_SETTING = re.compile(
    r"(?:^|[._])(?:num|n)_|(?:sizes?|dims?|layers?|heads?|rates?|lrs?|dropouts?|steps|epochs|lengths?|seeds?)$", re.I
)


def check_labels(text: str, starts: Sequence[int], shapes: Sequence[Shape]) -> None:
    """Raise InputError unless shapes without names belong to parameters.

    ``starts`` are the places of the shapes in the text. Words before them may label data. Without such words, a vector
    as long as a side of a matrix shows that they are parameters (a bias or the weight of a norm), and so do tables of
    different lengths with the same width.
    """
    lines = {text.rfind("\n", max(0, start - _LONGEST), start) + 1: start for start in reversed(starts)}
    written = [text[max(line, start - _LONGEST) : start] for line, start in lines.items()]
    labels = list(filter(None, (_NO_LABEL.sub(" ", label).strip() for label in written)))
    parameters = [label for label in labels if _PARAMETER.search(label)]
    if any(map(_is_data, labels)) or any(map(_LABEL_OF_DATA.search, set(written) - set(parameters))):
        raise wrong(_SHAPES_OF_DATA, names=", ".join(labels[:3] or ["-"]))
    if shapes and (len(parameters) < len(labels) or not (labels or _are_of_parameters(shapes))):
        raise wrong(_NO_NAMES)


def _are_of_parameters(shapes: Sequence[Shape]) -> bool:
    matrices = [shape for shape in shapes if len(shape) > 1 and min(shape) > 1]
    sides = {side for shape in matrices for side in shape}
    are_tables = (
        len({shape[0] for shape in shapes if shape}) == len(shapes) and len({shape[1:] for shape in shapes}) == 1
    )
    return any(shape[0] in sides for shape in shapes if len(shape) == 1) or (
        are_tables and len(matrices) == len(shapes)
    )


def _is_data(label: str) -> bool:
    last = label.split()[-1]
    return bool(_LABEL_OF_DATA.search(label) or _INPUT.search(last) or _OUTPUT.search(last))


_LONGEST = 100  # maximum number of characters of a label
_NO_LABEL = re.compile(r"torch\.Size|\b(?:shapes?|sizes?|of|tensors?|params?|parameters?|p)\b|[^\w]|\b[0-9]+\b", re.I)
_PRINTED = re.compile(r"(?:\.data)?\.shape$")  # endings of printed expressions, such as outputs.shape
# Endings of the names of model inputs and of module outputs. Parameters may have the names of outputs, too.
_INPUT = re.compile(
    r"(?:^|[_./])(?:ids|masks?|labels?|class_labels|images?|pixel_values|bbox|boxes|logits|hidden_states?"
    r"|last_hidden_state|pooler_output|embeds(?:_proj)?|offset_mapping|attentions|xpath_\w+_seq)$",
    re.I,
)
_OUTPUT = re.compile(
    r"(?:^|[_./])(?:inputs?|outputs?|targets?|features?|sizes|seq|scores|probs|values|batch|x|y)$", re.I
)
_PARAMETER = re.compile(
    r"weight|bias|kernel|gamma|beta|embedd|norm|proj|quer|key|dense|linear|lora|table|running_|scale|intermediate|att(?:n|ention)"
    r"|\bw[a-z]{0,2}[0-9]?$|\bb[0-9]?$|\bfc[0-9]?$|token$|\b(?:tokens|positions|segments)$",
    re.I,
)
_LABEL_OF_DATA = re.compile(
    r"\b(?:outputs?|inputs?|logits|hidden|(?:shape|size) of (?!tensor|param|weight)|activations?|features?|batch"
    r"|images?|masks?|labels?|loss)\b"
    r"|输出|输入|形状",
    re.I,
)
