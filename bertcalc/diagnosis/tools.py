"""The counts of other tools for the same model: their formulas, and the reasons why they differ from the right count.

The formulas were read in the named sources; none of their code is copied. The reasons are miscounts, as in a hand
count: made on the model's tensors, they turn the right count into the tool's. So the differences are computed from the
model and not written down a second time.

>>> from bertcalc import BertConfig
>>> dict(tool_counts(BertConfig()))["EleutherAI tied"]
108844032
"""

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

from bertcalc.config import Config
from bertcalc.diagnosis.explain import causes
from bertcalc.diagnosis.miscounts import MISCOUNTS, Miscount, MiscountSizes, counted, is_lacking
from bertcalc.diagnosis.which import which
from bertcalc.family import Model
from bertcalc.text import N_
from bertcalc.tree.nn import Tensor

# Megatron-LM's default multiple for the vocabulary, on one device.
MEGATRON_PADDING = 128


class Tool(NamedTuple):
    """A published formula for the number of parameters."""

    name: str
    terms: Callable[[MiscountSizes], tuple[Any, ...]]  # in the order of the source; their sum is the count
    miscounts: tuple[str, ...]  # names in REASONS, besides those that every tool makes
    source: str
    notes: tuple[str, ...] = ()  # the arguments used, and surprises
    output_matrix: bool = False  # whether it always counts a separate decoder

    def count(self, config: Config) -> int:
        """The tool's count for a configuration."""
        sizes = MiscountSizes.of(config)
        hidden: Any = Fraction(sizes.hidden_size)  # every division is by it: so they are exact
        return int(sum(self.terms(sizes._replace(hidden_size=hidden))))


class Correction(NamedTuple):
    """The amount that undoes one miscount of a tool when it is added: a number, or a SymPy expression."""

    miscount: str  # a name in REASONS
    amount: int


def tool_counts(config: Config) -> list[tuple[str, int]]:
    """Each tool's count for a configuration; no tool distinguishes Hugging Face's classes."""
    return [(tool.name, tool.count(config)) for tool in TOOLS.values()]


def corrections(tool: Tool, model: Model, sizes: MiscountSizes) -> tuple[Correction, ...]:
    """The corrections that lead from a tool's count to a model's, without reasons that do not concern the model.

    Model and sizes are numeric or symbolic.
    """
    tensors = counted(model)
    made = causes(tensors, sizes, _miscounts(tool, tensors), REASONS)
    return tuple(Correction(cause.miscount, -cause.amount) for cause in made if cause.amount != 0)


def padded_vocab_size(config: Config) -> int:
    """The number of rows of the word embeddings in Megatron-LM."""
    return MiscountSizes.of(config).padded[MEGATRON_PADDING]


def _miscounts(tool: Tool, tensors: Sequence[Tensor]) -> tuple[str, ...]:
    """The miscounts of a tool for a model; first those that leave out a part, so that each gets the whole part."""
    if not tool.output_matrix:
        head: tuple[str, ...] = ("head",)
    elif any(map(_is_decoder, tensors)):
        head = ("head but decoder",)
    else:
        head = ("head", "output matrix")
    return ("pooler", *head, "cross attention", "distances", "activation", *tool.miscounts)


def _is_decoder(tensor: Tensor) -> bool:
    return which("decoder, no bias")(tensor) and not is_lacking(tensor)


REASONS: dict[str, Miscount] = {
    **MISCOUNTS,
    "output matrix": Miscount(
        N_("an output matrix is counted in addition to the word embeddings"), MISCOUNTS["decoder again"].change
    ),
    "head but decoder": Miscount(
        N_("the head is left out, all but the matrix of its decoder"),
        lambda tensor, sizes: () if which("head")(tensor) and not _is_decoder(tensor) else (tensor,),
    ),
    "activation": Miscount(
        N_("the parameters of the activation function are left out"),
        lambda tensor, sizes: () if which("activation")(tensor) else (tensor,),
    ),
    "LayerNorms twice": Miscount(
        N_("each LayerNorm of the layers is counted twice"), MISCOUNTS["layer LayerNorms 4H"].change
    ),
}


def _nanogpt(d: MiscountSizes) -> tuple[Any, ...]:
    hidden = d.hidden_size
    attention, feed_forward = hidden + 3 * hidden**2 + hidden**2, hidden + 2 * hidden * (4 * hidden)
    layers = d.num_hidden_layers * (attention + feed_forward)
    return hidden * d.max_position_embeddings, hidden * d.vocab_size, layers, hidden


def _cookbook_tied(d: MiscountSizes) -> tuple[Any, ...]:
    hidden, layers = d.hidden_size, d.num_hidden_layers
    attention, feed_forward, norms = 4 * layers * hidden**2, 8 * layers * hidden**2, 8 * layers * hidden + 2 * hidden
    return hidden * d.vocab_size, attention, feed_forward, hidden * d.max_position_embeddings, norms


