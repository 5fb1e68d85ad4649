"""Recognize the family of a config.json by its model type, its classes or keys that only one family has.

>>> recognized({"dim": 768, "n_layers": 6, "n_heads": 12}).family.name
'distilbert'
>>> recognized({"embedding_size": 128, "hidden_size": 256})
Traceback (most recent call last):
    ...
bertcalc.text.problem.InputError: This file has no model_type, and several model types have the key embedding_size: \
albert, electra, convbert, mobilebert, roformer, squeezebert. Add the model_type.
"""

import re
from collections import Counter
from collections.abc import Mapping
from typing import Any, NamedTuple

from bertcalc.config import OTHER_NAMES, Config, near_field
from bertcalc.families import CLASSES, FAMILIES
from bertcalc.families.config_files.key_remarks import named
from bertcalc.families.config_files.size_names import names_read
from bertcalc.families.uncounted_keys import EMPTY, NEUTRAL, OF_MEMORY
from bertcalc.model.family import Family
from bertcalc.text import N_
from bertcalc.text.arguments import quoted
from bertcalc.text.problem import InputError, Problem

# Keys that every configuration may have. label2id adds nothing to id2label.
COMMON = ("model_type", "architectures", "id2label", "label2id", "num_labels", "auto_map", "dtype")
OLD_VOCABULARY = "vocab_size_or_config_json_file"
_HARMLESS = (*COMMON, *NEUTRAL, *EMPTY, *OF_MEMORY, OLD_VOCABULARY)
# Sets of keys that only one family has, among all model types of transformers.
_SIGNATURES: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("albert", ("num_hidden_groups",)),
    ("albert", ("inner_group_num",)),
    ("distilbert", ("dim", "n_layers", "n_heads")),
    ("distilbert", ("dim", "hidden_dim")),
    ("distilbert", ("sinusoidal_pos_embds",)),
    ("electra", ("embedding_size", "summary_last_dropout")),
    ("gpt2", ("n_embd", "n_layer", "n_head", "n_positions", "layer_norm_epsilon", "summary_type")),
    ("ernie", ("task_type_vocab_size",)),
    ("ernie", ("use_task_id",)),
    ("modernbert", ("sparse_prediction",)),
    ("modernbert", ("deterministic_flash_attn",)),
    ("mpnet", ("relative_attention_num_buckets", "hidden_size", "num_hidden_layers")),
)
# Keys that several model types have, so that they do not identify the type of a file.
_SHARED: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...] = (
    (("embedding_size",), ("albert", "electra", "convbert", "mobilebert", "roformer", "squeezebert")),
    (("n_embd", "n_layer"), ("gpt2", "openai-gpt", "gptj", "codegen", "gpt_bigcode")),
    (("position_buckets",), ("deberta-v2", "sew-d")),
    (("relative_attention",), ("deberta", "deberta-v2")),
    (("pos_att_type",), ("deberta", "deberta-v2")),
    (("classifier_pooling",), ("eurobert", "modernbert")),
    (("local_attention",), ("modernbert", "modernbert-decoder")),
)
# Keys of model types with all of BERT's sizes but different tensors (LayoutLM, BigBird, LXMERT ...).
_ELSEWHERE = frozenset(
    (
        *("adapter_reduction_factor", "afn", "approx_mode", "attention_type", "attention_window", "bbox_scale", "dff"),
        *("block_per_row", "channel_shrink_ratio", "classifier_activation", "concat_input", "conv_kernel_size"),
        *("conv_window", "coordinate_size", "default_language", "dim_bbox", "enable_pronunciation", "enable_shape"),
        *("entity_emb_size", "entity_vocab_size", "has_relative_attention_bias", "hash_code_len", "head_dim"),
        *("encoder_width", "fusion_layer", "head_ratio", "image_size", "initializer_factor", "input_embedding_size"),
        "input_size",
        *("intermediate_groups", "intra_bottleneck_size", "key_query_shared_bottleneck", "l_layers", "languages"),
        *("max_2d_position_embeddings", "max_grid_col_position_embeddings", "max_rel_2d_pos", "max_rel_pos"),
        *("max_xpath_tag_unit_embeddings", "modality_type_vocab_size", "multi_query", "num_channels"),
        *("num_feedforward_networks", "num_hash", "num_landmarks", "num_object_labels", "num_random_blocks"),
        *("output_embedding_size", "patch_size", "pooler_hidden_size", "project_dim", "projection_dim"),
        *("pronunciation_vocab_size", "q_groups", "qkv_bias", "quant_mode", "question_token_id", "r_layers"),
        *("rope_parameters", "rope_scaling", "rope_theta", "rotary_dim", "rotary_value", "segment_means_seq_len"),
        *("shape_vocab_size", "true_hidden_size", "use_bottleneck", "visual_embedding_dim", "visual_feat_dim"),
        "x_layers",
    )
)
_OLDEST = ("bert", "gpt2")  # their files from 2019 name no type, and other types have the same keys
_NAMED = 4  # the maximum number of unknown keys to list

