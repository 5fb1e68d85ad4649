"""Published rules for counting FLOPs, each with its source and its difference from PyTorch's count."""

from collections.abc import Callable, Iterable
from fractions import Fraction
from typing import Any, NamedTuple

from bertcalc.compute.flops import Counting, Phase
from bertcalc.config import Config
from bertcalc.families import build
from bertcalc.families.presets import PRESETS
from bertcalc.model.batch import Batch
from bertcalc.model.trace import Step
from bertcalc.text import N_


class RuleSizes(NamedTuple):
    """The sizes that a rule can use: exact numbers or SymPy symbols."""

    batch_size: Any
    sequence_length: Any
    vocab_size: Any
    hidden_size: Any
    num_hidden_layers: Any
    num_attention_heads: Any
    intermediate_size: Any


class PublishedRule(NamedTuple):
    """A published rule for the FLOPs of one batch."""

    name: str
    phase: Phase
    formula: Callable[[RuleSizes, Iterable[Step]], Any]
    difference: str  # the difference from PyTorch's count, in words
    source: str

    def flops(self, config: Config, batch_size: int, sequence_length: int, steps: Iterable[Step]) -> Fraction:
        """The FLOPs that the rule counts for a model and the steps of its forward pass; they can be fractional."""
        sizes = {**config.shared(), "batch_size": batch_size, "sequence_length": sequence_length}
        return Fraction(self.formula(RuleSizes(*(Fraction(sizes[field]) for field in RuleSizes._fields)), steps))


def _nanogpt(sizes: RuleSizes, steps: Iterable[Step]) -> Any:
    batch, length, vocab, hidden, layers, _heads, _inner = sizes
    logits = 2 * batch * length * hidden * vocab
    return 3 * (layers * (24 * batch * length * hidden**2 + 4 * batch * length**2 * hidden) + logits)


def _narayanan(sizes: RuleSizes, steps: Iterable[Step]) -> Any:
    batch, length, vocab, hidden, layers, _heads, _inner = sizes
    return 96 * batch * length * layers * hidden**2 * (1 + length / (6 * hidden) + vocab / (16 * layers * hidden))


def _kaplan(sizes: RuleSizes, steps: Iterable[Step]) -> Any:
    batch, length, _vocab, hidden, layers, _heads, inner = sizes
    parameters = 2 * hidden * layers * (2 * hidden + inner)
    return 6 * parameters * batch * length


def _electra(sizes: RuleSizes, steps: Iterable[Step]) -> Any:
    batch, length, vocab, hidden, layers, heads, inner = sizes
    products = 8 * hidden**2 + 4 * hidden * inner + 4 * length * hidden
    layer = products + 10 * length * heads + 20 * hidden + 9 * inner + 5
    embeddings = 2 * hidden * vocab + 2 * hidden * (length + 2) + 11 * hidden
    logits = 2 * hidden**2 + 2 * hidden * vocab + 14 * hidden + 7 * vocab
    tokens, masked = batch * length, Fraction(5, 32) * batch * length
    return 2 * tokens * layers * layer + 2 * tokens * embeddings + 2 * masked * logits


def _by(counting: Counting) -> Callable[[RuleSizes, Iterable[Step]], Any]:
    return lambda sizes, steps: sum(step.runs * counting.of(step) for step in steps)


RULES: dict[str, PublishedRule] = {
    rule.name: rule
    for rule in (
        PublishedRule(
            "nanoGPT",
            "training",
            _nanogpt,
            N_("I = 4H; always includes the logits at all positions; no pooler, no transform"),
            "karpathy/nanoGPT, transformer_sizing.ipynb",
        ),
        PublishedRule(
            "Narayanan",
            "training",
            _narayanan,
            N_("4 × for the layers (recomputed), 3 × for the logits; I = 4H; no pooler"),
            "Narayanan et al. 2021, arXiv:2104.04473",
        ),
        PublishedRule(
            "Kaplan 6ND",
            "training",
            _kaplan,
            N_("only the weight matrices of the layers: no attention scores, no context, no head"),
            "Kaplan et al. 2020, arXiv:2001.08361",
        ),
        PublishedRule(
            "ELECTRA",
            "training",
            _electra,
            N_("2 × for training; one-hot embeddings; logits at 5/32; includes element-wise operations"),
            "google-research/electra, flops_computation.py",
        ),
        PublishedRule(
            "calflops",
            "forward",
            _by(Counting({"linear": 2, "matmul": 2}, {"norm": 5, "softmax": 1})),
            N_("matrix products, plus 5 per element for LayerNorm and 1 for softmax"),
            "MrYxJ/calculate-flops.pytorch, README.md, pytorch_ops.py",
        ),
        PublishedRule(
            "DeepSpeed",
            "forward",
            _by(Counting({"linear": 2}, {"softmax": 2})),
            N_("no attention scores, no context; softmax: 1 MAC per element"),
            "deepspeed/profiling/flops_profiler/README.md",
        ),
    )
}


class PublishedFigure(NamedTuple):
    """A published figure in a unit, with the rule, the model and the batch from which it was computed."""

    rule: str
    preset: str
    batch: Batch
    figure: float
    unit: str
    pooler: bool = True

    def ours(self) -> Fraction:
        """The rule's count, in the unit of the figure."""
        config = PRESETS[self.preset].config
        steps = build(config, add_pooling_layer=self.pooler).steps(self.batch)
        return RULES[self.rule].flops(config, *self.batch.shape, steps) / UNITS[self.unit]


UNITS = {"FLOPs": 1, "GFLOPs": 10**9, "GMACs": 2 * 10**9}
# ELECTRA's figures are from its paper (arXiv:2003.10555, tables 1 and 2): 1,000,000 steps of 256 sequences.
PUBLISHED: tuple[PublishedFigure, ...] = (
    PublishedFigure("calflops", "bert-base-chinese", Batch(1, 128), 22.363, "GFLOPs"),
    PublishedFigure("DeepSpeed", "bert-large-uncased", Batch(80, 128), 3092.88, "GMACs", pooler=False),
    PublishedFigure("DeepSpeed", "bert-large-uncased", Batch(80, 128), 3092.96, "GMACs"),
    PublishedFigure("ELECTRA", "bert-base-uncased", Batch(256 * 10**6, 512), 6.4e19, "FLOPs"),
    PublishedFigure("ELECTRA", "bert-large-uncased", Batch(256 * 10**6, 512), 1.9e20, "FLOPs"),
)
