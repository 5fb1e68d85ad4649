"""The counts of other tools for the same model: their formulas, and the reasons why they differ from the right count.

The formulas come from the cited sources; none of their code is copied. The reasons are miscounts, as in a hand count.
Applied to the model's tensors, they turn the right count into the tool's count. So the differences are computed from
the model rather than stated separately.

>>> from bertcalc import BertConfig
>>> dict(tool_counts(BertConfig()))["EleutherAI tied"]
108844032
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from bertcalc.config import Config
from bertcalc.diagnosis.explain import causes
from bertcalc.diagnosis.miscounts import MISCOUNTS, Miscount, MiscountSizes, counted, is_lacking
from bertcalc.diagnosis.tensor_filter import selector
from bertcalc.model.model import Model
from bertcalc.model.modules import Tensor
from bertcalc.text import N_
from bertcalc.text.amounts import Typed
from bertcalc.text.arithmetic import evaluate

# Megatron-LM's default multiple for the vocabulary, on one device.
MEGATRON_PADDING = 128


class Tool(NamedTuple):
    """A published formula for the number of parameters."""

    name: str
    terms: tuple[str, ...]  # terms of the sum, in the order of the source; ``letters`` explains their letters
    miscounts: tuple[str, ...]  # keys of REASONS, in addition to the miscounts that every tool makes
    source: str
    notes: tuple[str, ...] = ()  # the arguments used in the evaluation, and peculiarities of the formula
    output_matrix: bool = False  # whether the tool always counts a separate decoder

    def count(self, config: Config) -> int:
        """Return the tool's count for a configuration."""
        values = letters(MiscountSizes.of(config))
        return int(sum(evaluate(term, values) for term in self.terms))


class Correction(NamedTuple):
    """The amount to add to undo one miscount of a tool: a number, or a SymPy expression."""

    miscount: str  # a key of REASONS
    amount: int


def tool_counts(config: Config) -> list[tuple[str, int]]:
    """Return a (tool's name, count) pair for each tool. The tools do not distinguish Hugging Face's classes."""
    return [(tool.name, tool.count(config)) for tool in TOOLS.values()]


def tools_with(number: Typed, config: Config) -> list[str]:
    """Return the names of the tools that count exactly this number."""
    if number.low != number.high:
        return []
    return [name for name, count in tool_counts(config) if count == number.low]


def corrections(tool: Tool, model: Model, sizes: MiscountSizes) -> tuple[Correction, ...]:
    """Return the corrections that lead from a tool's count to the right count of a model.

    Corrections that are 0 for this model are left out. Both ``model`` and ``sizes`` are numeric, or both are symbolic.
    """
    tensors = counted(model)
    made = causes(tensors, sizes, _miscounts(tool, tensors), REASONS)
    return tuple(Correction(cause.miscount, -cause.amount) for cause in made if cause.amount != 0)


def letters(sizes: MiscountSizes) -> dict[str, Any]:
    """Map the letters in the terms of tools to numbers or symbols. W is the padded vocabulary."""
    return {**sizes.letters, "W": sizes.padded[MEGATRON_PADDING]}


def padded_vocab_size(config: Config) -> int:
    """Return the number of rows of the word embeddings in Megatron-LM."""
    return MiscountSizes.of(config).padded[MEGATRON_PADDING]


def _miscounts(tool: Tool, tensors: Sequence[Tensor]) -> tuple[str, ...]:
    """Return the miscounts of a tool for a model. Miscounts that leave out a whole part come first."""
    if not tool.output_matrix:
        head: tuple[str, ...] = ("head",)
    elif any(map(_is_decoder, tensors)):
        head = ("head but decoder",)
    else:
        head = ("head", "output matrix")
    return ("pooler", *head, "cross attention", "distances", "activation", *tool.miscounts)


def _is_decoder(tensor: Tensor) -> bool:
    return selector("decoder, no bias")(tensor) and not is_lacking(tensor)


