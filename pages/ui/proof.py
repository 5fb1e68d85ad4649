"""The proof: our tree against the model that transformers builds, tensor by tensor.

torch and transformers are imported inside the functions, which a worker calls: they take a second and 275 MB, and
every page but Verify works without them.
"""

import importlib.util
from collections import Counter
from dataclasses import replace
from functools import cache
from itertools import zip_longest
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

import psutil

from bertcalc import BertConfig, Module, build
from bertcalc.text import N_
from bertcalc.tree.inventory import named
from bertcalc.tree.nn import Shape

FORWARD_TOKENS = 8


class Check(NamedTuple):
    """One comparison: what was compared, what we say, what transformers says."""

    name: str
    ours: str
    theirs: str
    agrees: bool


class Difference(NamedTuple):
    """A tensor that is not the same at its place in both models; None where one of them has no tensor there."""

    ours: tuple[str, Shape] | None
    theirs: tuple[str, Shape] | None


class Proof(NamedTuple):
    """The outcome of a comparison."""

    checks: list[Check]
    differences: list[Difference]
    build_ms: float
    compare_ms: float
    versions: dict[str, str]

    @property
    def agrees(self) -> bool:
        """Whether every check agrees."""
        return all(check.agrees for check in self.checks)

    def theirs(self, name: str) -> str:
        """What the real model says in the check of that name."""
        return next(check.theirs for check in self.checks if check.name == name)


class Run(NamedTuple):
    """A forward pass of the model with real (random) weights."""

    parameters: int
    weight_bytes: int
    outputs: list[tuple[str, Shape]]
    seconds: float


@cache
def installed() -> bool:
    """Whether torch and transformers are there; does not import them."""
    return all(importlib.util.find_spec(name) for name in ("torch", "transformers"))


def buildable(config: BertConfig) -> BertConfig:
    """The configuration as transformers 5 can build it: relative position embeddings exist in 4 only."""
    return replace(config, position_embedding_type="absolute")


def prove(config: BertConfig, architecture: str, options: dict[str, bool]) -> Proof:
    """Build the real class on the meta device (shapes, no weights) and compare it with our tree."""
    import torch
    import transformers

    getattr(transformers, architecture)  # imports the module that has the class, which is not to be timed
    began = perf_counter()
    real = empty_model(config, architecture, options)
    built = perf_counter()
    checks, differences = compare(build(config, architecture, **options), real)
    # PyTorch's version is an object of its own, with which whoever takes the answer would import PyTorch.
    versions = {"transformers": transformers.__version__, "torch": str(torch.__version__)}
    return Proof(checks, differences, 1000 * (built - began), 1000 * (perf_counter() - built), versions)


def compare(model: Module, real: Any) -> tuple[list[Check], list[Difference]]:
    """Every check of our tree against a real torch module, and the tensors that differ."""
    ours = list(model.named_parameters())
    theirs = [(name, tuple(tensor.shape)) for name, tensor in real.named_parameters()]
    differences = [Difference(*pair) for pair in zip_longest(ours, theirs) if pair[0] != pair[1]]
    same_names = sum(mine[0] == other[0] for mine, other in zip(ours, theirs, strict=False))
    same_shapes = sum(mine[1] == other[1] for mine, other in zip(ours, theirs, strict=False))
    kinds = Counter(module.kind for _, module, _ in model.modules(folded=False))
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


def not_checked(config: BertConfig, architecture: str, options: dict[str, bool]) -> int:
    """Parameters of the relative position embeddings, which ``buildable`` leaves out."""
    tensors = build(config, architecture, **options).tensors()
    return sum(tensor.num_parameters() for tensor in tensors if "distance_embedding" in tensor.name)


def needed_bytes(model: Module) -> int:
    """Memory for the weights in float32, and a quarter of it over for building them and for the forward pass."""
    return 5 * model.num_parameters()


def available_bytes() -> int:
    """Memory that this process can still take: the machine's, or its container's where that is less."""
    free: int = psutil.virtual_memory().available
    group = Path("/sys/fs/cgroup")
    try:
        limit, used = ((group / name).read_text().strip() for name in ("memory.max", "memory.current"))
    except OSError:
        return free
    return free if limit == "max" else min(free, max(0, int(limit) - int(used)))


def run_forward(config: BertConfig, architecture: str, options: dict[str, bool]) -> Run:
    """Build the model with real weights, pass a few tokens through it, and let go of it again.

    Raises MemoryError if the model does not fit by now.
    """
    import torch

    if needed_bytes(build(config, architecture, **options)) > available_bytes():
        raise MemoryError
    began = perf_counter()
    real = real_model(config, architecture, options).eval()
    tokens = min(FORWARD_TOKENS, config.max_position_embeddings)
    ids = torch.zeros((1, 1, tokens) if architecture == "BertForMultipleChoice" else (1, tokens), dtype=torch.long)
    with torch.inference_mode():
        outputs = real(input_ids=ids)
    shapes = [(name, tuple(value.shape)) for name, value in outputs.items() if isinstance(value, torch.Tensor)]
    weights = list(real.parameters())
    count = sum(weight.numel() for weight in weights)
    size = sum(weight.numel() * weight.element_size() for weight in weights)
    return Run(count, size, shapes, perf_counter() - began)


def real_model(config: BertConfig, architecture: str, options: dict[str, bool]) -> Any:
    """The model that transformers builds, on PyTorch's current default device."""
    import transformers

    transformers.logging.set_verbosity_error()  # its advice about decoders is for people who train
    fields = {name: value for name, value in vars(config).items() if name != "position_embedding_type"}
    return getattr(transformers, architecture)(transformers.BertConfig(**fields), **options)


def empty_model(config: BertConfig, architecture: str, options: dict[str, bool]) -> Any:
    """The model that transformers builds, with shapes and no weights: on the meta device.

    Nothing is there to be initialised; PyTorch goes through the motions all the same, and transformers can stop it.
    That takes a third off the time, and tying weights, which comes after.
    """
    import torch
    from transformers.initialization import no_init_weights

    with torch.device("meta"), no_init_weights():
        real = real_model(config, architecture, options)
    real.tie_weights()
    return real


def _check(name: str, ours: int, theirs: int, *, agrees: bool | None = None) -> Check:
    return Check(name, f"{ours:,}", f"{theirs:,}", ours == theirs if agrees is None else agrees)
