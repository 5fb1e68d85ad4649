"""The steps of the Change page in words."""

from collections.abc import Mapping

from bertcalc.change_steps.step_texts import Step, argument_texts, kind_of
from bertcalc.text import N_
from pages.ui.shell.i18n import _, with_colon

TITLES: Mapping[str, str] = {
    "lora": "LoRA",
    "ia3": "IA3",
    "prompt_tuning": N_("Prompt tuning"),
    "prefix_tuning": N_("Prefix tuning"),
    "p_tuning": N_("P-tuning"),
    "ln_tuning": N_("LayerNorm tuning"),
    "bitfit": "BitFit",
    "vocabulary": N_("Another vocabulary"),
    "layers": N_("Drop layers"),
    "heads": N_("Prune heads"),
    "feed_forward": N_("A narrower feed-forward"),
    "embeddings": N_("Factorized embeddings"),
    "bitsandbytes": "bitsandbytes",
    "torchao_int8": "torchao int8",
    "torchao_intx": "torchao Intx",
    "torch_dynamic": N_("Dynamic int8 of PyTorch"),
    "onnx_dynamic": N_("Dynamic int8 of ONNX"),
    "gguf": "GGUF",
    "gptq": "GPTQ",
    "awq": "AWQ",
}
# A first value for arguments without a default.
FIRST: Mapping[str, str] = {
    "vocabulary": "vocabulary,new_num_tokens=30000",
    "layers": "layers,layers=1+3+5+7+9+11",
    "heads": "heads,heads=4",
    "feed_forward": "feed_forward,intermediate_size=1536",
    "embeddings": "embeddings,embedding_size=128",
    "bitsandbytes": "bitsandbytes,load_in_4bit=true,bnb_4bit_quant_type=nf4",
    "prompt_tuning": "prompt_tuning,task_type=FEATURE_EXTRACTION",
    "prefix_tuning": "prefix_tuning,task_type=FEATURE_EXTRACTION",
    "p_tuning": "p_tuning,task_type=FEATURE_EXTRACTION",
    "lora": "lora,target_modules=query+value",
    "gguf": "gguf,type=Q4_K",
}


def title(step: Step) -> str:
    """What a step is, in the language of the session."""
    return _(TITLES[kind_of(step)])


def summary(step: Step) -> str:
    """A step in a line: its title and the arguments that differ from their defaults."""
    texts = (f"{name}={text}" for name, text in argument_texts(step).items())
    return with_colon(title(step), ", ".join(texts)) if argument_texts(step) else title(step)
