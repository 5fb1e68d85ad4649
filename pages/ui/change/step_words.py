"""Titles, descriptions and help texts for the steps of the Change page."""

from collections.abc import Collection, Mapping

from bertcalc.change_steps.argument_stops import sliding_arguments
from bertcalc.change_steps.step_texts import KINDS, ChangeStep, argument_texts, kind_of
from bertcalc.storage.bitsandbytes_format import BitsAndBytesConfig
from bertcalc.storage.onnx_format import OnnxQuantizeDynamic
from bertcalc.storage.quantization_format import QuantizationFormat
from bertcalc.storage.torch_dynamic_format import TorchQuantizeDynamic
from bertcalc.text import N_
from bertcalc.text.problem import Problem
from pages.ui.shell.controls import sentence
from pages.ui.shell.i18n import _, with_colon

_CHANGES = (
    *("lora", "ia3", "prompt_tuning", "prefix_tuning", "p_tuning", "ln_tuning", "bitfit"),
    *("vocabulary", "layers", "heads", "feed_forward", "embeddings"),
)
TITLES: Mapping[str, str] = {
    **{name: KINDS[name].title for name in _CHANGES},
    "bitsandbytes": "bitsandbytes (int8, NF4)",
    "torchao_int8": "torchao int8",
    "torchao_intx": "torchao Intx",
    "torch_dynamic": TorchQuantizeDynamic.title,
    "onnx_dynamic": OnnxQuantizeDynamic.title,
    "gguf": "GGUF",
    "gptq": "GPTQ",
    "awq": "AWQ",
}
# Maps a purpose, which is the title of a menu, to the kinds of steps in the menu.
GROUPS: Mapping[str, tuple[str, ...]] = {
    N_("Train fewer parameters"): ("lora", "ia3", "prompt_tuning", "prefix_tuning", "p_tuning", "ln_tuning", "bitfit"),
    N_("Resize"): ("vocabulary", "layers", "heads", "feed_forward", "embeddings"),
    N_("Quantize"): (
        *("bitsandbytes", "torchao_int8", "torchao_intx", "torch_dynamic", "onnx_dynamic", "gguf", "gptq", "awq"),
    ),
}
# Maps an argument's name to its meaning, which is the same in all kinds of steps.
HELP: Mapping[str, str] = {
    "r": N_("The rank of the adapter: each target gets two matrices, one with r rows and one with r columns."),
    "target_modules": N_(
        "Modules that get an adapter: names, such as query, value; all-linear; or a regular expression for full "
        "names. Empty: peft's default for this family."
    ),
    "task_type": N_(
        "peft trains a copy of the head for SEQ_CLS, TOKEN_CLS and QUESTION_ANS. Without a type, the head stays frozen."
    ),
    "bias": N_("Which biases of the model are trained as well."),
    "lora_dropout": N_("Dropout probability before the adapter, from 0 to 1."),
    "modules_to_save": N_(
        "Names of further modules to train as a whole, such as pooler. peft keeps the original and trains a copy."
    ),
    "layers_to_transform": N_("Layers that get an adapter, numbered from 0. Empty: all layers."),
    "use_dora": N_("DoRA: also train a magnitude for each output of a target module."),
    "use_rslora": N_("rsLoRA: the adapter is scaled by lora_alpha / √r, which changes no count."),
    "lora_bias": N_("The second matrix of each adapter gets a bias."),
    "feedforward_modules": N_("The target_modules whose inputs IA3 scales, instead of their outputs."),
    "num_virtual_tokens": N_("Number of trained vectors before the tokens."),
    "prefix_projection": N_("Whether two dense layers generate the prefixes."),
    "encoder_hidden_size": N_("The size of the network that generates the vectors. Empty: the hidden size."),
    "encoder_reparameterization_type": N_("The network that generates the vectors."),
    "head": N_("Whether the whole head is trained, in addition to the biases."),
    "new_num_tokens": N_("Number of tokens in the new vocabulary."),
    "pad_to_multiple_of": N_("The number of tokens is rounded up to a multiple of this value, such as 8 or 64."),
    "layers": N_("Layers to drop, numbered from 0, such as 1, 3, 5."),
    "heads": N_(
        "How many heads to prune in each layer, or which ones, numbered from 0. For example, 0:1/2+11:3 means heads 1 "
        "and 2 of layer 0 and head 3 of layer 11."
    ),
    "intermediate_size": N_("The new intermediate size."),
    "embedding_size": N_("The new size of the embedding vectors, which a matrix projects to the hidden size."),
    "load_in_8bit": N_("One byte per weight, and one float32 scale per row."),
    "load_in_4bit": N_("Half a byte per weight, and one float32 scale per block of 64."),
    "bnb_4bit_quant_type": N_("The 16 values of a weight: NF4 has more of them near 0, where most weights are."),
    "bnb_4bit_use_double_quant": N_("The scales are quantized, too."),
    "type": N_(
        "llama-quantize's name for the types in the file. Most names stand for mixes: Q4_K_M has 4.5 bits per "
        "weight, but 6.6 in the word embeddings and, in half of the layers, in the value matrix and the second "
        "feed-forward matrix."
    ),
    "pure": N_(
        "All matrices have the same type, as with llama-quantize --pure. This also works for models that "
        "llama-quantize does not read."
    ),
    "bits": N_("Bits per weight."),
    "group_size": N_("Number of weights in a row that share a scale; -1 means the whole row."),
    "weight_dtype": N_("The range of the weights; each weight takes a whole byte in any case."),
    "llm_int8_skip_modules": N_(
        "Names of the modules that are not quantized, such as classifier. An adapter trains the head as a whole, so "
        "do not quantize the head."
    ),
    "llm_int8_threshold": N_(
        "Inputs of this size or larger are outliers: int8 skips their columns. 0 means no outliers."
    ),
    "granularity": N_("Number of weights that share a scale, such as 32. Empty: one scale per row."),
}
_ONE, _SEVERAL = 44, 32  # maximum number of characters of a step with one argument, and with several arguments


def title(step: ChangeStep) -> str:
    """The title of a step in the session's language."""
    return step.title if isinstance(step, BitsAndBytesConfig) else _(TITLES[kind_of(step)])


def summary(step: ChangeStep, without: Collection[str] = ()) -> str:
    """A step as a line of text: its title and its arguments (see ``_arguments``), except arguments in ``without``."""
    texts = [f"{name}={text}" for name, text in _arguments(step).items() if name not in without]
    return with_colon(title(step), ", ".join(texts)) if texts else title(step)


def brief(step: ChangeStep) -> str:
    """A step as a short text: its title with the arguments that fit. A quantization is described only by its format."""
    if isinstance(step, QuantizationFormat):
        return _(step.title)
    names = list(_arguments(step))
    left_out: list[str] = []
    while names and len(summary(step, without=left_out)) > (_SEVERAL if names[1:] else _ONE):
        left_out.append(names.pop())
    return summary(step, without=left_out)


def _arguments(step: ChangeStep) -> dict[str, str]:
    """The arguments of a step as texts: all sizes, such as r, and other arguments that differ from their defaults."""
    return argument_texts(step, always=() if isinstance(step, QuantizationFormat) else sliding_arguments(step))


def refusal(problem: Problem) -> str:
    """The reason why a step is invalid, as a sentence; arguments have their names in the library."""
    return sentence(problem, label=str)