def _cookbook(d: MiscountSizes) -> tuple[Any, ...]:
    words, *others = _cookbook_tied(d)
    return 2 * words, *others


def _llm_analysis(d: MiscountSizes) -> tuple[Any, ...]:
    hidden = d.hidden_size
    layer = 4 * hidden**2 + 2 * hidden * d.intermediate_size + 2 * hidden
    return d.num_hidden_layers * layer, hidden * d.vocab_size, hidden


def _megatron(d: MiscountSizes) -> tuple[Any, ...]:
    hidden = d.hidden_size
    layer = 4 * hidden**2 + 2 * hidden * d.intermediate_size + 4 * hidden
    return d.num_hidden_layers * layer, 2 * hidden, hidden * d.padded[MEGATRON_PADDING]


def _gpu_poor(d: MiscountSizes) -> tuple[Any, ...]:
    hidden, layers = d.hidden_size, d.num_hidden_layers
    return 2 * d.vocab_size * hidden, 4 * layers * hidden**2, 3 * layers * d.intermediate_size * hidden


def _narayanan(d: MiscountSizes) -> tuple[Any, ...]:
    hidden, layers = d.hidden_size, d.num_hidden_layers
    rest = 13 / (12 * hidden) + (d.vocab_size + d.max_position_embeddings) / (12 * layers * hidden)
    return (12 * layers * hidden**2 * (1 + rest),)


def _kaplan(d: MiscountSizes) -> tuple[Any, ...]:
    return (12 * d.num_hidden_layers * d.hidden_size**2,)


_LAST_NORM = N_(
    "The LayerNorm at the end of its model corresponds to that of BERT's embeddings: each model has "
    "one, of the same size."
)
_COOKBOOK = "EleutherAI/cookbook, calc/calc_transformer_params.py, calc_params"
_COOKBOOK_NOTES = (
    N_(
        "Evaluated with sequence-length P and ffn-expansion-factor 4, its default. It counts 8 H of "
        "LayerNorm per layer."
    ),
    _LAST_NORM,
)

TOOLS: dict[str, Tool] = {
    tool.name: tool
    for tool in (
        Tool(
            "nanoGPT",
            _nanogpt,
            ("token types", "layer biases", "LayerNorm half", "four times"),
            "karpathy/nanoGPT, transformer_sizing.ipynb, params",
            (N_("Evaluated with block_size P; written for bias=False, in Linear and LayerNorm."), _LAST_NORM),
        ),
        Tool(
            "EleutherAI tied",
            _cookbook_tied,
            ("token types", "layer biases", "LayerNorms twice", "four times"),
            f"{_COOKBOOK}, --tied-embeddings",
            _COOKBOOK_NOTES,
        ),
        Tool(
            "EleutherAI",
            _cookbook,
            ("token types", "layer biases", "LayerNorms twice", "four times"),
            _COOKBOOK,
            _COOKBOOK_NOTES,
            output_matrix=True,
        ),
        Tool(
            "llm-analysis",
            _llm_analysis,
            ("positions", "token types", "layer biases", "LayerNorm half"),
            "cli99/llm-analysis, llm_analysis/analysis.py, get_num_params_total",
            (N_("Evaluated with mlp_gated_linear_units False, its default."), _LAST_NORM),
        ),
        Tool(
            "Megatron",
            _megatron,
            ("positions", "token types", "layer biases", f"padded to {MEGATRON_PADDING}"),
            "NVIDIA/Megatron-LM, megatron/training/theoretical_memory_usage.py and vocab_utils.py",
            (
                N_("Evaluated with LayerNorm. V' is the vocabulary rounded up to a multiple of 128, as by default."),
                _LAST_NORM,
            ),
        ),
        Tool(
            "gpu_poor",
            _gpu_poor,
            ("positions", "token types", "layer biases", "LayerNorm", "gated"),
            "RahulSChand/gpu_poor, src/App.js, computeModelSize",
            (N_("Written for models like LLaMA: a gated feed-forward, and a decoder that is not tied."),),
            output_matrix=True,
        ),
        Tool(
            "Narayanan",
            _narayanan,
            ("token types", "embedding LayerNorm", "four times"),
            "Narayanan et al. 2021, arXiv:2104.04473, Eq. 2",
            (N_("Evaluated at sequence length s = P."),),
        ),
        Tool(
            "12LH2",
            _kaplan,
            ("embeddings", "layer biases", "layer LayerNorms", "four times"),
            "Kaplan et al. 2020, arXiv:2001.08361, Eq. 2.1",
            (N_("It is meant to count the parameters without embeddings."),),
        ),
    )
}
