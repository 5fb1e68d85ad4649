"""The modules that peft 0.21 targets by default, by the type of the model (peft/utils/constants.py).

These are its TRANSFORMERS_MODELS_TO_..._MODULES_MAPPING, where the dots stand for LORA_TARGET, IA3_TARGET,
IA3_FEEDFORWARD and LNTUNING_TARGET.
"""

from collections.abc import Mapping

from bertcalc.changes.targets import Names

LORA_TARGETS: Mapping[str, Names] = {
    **dict.fromkeys(("bert", "roberta", "xlm-roberta", "electra"), ("query", "value")),
    "deberta-v2": ("query_proj", "value_proj"),
    "deberta": ("in_proj",),
    "gpt2": ("c_attn",),
}
IA3_TARGETS: Mapping[str, Names] = {
    **dict.fromkeys(("bert", "roberta"), ("key", "value", "output.dense")),
    "deberta-v2": ("key_proj", "value_proj", "output.dense"),
    "deberta": ("in_proj", "output.dense"),
    "gpt2": ("c_attn", "mlp.c_proj"),
}
IA3_FEED_FORWARD: Mapping[str, Names] = {
    **dict.fromkeys(("bert", "roberta", "deberta-v2", "deberta"), ("output.dense",)),
    "gpt2": ("mlp.c_proj",),
}
LAYER_NORMS: Mapping[str, Names] = {"gpt2": ("ln_1", "ln_2", "ln_f")}
EMBEDDING_LAYERS = ("embed_tokens", "lm_head")  # EMBEDDING_LAYER_NAMES: peft saves the table of such a target