RECOGNIZED = N_("This file has no model_type. It is read as {family}, recognized by {keys}.")
LIKE_BERT = N_(
    "This file has no model_type. It is read as bert, because it has the keys of Google's bert_config.json. "
    "roberta, xlm-roberta and camembert have the same keys and, without a head, the same parameters."
)
GUESSED = N_(
    "This file has no model_type and too few sizes to recognize the family. It is read as bert, so the count is a "
    "guess. Add the model_type."
)
_OF_STREAM = re.compile(
    r"(?!pooler|_)(?P<stream>.{1,30})_(?:hidden_size|num_(?:hidden_)?layers|num_attention_heads|intermediate_size)"
)


class RecognizedFamily(NamedTuple):
    """The family of a config.json, with a remark if the file does not name it."""

    family: Family
    remark: Problem | None = None


def recognized(content: Mapping[str, Any]) -> RecognizedFamily:
    """The family of a config.json. Raises InputError if no family fits, or if several families fit."""
    if content.get("model_type") not in (None, ""):
        return RecognizedFamily(_of_type(content["model_type"]))
    names = content.get("architectures")
    if classes := listed(names):
        of_classes = [*map(_of_class, classes)]
        if family := next((family for family in FAMILIES.values() if family in of_classes), None):
            return RecognizedFamily(family)
        message = N_("architectures {value} is not supported: bertcalc's model families are {known}.")
        raise InputError(problem("architectures", names, message, known=", ".join(FAMILIES)))
    return _of_keys(content)


def _of_type(model_type: Any) -> Family:
    if isinstance(model_type, str) and model_type in FAMILIES:
        return FAMILIES[model_type]
    if problem_of_type := of_remote_type(model_type):
        raise InputError(problem_of_type)
    if near := next((name for name in FAMILIES if _plain(name) == _plain(model_type)), None):
        message = N_("model_type {value} is unknown: did you mean {name}?")
        words = {"value": quoted(model_type), "name": near}
        raise InputError(Problem("model_type", model_type, message, words, ({"model_type": near},)))
    message = N_("model_type {value} is not supported: bertcalc's model families are {known}.")
    raise InputError(problem("model_type", model_type, message, known=", ".join(FAMILIES)))


def of_remote_type(model_type: Any) -> Problem | None:
    """The problem with a model type that needs custom code although transformers has the model; otherwise None."""
    for family in FAMILIES.values():
        if model_type in family.remote:
            message = N_(
                "model_type {value} needs code from its own repository, which bertcalc does not run. transformers has "
                "the same model as {name}: change model_type to {name} so that transformers can read this file."
            )
            words = {"value": quoted(model_type), "name": family.name}
            return Problem("model_type", model_type, message, words, ({"model_type": family.name},))
    return None


