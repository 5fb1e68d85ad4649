"""The size of ONNX files: the initializers that PyTorch's exporters write, and the measured size of the graph.

A matrix of torch.nn.Linear becomes the second operand of a MatMul: its transpose, under a new name. Vectors keep their
names and are written once. The exporters differ in how often they write a matrix:

- "dynamo", the default of torch.onnx.export since PyTorch 2.9, writes a transpose for each use. ALBERT's matrices are
  written once for each layer, and a decoder tied to the embeddings has its own matrix.
- "torchscript" (``dynamo=False``) merges equal initializers, so ALBERT's matrices are written once.
- "torchscript-1", the same exporter in PyTorch 1, does not merge them.

>>> from bertcalc.model.model import build
>>> round(onnx_bytes(build("albert-base-v2", "AlbertForSequenceClassification"), "F32", "torchscript-1") / 2**20, 1)
341.6
"""

from collections.abc import Iterator
from typing import Any, Literal, NamedTuple

from bertcalc.model.batch import Batch
from bertcalc.model.model import Model
from bertcalc.model.modules import Attention, Conv1D, Embedding, Linear, Module, Shape, Tensor
from bertcalc.model.trace import Step
from bertcalc.storage.stored_tensors import StoredTensor
from bertcalc.text.toml_tables import table_beside

Exporter = Literal["dynamo", "torchscript", "torchscript-1"]
Operation = Literal["MatMul", "Gemm", "Gather", ""]
_Use = tuple[str, Shape, int, int, Operation]


class Initializer(NamedTuple):
    """A tensor of the graph, its number of copies, and the operation that reads it if quantize_dynamic replaces it."""

    tensor: StoredTensor
    copies: int
    operation: Operation = ""
    uses: int = 1  # how often the graph uses each copy

    def num_bytes(self) -> int:
        return self.copies * self.tensor.num_bytes()


def onnx_bytes(model: Module, dtype: str, exporter: Exporter = "dynamo") -> int:
    """The size in bytes of the file that torch.onnx.export writes, with dynamic batch and sequence axes.

    ``dtype`` is safetensors' code, such as F32. With ``external_data``, the default of "dynamo", this is the total size
    of both files. The size of the graph was measured for each family: see onnx_graphs.toml.
    """
    data = sum(initializer.num_bytes() for initializer in initializers(model, dtype, exporter))
    return data + graph_bytes(model, exporter)


def initializers(model: Module, dtype: str, exporter: Exporter) -> list[Initializer]:
    """The weights in the graph, in the order of the forward pass; unused weights are left out."""
    steps = model.steps(Batch(2, 2)) if isinstance(model, Model) else None
    every = [*(_of_steps(steps) if steps is not None else _of_modules(model))]
    merged: dict[tuple[str, str], Initializer] = {}
    for name, shape, copies, runs, operation in every:
        # A matrix of a Gemm and a table keep their names; a matrix of a MatMul is written for each use.
        kind = operation if operation == "MatMul" else "named"
        tensor = StoredTensor(name, dtype, shape)
        before = merged.get((name, kind))
        if kind == "named":
            merged.setdefault((name, kind), Initializer(tensor, copies, operation, max(1, runs // copies)))
        elif exporter == "torchscript":
            uses = runs // copies + (before.uses if before else 0)
            merged[name, kind] = Initializer(tensor, copies, operation, uses)
        else:
            merged[name, kind] = Initializer(tensor, runs + (before.copies if before else 0), operation)
    return list(merged.values())


def _of_steps(steps: list[Step]) -> Iterator[_Use]:
    """Yield the name, shape, copies and uses of each tensor in the forward pass, and the operation that reads it."""
    for step in steps:
        if step.operation == "unused":
            continue
        weight = _weight(step)
        if weight is not None:
            yield weight
        kind: Operation = "Gather" if step.operation == "lookup" else ""
        for tensor in step.tensors:
            if weight is None or tensor.name != weight[0]:
                yield tensor.name, tensor.shape, tensor.copies, step.runs, kind


def _weight(step: Step) -> _Use | None:
    """The matrix of a linear layer, owned or tied; None if the step is not a linear layer."""
    module = step.module
    if not isinstance(module, Linear | Conv1D):
        return None
    owned = next((tensor for tensor in step.tensors if tensor.name.endswith(".weight")), None)
    tied = module.tied.get("weight", step.name)
    tensor = owned or Tensor(tied, (module.out_features, module.in_features), step.runs)
    is_gemm = isinstance(module, Conv1D) or len(step.takes[0].shape) < 3
    return tensor.name, tensor.shape, tensor.copies, step.runs, "Gemm" if is_gemm else "MatMul"


def _of_modules(model: Module) -> Iterator[_Use]:
    """Yield the initializers of a module tree without a forward pass, in which every module is used once."""
    for path, module, copies in model.modules():
        kind: Operation = ""
        if isinstance(module, Linear | Conv1D):
            kind = "MatMul" if isinstance(module, Linear) else "Gemm"
        elif isinstance(module, Embedding):
            kind = "Gather"
        if isinstance(module, Linear) and "weight" in module.tied:
            yield module.tied["weight"], module.shapes["weight"], copies, copies, kind
        for last, shape in module.parameters.items():
            name = f"{path}.{last}" if path else last
            yield name, shape, copies, copies, kind if last == "weight" else ""


def graph_bytes(model: Module, exporter: Exporter, *, quantized: bool = False) -> int:
    """The bytes of the graph without the data of its weights, as measured for the model's family.

    With ``quantized``, this is the graph that onnxruntime's quantize_dynamic writes.
    """
    kind = f"{exporter}-int8" if quantized else exporter
    measured = _measured(model)
    graph, layer = map(int, measured.get(kind) or _graphs()["other"][kind])
    lengths = [shape[-1] for _path, module, _copies in model.modules() for shape, _whole in module.buffers.values()]
    ids = 0 if exporter == "torchscript-1" else int(measured["positions"]) * max(lengths, default=0)
    return graph + layer * _layers(model) + ids


def _measured(model: Module) -> dict[str, Any]:
    """The measured graph sizes of the model's family or of a family with the same program.

    If there are none, BERT's sizes are returned.
    """
    names = [model.family.name, model.family.prefix] if isinstance(model, Model) else []
    graphs = _graphs()
    return next(graphs[name] for name in (*names, "other") if name in graphs)


def _graphs() -> dict[str, dict[str, Any]]:
    return table_beside(__file__, "onnx_graphs.toml")


def _layers(model: Module) -> int:
    """The number of layers that run, counted by their attention modules."""
    if isinstance(model, Model):
        return sum(step.runs for step in model.steps(Batch(2, 2)) if step.operation == "softmax")
    return sum(copies for _path, module, copies in model.modules() if isinstance(module, Attention))