REASONS: dict[str, Miscount] = {
    **MISCOUNTS,
    "output matrix": Miscount(
        N_("an output matrix is counted in addition to the word embeddings"), MISCOUNTS["decoder again"].change
    ),
    "head but decoder": Miscount(
        N_("the head is left out, except for the matrix of its decoder"),
        lambda tensor, sizes: () if selector("head")(tensor) and not _is_decoder(tensor) else (tensor,),
    ),
    "activation": Miscount(
        N_("the parameters of the activation function are left out"),
        lambda tensor, sizes: () if selector("activation")(tensor) else (tensor,),
    ),
    "LayerNorms twice": Miscount(
        N_("each LayerNorm of the layers is counted twice"), MISCOUNTS["layer LayerNorms 4H"].change
    ),
}


_LAST_NORM = N_(
    "The final LayerNorm of the tool's model corresponds to the LayerNorm of BERT's embeddings, which has the same "
    "size."
)
_COOKBOOK_TERMS = ("4*L*H**2", "8*L*H**2", "H*P", "8*L*H + 2*H")
_COOKBOOK = "EleutherAI/cookbook, calc/calc_transformer_params.py, calc_params"
_COOKBOOK_NOTES = (
    N_(
        "Evaluated with sequence-length = P and ffn-expansion-factor = 4, the default. The tool counts 8 H for "
        "LayerNorm in each layer."
    ),
    _LAST_NORM,
)

TOOLS: dict[str, Tool] = {
    tool.name: tool
    for tool in (
        Tool(
            "nanoGPT",
            ("H*P", "H*V", "L*((H + 3*H**2 + H**2) + (H + 2*H*4*H))", "H"),
            ("token types", "layer biases", "LayerNorm half", "four times"),
            "karpathy/nanoGPT, transformer_sizing.ipynb, params",
            (N_("Evaluated with block_size = P. The formula assumes bias=False in Linear and LayerNorm."), _LAST_NORM),
        ),
        Tool(
            "EleutherAI tied",
            ("H*V", *_COOKBOOK_TERMS),
            ("token types", "layer biases", "LayerNorms twice", "four times"),
            f"{_COOKBOOK}, --tied-embeddings",
            _COOKBOOK_NOTES,
        ),
        Tool(
            "EleutherAI",
            ("2*H*V", *_COOKBOOK_TERMS),
            ("token types", "layer biases", "LayerNorms twice", "four times"),
            _COOKBOOK,
            _COOKBOOK_NOTES,
            output_matrix=True,
        ),
        Tool(
            "llm-analysis",
            ("L*(4*H**2 + 2*H*I + 2*H)", "H*V", "H"),
            ("positions", "token types", "layer biases", "LayerNorm half"),
            "cli99/llm-analysis, llm_analysis/analysis.py, get_num_params_total",
            (N_("Evaluated with mlp_gated_linear_units=False, the default."), _LAST_NORM),
        ),
        Tool(
            "Megatron",
            ("L*(4*H**2 + 2*H*I + 4*H)", "2*H", "H*W"),
            ("positions", "token types", "layer biases", f"padded to {MEGATRON_PADDING}"),
            "NVIDIA/Megatron-LM, megatron/training/theoretical_memory_usage.py and vocab_utils.py",
            (
                N_("Evaluated with LayerNorm. V' is the vocabulary size rounded up to a multiple of 128, the default."),
                _LAST_NORM,
            ),
        ),
        Tool(
            "gpu_poor",
            ("2*V*H", "4*L*H**2", "3*L*I*H"),
            ("positions", "token types", "layer biases", "LayerNorm", "gated"),
            "RahulSChand/gpu_poor, src/App.js, computeModelSize",
            (N_("The formula is for models like LLaMA, with a gated feed-forward network and an untied decoder."),),
            output_matrix=True,
        ),
        Tool(
            "Narayanan",
            ("12*L*H**2*(1 + 13/(12*H) + (V + P)/(12*L*H))",),
            ("token types", "embedding LayerNorm", "four times"),
            "Narayanan et al. 2021, arXiv:2104.04473, Eq. 2",
            (N_("Evaluated at sequence length s = P."),),
        ),
        Tool(
            "12LH2",
            ("12*L*H**2",),
            ("embeddings", "layer biases", "layer LayerNorms", "four times"),
            "Kaplan et al. 2020, arXiv:2001.08361, Eq. 2.1",
            (N_("The formula deliberately excludes the embeddings."),),
        ),
    )
}
