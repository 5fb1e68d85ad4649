"""Explain JSON files from model repositories that are not a model's config.json, recognized by their keys.

>>> print(explained({"word_embedding_dimension": 384}))
This is the config.json of a sentence-transformers Pooling layer, which has no parameters.
>>> explained({"model_type": "bert", "hidden_size": 768}) is None
True
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from bertcalc.config.fields import is_int
from bertcalc.families.config_files.size_names import SIZE_NAMES
from bertcalc.model.modules import Linear
from bertcalc.text import N_
from bertcalc.text.arguments import quoted
from bertcalc.text.problem import Problem


class _FileKind(NamedTuple):
    """A kind of file that does not describe a model: the message about it, and how to recognize its content."""

    message: str
    matches: Callable[[Mapping[str, Any]], bool]
    values: Callable[[Mapping[str, Any]], dict[str, object]] = lambda _content: {}


def explained(content: Any) -> Problem | None:
    """The problem with a file that is not a model's config.json; None if it may be a config.json."""
    if isinstance(content, list):
        return (
            Problem.of(_MODULES)
            if content and all(isinstance(entry, dict) and {"path", "type"} <= entry.keys() for entry in content)
            else None
        )
    if not isinstance(content, Mapping):
        return None
    files = _ADAPTERS if content.keys() & SIZE_NAMES else (*_ADAPTERS, *_FILES)
    file = next((file for file in files if file.matches(content)), None)
    return file and Problem.of(file.message, "", None, **file.values(content))


def _any(*keys: str) -> Callable[[Mapping[str, Any]], bool]:
    return lambda content: not content.keys().isdisjoint(keys)


def _all(*keys: str) -> Callable[[Mapping[str, Any]], bool]:
    return lambda content: content.keys() >= {*keys}


def dense_layer(content: Mapping[str, Any]) -> Linear | None:
    """The layer described by the config.json of a sentence-transformers Dense layer; None for other files."""
    inputs: Any = content.get("in_features")
    outputs: Any = content.get("out_features")
    if not all(is_int(size) and 0 < size < 10**9 for size in (inputs, outputs)):
        return None
    return Linear(inputs, outputs, bias=content.get("bias") is not False)


_MODULES = N_(
    "This is the modules.json of sentence-transformers, the list of its modules: use the config.json of its first "
    "module, the Transformer, instead."
)
_TRANSFORMER = ("transformer_task", "modality_config", "module_output_name", "model_args", "tokenizer_args")
_TOKENIZER = ("tokenizer_class", "added_tokens_decoder", "do_lower_case", "tokenize_chinese_chars", "do_basic_tokenize")
_SAMPLING = ("_from_model_config", "max_new_tokens", "do_sample", "temperature", "top_p", "top_k", "num_beams")
# Adapters are checked even if a file contains sizes: it may repeat sizes of the model that the adapter changes.
_ADAPTERS = (
    _FileKind(
        N_(
            "This is a PEFT adapter_config.json ({kind}), which changes {base}. To count the model without the "
            "adapter, use its own config.json. To count the adapter, paste this file as text."
        ),
        _any("peft_type"),
        lambda content: {
            "kind": quoted(content["peft_type"]),
            "base": quoted(base) if (base := content.get("base_model_name_or_path")) else N_("a base model"),
        },
    ),
    _FileKind(
        N_(
            "This is the configuration of an adapter or of its head (AdapterHub): it changes {base}. To count the "
            "model without the adapter, use its own config.json."
        ),
        _all("config", "model_name", "name"),
        lambda content: {"base": quoted(content["model_name"])},
    ),
)
_FILES = (
    _FileKind(
        N_(
            "This is the config.json of a sentence-transformers Dense layer, which adds {count} parameters to the "
            "model before it."
        ),
        lambda content: dense_layer(content) is not None,
        lambda content: {"count": layer.num_parameters()} if (layer := dense_layer(content)) else {},
    ),
    _FileKind(
        N_("This is the config.json of a sentence-transformers Pooling layer, which has no parameters."),
        _any("word_embedding_dimension", "pooling_mode_mean_tokens", "pooling_mode_cls_token"),
    ),
    _FileKind(
        N_(
            "This is a config_sentence_transformers.json, with versions and prompts: use the model's config.json "
            "instead."
        ),
        _any("__version__", "similarity_fn_name", "default_prompt_name"),
    ),
    _FileKind(
        N_("This is a sentence_bert_config.json, with the length of texts: use the model's config.json instead."),
        lambda content: content.keys() <= {"max_seq_length", "do_lower_case", *_TRANSFORMER} and bool(content),
    ),
    _FileKind(
        N_(
            "This is the index of safetensors files: choose it together with these files under Weights file, which "
            "reads their headers."
        ),
        _any("weight_map"),
    ),
    _FileKind(
        N_("This is the header of a safetensors file: choose the file itself under Weights file."),
        lambda content: any(isinstance(value, dict) and "data_offsets" in value for value in content.values()),
    ),
    _FileKind(
        N_("This is a preprocessor_config.json, for images or audio: use the model's config.json instead."),
        _any("feature_extractor_type", "image_processor_type", "processor_class", "do_resize"),
    ),
    _FileKind(
        N_("This is a tokenizer.json, the tokenizer itself: use the model's config.json instead."),
        _all("added_tokens", "model"),
    ),
    _FileKind(
        N_("This is the list of special tokens: use the model's config.json instead."),
        lambda content: bool(content) and all(key.endswith(("_token", "_tokens")) for key in content),
    ),
    _FileKind(
        N_("This is a tokenizer_config.json: use the model's config.json instead."),
        _any(*_TOKENIZER, "special_tokens_map_file", "clean_up_tokenization_spaces", "model_max_length"),
    ),
    _FileKind(
        N_("This is a vocabulary with {count} tokens: use the model's config.json instead."),
        lambda content: len(content) > 100 and all(map(is_int, content.values())),
        lambda content: {"count": len(content)},
    ),
    _FileKind(
        N_("This is a training log: use the model's config.json instead."),
        _any("log_history", "train_runtime", "eval_loss"),
    ),
    _FileKind(
        N_("These are training arguments: use the model's config.json instead."),
        _any("per_device_train_batch_size", "num_train_epochs"),
    ),
    _FileKind(
        N_("This is a DeepSpeed configuration: use the model's config.json instead."),
        _any("zero_optimization", "train_micro_batch_size_per_gpu"),
    ),
    _FileKind(
        N_("This is a quantization configuration, which changes only bytes: use the model's config.json instead."),
        lambda content: content.keys() >= {"bits", "group_size"} or content.keys() >= {"quant_method"},
    ),
    _FileKind(N_("This is a notebook, not a config.json."), _all("cells", "nbformat")),
    _FileKind(
        N_("This is a generation_config.json, for text generation: use the model's config.json instead."),
        lambda content: "model_type" not in content and _any(*_SAMPLING)(content),
    ),
)
