"""The steps of the Change page in words."""

from collections.abc import Mapping

from bertcalc.change_steps.step_texts import KINDS, Step, argument_texts, kind_of
from bertcalc.storage.onnx_format import OnnxQuantizeDynamic
from bertcalc.storage.torch_dynamic_format import TorchQuantizeDynamic
from pages.ui.shell.i18n import _, with_colon

_CHANGES = (
    *("lora", "ia3", "prompt_tuning", "prefix_tuning", "p_tuning", "ln_tuning", "bitfit"),
    *("vocabulary", "layers", "heads", "feed_forward", "embeddings"),
)
TITLES: Mapping[str, str] = {
    **{name: KINDS[name].title for name in _CHANGES},
    "bitsandbytes": "bitsandbytes",
    "torchao_int8": "torchao int8",
    "torchao_intx": "torchao Intx",
    "torch_dynamic": TorchQuantizeDynamic.title,
    "onnx_dynamic": OnnxQuantizeDynamic.title,
    "gguf": "GGUF",
    "gptq": "GPTQ",
    "awq": "AWQ",
}


def title(step: Step) -> str:
    """What a step is, in the language of the session."""
    return _(TITLES[kind_of(step)])


def summary(step: Step) -> str:
    """A step in a line: its title and the arguments that differ from their defaults."""
    texts = (f"{name}={text}" for name, text in argument_texts(step).items())
    return with_colon(title(step), ", ".join(texts)) if argument_texts(step) else title(step)