def _plain(name: Any) -> str:
    return re.sub("[-_ ]", "", name[:100].casefold()) if isinstance(name, str) else ""


def _of_class(name: str) -> Family | None:
    """The family of a class, including classes with a custom head, such as BertForSentiment."""
    name = name.removeprefix("TF").removeprefix("Flax")
    if name in CLASSES:
        return CLASSES[name]
    own_heads = (
        family for family in FAMILIES.values() if name.startswith((f"{family.kind}For", f"{family.kind}Model"))
    )
    return next(own_heads, None)


def _of_keys(content: Mapping[str, Any]) -> RecognizedFamily:
    for name, keys in _SIGNATURES:
        if content.keys() >= {*keys}:
            remark = Problem.of(RECOGNIZED, "model_type", None, family=name, keys=", ".join(keys))
            _check_unknown(content, FAMILIES[name])
            return RecognizedFamily(FAMILIES[name], remark)
    for keys, names in _SHARED:
        if content.keys() >= {*keys}:
            message = N_(
                "This file has no model_type, and several model types have the key {keys}: {names}. Add the model_type."
            )
            remedies = [{"model_type": name} for name in names if name in FAMILIES]
            words = {"keys": ", ".join(keys), "names": ", ".join(names)}
            raise InputError(Problem("model_type", None, message, words, tuple(remedies)))
    _check_unknown(content, _default())
    message = LIKE_BERT if _has_every_size(content, _default()) else GUESSED
    return RecognizedFamily(_default(), Problem.of(message, "model_type", None))


def _has_every_size(content: Mapping[str, Any], family: Family) -> bool:
    """Whether a file has all sizes of a family, like every file that transformers wrote."""
    sizes = (name for name in family.config.default().letters_of_sizes() if name not in ("vocab_size", "num_labels"))
    return content.keys() >= {*map(family.config.own_name, sizes)} and bool(
        content.keys() & {"vocab_size", OLD_VOCABULARY}
    )


def _check_unknown(content: Mapping[str, Any], family: Family) -> None:
    """Raise InputError if a file without a model_type has keys that suggest a different type than ``family``."""
    kind = family.config
    read, sure = names_read(kind), _has_every_size(content, family)
    unknown = [key for key in content if key in _ELSEWHERE and key not in read and family.name in _OLDEST]
    if not sure:
        unknown += [key for key in content if key not in (*read, *_HARMLESS, *unknown) and _is_foreign(kind, key)]
    unknown += [key for key in _of_second_stream(content) if key not in (*read, *unknown)]
    if unknown:
        message = N_(
            "This file has no model_type, and {family} does not have some of its keys: {keys}. Add the model_type."
        )
        raise InputError(Problem.of(message, "model_type", None, family=family.name, keys=named(unknown, _NAMED)))


def _of_second_stream(content: Mapping[str, Any]) -> list[str]:
    """The size keys of a second stack of layers: v_hidden_size and v_num_hidden_layers in ViLBERT's visual stream."""
    sizes = [match for match in map(_OF_STREAM.fullmatch, content) if match]
    often = Counter(match["stream"] for match in sizes)
    return [match[0] for match in sizes if often[match["stream"]] > 1]


def _is_foreign(kind: type[Config], key: str) -> bool:
    """Whether a key is a size under another program's name, or resembles no field of a family."""
    return key in OTHER_NAMES or not (key.startswith("_") or near_field(kind, key))


def _default() -> Family:
    return next(iter(FAMILIES.values()))


def listed(names: Any) -> list[str]:
    """The class names in ``architectures``, which can be a list or a single name; other values are ignored."""
    return [name for name in (names if isinstance(names, list) else [names]) if isinstance(name, str)]


def problem(field: str, value: object, message: str, **words: str) -> Problem:
    """A problem with a value, which the message can quote as {value}; ``words`` are its other placeholders."""
    return Problem.of(message, field, value, value=quoted(value), **words)
