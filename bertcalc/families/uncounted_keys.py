"""Keys of a config.json that are not fields of a bertcalc configuration and do not change any count.

A key is listed only if it changes neither the parameters of the real class, nor the FLOPs of a forward pass, nor peak
memory (tests/families/test_uncounted_keys.py changes each key). All other keys are unknown.
"""

from collections.abc import Callable, Mapping
from typing import Any

# Text generation. transformers 5 moves these keys to generation_config.json.
_GENERATION = (
    *("assistant_confidence_threshold", "assistant_lookbehind", "bad_words_ids", "begin_suppress_tokens"),
    *("diversity_penalty", "do_sample", "early_stopping", "encoder_no_repeat_ngram_size"),
    *("encoder_repetition_penalty", "epsilon_cutoff", "eta_cutoff", "exponential_decay_length_penalty"),
    *("forced_bos_token_id", "forced_eos_token_id", "length_penalty", "max_length", "min_length"),
    *("no_repeat_ngram_size", "num_assistant_tokens", "num_assistant_tokens_schedule", "num_beam_groups"),
    *("num_beams", "num_return_sequences", "output_scores", "remove_invalid_values", "repetition_penalty"),
    *("return_dict_in_generate", "suppress_tokens", "target_lookbehind", "temperature", "top_k", "top_p", "typical_p"),
)
# The origin and purpose of the file.
_ORIGIN = (
    *("_name_or_path", "name_or_path", "_commit_hash", "transformers_version", "dtype", "torch_dtype"),
    *("tokenizer_class", "finetuning_task", "task_specific_params", "prefix", "language", "model_max_length"),
    *("sentence_transformers", "sbert_ce_default_activation_function", "_attn_implementation_autoset"),
)
_TOKENS = (
    *("bos_token_id", "eos_token_id", "sep_token_id", "cls_token_id", "mask_token_id", "unk_token_id"),
    "decoder_start_token_id",
)
# Keys of older programs that no class reads: Google's pooler for other tasks, TensorFlow's settings.
_OLD = (
    *("pooler_fc_size", "pooler_num_attention_heads", "pooler_num_fc_layers", "pooler_size_per_head", "pooler_type"),
    *("directionality", "output_past", "n_ctx", "predict_special_tokens", "tie_weights_", "net_structure_type"),
    *("num_memory_blocks", "gap_size", "down_scale_factor", "layers_to_keep", "tf_legacy_loss", "use_bfloat16"),
    *("tie_encoder_decoder", "cross_attention_hidden_size", "xla_device"),
    *("reference_compile", "repad_logits_with_grad", "_num_labels"),
)
# Fields of some families that the other families do not read. Older releases write some of them for every family.
_ELSEWHERE = (
    *("use_cache", "is_decoder", "add_cross_attention", "type_vocab_size", "layer_norm_eps", "classifier_dropout"),
    *("initializer_range", "global_attn_every_n_layers"),
)
# The angles of rotary positions: they change values, not shapes.
_ANGLES = ("rope_theta", "global_rope_theta", "local_rope_theta")
NEUTRAL = frozenset((*_GENERATION, *_ORIGIN, *_TOKENS, *_OLD, *_ELSEWHERE, *_ANGLES))

# Keys that change nothing if they are empty: null, false, {}.
EMPTY = ("pruned_heads", "torchscript", "rope_scaling", "quantization_config")
# Keys that change neither parameters nor FLOPs but may change the memory, unless these conditions hold.
OF_MEMORY: Mapping[str, Callable[[Any], bool]] = {
    "output_attentions": lambda value: not value,
    "output_hidden_states": lambda value: not value,
    "return_dict": lambda value: value is True,
    "gradient_checkpointing": lambda value: not value,  # GPT-2 obeys this key
    "is_encoder_decoder": lambda value: not value,
    "problem_type": lambda value: value is None,
    "chunk_size_feed_forward": lambda value: value == 0,
    "rope_parameters": lambda value: not value or _has_usual_angles(value),
}


def _has_usual_angles(parameters: Any) -> bool:
    """Whether rotary positions use the default angles, either for all layers or for each type of layer."""
    if not isinstance(parameters, dict):
        return False
    if "rope_type" not in parameters:
        return all(map(_has_usual_angles, parameters.values()))
    return parameters["rope_type"] == "default" and parameters.keys() <= {"rope_type", "rope_theta"}


def is_neutral(key: str, value: Any) -> bool:
    """Whether a key with this value is known not to change any count."""
    if key in OF_MEMORY:
        return OF_MEMORY[key](value)
    return key in NEUTRAL or (key in EMPTY and not value)
