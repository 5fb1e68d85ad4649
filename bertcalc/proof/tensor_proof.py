"""Prove the parameter count: compare our module tree with the real model, tensor by tensor."""

from collections import Counter
from itertools import zip_longest
from time import perf_counter
from typing import Any, NamedTuple

from bertcalc.model.inventory import named
from bertcalc.model.model import Model
from bertcalc.model.modules import Module, Shape
from bertcalc.proof.real_model import empty_model, real_class
from bertcalc.text import N_


class Check(NamedTuple):
    """A comparison of one quantity: its name, our value, transformers' value, and whether they agree."""

    name: str
    ours: str
    theirs: str
    agrees: bool


class Difference(NamedTuple):
    """Two different tensors at the same position of both models; None if a model has no tensor there."""

    ours: tuple[str, Shape] | None
    theirs: tuple[str, Shape] | None


class Proof(NamedTuple):
    """The result of a comparison, with its duration in milliseconds and the versions of the libraries."""

    checks: list[Check]
    differences: list[Difference]
    build_ms: float
    compare_ms: float
    versions: dict[str, str]

    @property
    def agrees(self) -> bool:
        return all(check.agrees for check in self.checks)

    def theirs(self, name: str) -> str:
        """Return the real model's value in the check with this name."""
        return next(check.theirs for check in self.checks if check.name == name)


def prove(model: Model) -> Proof:
    """Build the real model on the meta device, and compare it with our module tree."""
    import torch
    import transformers

    real_class(model.architecture)  # imports the class's module before the time is measured
    began = perf_counter()
    real = empty_model(model)
    built = perf_counter()
    checks, differences = compare(model, real)
    # A str, because unpickling PyTorch's version type would import PyTorch in the server.
    versions = {"transformers": transformers.__version__, "torch": str(torch.__version__)}
    return Proof(checks, differences, 1000 * (built - began), 1000 * (perf_counter() - built), versions)


def compare(model: Module, real: Any) -> tuple[list[Check], list[Difference]]:
    """Compare our module tree with a real torch module. Return the checks, and the tensors that differ."""
    ours = list(model.named_parameters())
    theirs = [(name, tuple(tensor.shape)) for name, tensor in real.named_parameters()]
    differences = [Difference(*pair) for pair in zip_longest(ours, theirs) if pair[0] != pair[1]]
    same_names = sum(mine[0] == other[0] for mine, other in zip(ours, theirs, strict=False))
    same_shapes = sum(mine[1] == other[1] for mine, other in zip(ours, theirs, strict=False))
    kinds = Counter(module.class_name for _, module, _ in model.modules(folded=False))
    real_kinds = Counter(type(module).__name__ for module in real.modules())
    lines, real_lines = str(model).splitlines(), str(real).splitlines()
    checks = [
        _check(N_("Tensors"), len(ours), len(theirs)),
        _check(N_("Names, in order"), len(ours), same_names),
        _check(N_("Shapes, in order"), len(ours), same_shapes),
        _check(N_("Parameters"), model.num_parameters(), real.num_parameters()),
        _check(N_("Lines of print(model)"), len(lines), len(real_lines), agrees=lines == real_lines),
    ]
    dense = sum(name.rpartition(".")[2] == "dense" for name, _ in real.named_modules())
    checks.append(_check(N_("Modules named dense"), named(model, "dense").modules, dense))
    checks += [_check(kind, kinds[kind], real_kinds[kind]) for kind in sorted(kinds | real_kinds)]
    return checks, differences


def _check(name: str, ours: int, theirs: int, *, agrees: bool | None = None) -> Check:
    return Check(name, f"{ours:,}", f"{theirs:,}", ours == theirs if agrees is None else agrees)
