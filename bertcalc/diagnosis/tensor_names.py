"""Look up tensors by their names as PyTorch prints them, and explain wrong names and shapes.

>>> from bertcalc import BertConfig
>>> model = Model(BertConfig())
>>> tensors = tensors_called("encoder.layer.0.attention.self.query.weight", model, counted(model))
>>> [tensor.name for tensor in tensors or ()]
['encoder.layer.*.attention.self.query.weight']
>>> tensors_called("foo.weight", model, counted(model)), tensors_called("query weights", model, counted(model))
((), None)
"""

import re
from collections.abc import Iterable, Sequence

from bertcalc.config import unchecked
from bertcalc.diagnosis.miscounts import counted
from bertcalc.model.model import Model
from bertcalc.model.modules import Shape, Tensor
from bertcalc.text import N_, shorten
from bertcalc.text.problem import Problem
from bertcalc.text.suggestions import nearest

_NAME = re.compile(r"\w+\.(?:[\w*{}\[\]]+\.)*(?:weight|bias)")
# A layer in a name: its number, or a placeholder for any number, as in layer.i, layer.{i}, layer.[i] and layer.*
LAYER_NUMBER = r"(?:[0-9]+|\*|[a-zA-Z]|\{\w*\}|\[\w*\])"
_NO_TENSOR = N_("{architecture} has no tensor {name}.")
_NO_TENSOR_BUT = N_("{architecture} has no tensor {name}: did you mean {nearest}?")
_SHAPE = N_("{name} has the shape {shape}, not {written}.")


def tensors_called(name: str, model: Model, tensors: Sequence[Tensor]) -> tuple[Tensor, ...] | None:
    """Return the tensors with names that equal ``name`` or end in it; None if it does not look like a tensor's name.

    ``tensors`` are the counted tensors. The result also includes tied tensors, which are counted under another name. It
    is empty if the model has no such tensor.
    """
    if not _NAME.fullmatch(name):
        return None
    path = name.removeprefix(f"{model.family.prefix}.")
    untied = counted(model.changed(config=unchecked(model.config, tie_word_embeddings=False)))
    by_name = {tensor.name: tensor for tensor in (*untied, *tensors)}
    exact = tuple(tensor for tensor in by_name.values() if path == tensor.name)
    return exact or tuple(tensor for tensor in by_name.values() if _is_end(path, tensor.name, by_name, model))


def _is_end(path: str, name: str, names: Iterable[str], model: Model) -> bool:
    """Whether a path is the end of a tensor's name, with the number of a layer that has this tensor."""
    pieces = name.split(".")
    for start in range(len(pieces)):
        pattern = re.escape(".".join(pieces[start:])).replace(re.escape("*"), f"({LAYER_NUMBER})")
        if match := re.fullmatch(pattern, path, re.I):
            number = next((text for text in match.groups() if text.isdigit()), None)
            first_differs = any(other.startswith(f"{name.partition('*')[0]}0.") for other in names)
            return number is None or first_differs <= int(number) < model.final_config.num_hidden_layers
    return False


def no_tensor(name: str, model: Model) -> Problem:
    """Return a problem stating that the model has no tensor with this name. It suggests a similar name, if any."""
    numbers = [int(number) for number in re.findall(r"(?<=\.)[0-9]+(?=\.)", name)]
    layer = min([*numbers[:1], model.final_config.num_hidden_layers - 1])
    names = [tensor.name.replace("*", f"{layer}") for tensor in model.tensors()]
    near = nearest(name, names)
    message = _NO_TENSOR_BUT if near else _NO_TENSOR
    values = {"architecture": model.architecture, "name": shorten(name), **({"nearest": near} if near else {})}
    return Problem("terms", name, message, values)


def other_shape(name: str, written: Shape, tensors: Sequence[Tensor]) -> Problem | None:
    """Return a problem stating the right shape if none of the tensors has the ``written`` shape, otherwise None."""
    if not tensors or any(tuple(tensor.shape) == written for tensor in tensors):
        return None
    right = max(tensors, key=lambda tensor: len(tensor.shape) == len(written))
    values = {"name": shorten(name), "shape": _written(right.shape), "written": _written(written)}
    return Problem("terms", name, _SHAPE, values)


def _written(shape: Shape) -> str:
    return f"[{', '.join(map(str, shape))}]"
