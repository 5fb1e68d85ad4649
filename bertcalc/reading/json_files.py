"""Read the JSON files that come with models: configurations, headers and indices of safetensors, adapters, others.

>>> reading = read_json_file('{"max_length": 20, "transformers_version": "5.23.0", "_from_model_config": true}')
>>> reading.kind, str(reading.sentence)
('other-file', 'Read as: a generation_config.json, which describes no model.')
"""

from collections.abc import Mapping
from typing import Any

from bertcalc.checkpoints import safetensors
from bertcalc.families import hf_json
from bertcalc.families.presets import PRESETS, preset_named
from bertcalc.model.model import Model
from bertcalc.model.modules import Conv1D, Embedding, Linear, Tensor
from bertcalc.reading.config_text import config_in
from bertcalc.reading.listing import Listing, of_tensors
from bertcalc.reading.text_reading import Kind, TextReading
from bertcalc.text import N_, shorten
from bertcalc.text.problem import InputError, Problem
from bertcalc.text.strict_json import read_json

_LARGEST = 1_000_000
# Files that describe no model, by keys that only they have.
_OTHERS: tuple[tuple[str, frozenset[str]], ...] = (
    ("generation_config.json", frozenset({"_from_model_config"})),
    ("tokenizer_config.json", frozenset({"tokenizer_class"})),
    ("tokenizer_config.json", frozenset({"added_tokens_decoder"})),
    ("tokenizer.json", frozenset({"added_tokens", "pre_tokenizer"})),
    ("special_tokens_map.json", frozenset({"mask_token", "unk_token"})),
    ("1_Pooling/config.json", frozenset({"pooling_mode_mean_tokens"})),
    ("config_sentence_transformers.json", frozenset({"prompts", "default_prompt_name"})),
    ("sentence_bert_config.json", frozenset({"max_seq_length", "do_lower_case"})),
    ("trainer_state.json", frozenset({"global_step", "log_history"})),
    ("preprocessor_config.json", frozenset({"feature_extractor_type"})),
)
_OF_DENSE = {"in_features", "out_features", "activation_function"}
_SIZES = {"hidden_size", "vocab_size", "num_hidden_layers", "model_type", "architectures", "n_embd", "dim", "d_model"}


def json_kind(text: str) -> Kind | None:
    """The kind of a JSON file; None if the text is no JSON object or list."""
    content = _content(text)
    if content is None:
        return None
    return "other-file" if isinstance(content, list) else _kind(content)


def _content(text: str) -> Any:
    if text.lstrip("\ufeff \t\r\n")[:1] not in ("{", "["):
        return None
    try:
        content = read_json(text, _LARGEST)
    except InputError:
        return None
    is_list_of_modules = isinstance(content, list) and all(isinstance(entry, dict) for entry in content) and content
    return content if isinstance(content, dict) or is_list_of_modules else None


def _kind(content: Mapping[str, Any]) -> Kind:
    if isinstance(content.get("weight_map"), dict):
        return "safetensors-index"
    entries = [value for key, value in content.items() if key != "__metadata__"]
    if entries and all(isinstance(entry, dict) and "data_offsets" in entry for entry in entries):
        return "safetensors-header"
    if "peft_type" in content:
        return "adapter-config"
    if content.keys() >= {"cells", "nbformat"}:
        return "article"
    if not content.keys() & _SIZES and (_other(content) or content.keys() >= _OF_DENSE):
        return "other-file"
    return "config"


def _other(content: Mapping[str, Any]) -> str:
    return next((name for name, keys in _OTHERS if content.keys() >= keys), "")


def read_json_file(text: str) -> TextReading:
    """Read a JSON file of any kind. Raises InputError."""
    content = read_json(text, _LARGEST)
    if isinstance(content, list):
        return _of_modules(content)
    kind = _kind(content)
    readers = {
        "safetensors-index": _index,
        "safetensors-header": _header,
        "adapter-config": _adapter,
        "other-file": _other_file,
    }
    return readers[kind](content, text) if kind in readers else read_config(text)


def read_config(text: str) -> TextReading:
    """The model of a config.json. Raises InputError."""
    described = hf_json.read(config_in(text))
    model = Model(described.config, described.architecture)
    sentence = Problem.of(N_("Read as: a config.json of {architecture}."), architecture=model.architecture)
    notes = tuple(described.remarks)
    tensors = tuple(model.tensors())
    return TextReading("config", sentence, model, model, tensors, model.num_parameters(), notes=notes, detail=None)


def _index(content: Mapping[str, Any], _text: str) -> TextReading:
    """An index has names without shapes; newer ones have the number of parameters, all have the bytes."""
    names, metadata = content["weight_map"], content.get("metadata")
    files = {file for file in names.values() if isinstance(file, str)}
    sentence = Problem.of(
        N_("Read as: an index of {files} files of weights with {count} tensors."), files=len(files), count=len(names)
    )
    facts = metadata if isinstance(metadata, dict) else {}
    count, size = facts.get("total_parameters"), facts.get("total_size")
    notes = [Problem.of(N_("An index has no shapes: the files' headers or config.json tell the model."))]
    if type(size) is int and size >= 0:
        message = N_("The tensors take {size} bytes: {wide} numbers of 4 bytes (float32), or {narrow} of 2 (float16).")
        notes.append(Problem.of(message, size=size, wide=size // 4, narrow=size // 2))
    return TextReading(
        "safetensors-index", sentence, num_parameters=count if type(count) is int else None, notes=tuple(notes)
    )


def _header(_content: Mapping[str, Any], text: str) -> TextReading:
    header = safetensors.read(text.strip("\ufeff \t\r\n").encode(), 0, cut_off=True)
    return of_tensors("safetensors-header", Listing(tuple((entry.name, entry.shape) for entry in header.tensors)))


def _adapter(content: Mapping[str, Any], _text: str) -> TextReading:
    """LoRA's matrices: for each target, rank times its inputs and outputs."""
    kind, base = content["peft_type"], content.get("base_model_name_or_path")
    sentence = Problem.of(N_("Read as: an adapter_config.json ({kind})."), kind=shorten(f"{kind}"))
    name = preset_named(base) if isinstance(base, str) else None
    model = Model(PRESETS[name].config) if name else None
    if model is None:
        message = N_("Its base model {name} is not a preset, so that its parameters cannot be counted.")
        return TextReading("adapter-config", sentence, notes=(Problem.of(message, name=shorten(f"{base}")),))
    saved = content.get("modules_to_save")
    if saved and isinstance(saved, list):
        note = _with_saved({**content, "modules_to_save": None}, model, saved)
        return TextReading("adapter-config", sentence, model, model, notes=(note,))
    tensors, problem = _lora(content, model)
    if problem:
        return TextReading("adapter-config", sentence, model, model, notes=(problem,))
    count = sum(tensor.num_parameters() for tensor in tensors)
    note = Problem.of(N_("The adapter has {count} parameters beside those of {name}."), count=count, name=name)
    both = model.num_parameters() + count
    return TextReading("adapter-config", sentence, model, model, tensors, both, notes=(note,))


def _with_saved(content: Mapping[str, Any], model: Model, saved: list[Any]) -> Problem:
    """The note on an adapter with which PEFT saves whole modules, such as a classifier whose labels are not told."""
    tensors, problem = _lora(content, model)
    message = N_(
        "Its LoRA matrices have {count} parameters. modules_to_save adds trained copies of {names}, whose sizes this "
        "file does not tell: they are not counted."
    )
    names = ", ".join(shorten(f"{name}") for name in saved[:8])
    return problem or Problem.of(message, count=sum(tensor.num_parameters() for tensor in tensors), names=names)


# Keys that change the adapter's parameters, with the values at which they do not.
_PLAIN: dict[str, tuple[Any, ...]] = {
    "bias": ("none",),
    "use_dora": (False,),
    "modules_to_save": (None, []),
    "rank_pattern": (None, {}),
    "layers_to_transform": (None, []),
    "exclude_modules": (None, []),
    "lora_bias": (False,),
    "target_parameters": (None, []),
    "trainable_token_indices": (None, []),
    "layer_replication": (None,),
}


def _lora(content: Mapping[str, Any], model: Model) -> tuple[tuple[Tensor, ...], Problem | None]:
    rank, targets = content.get("r"), content.get("target_modules")
    if content["peft_type"] != "LORA" or type(rank) is not int or not 0 < rank < 10**6 or not isinstance(targets, list):
        return (), Problem.of(N_("Only LoRA with a rank and a list of target_modules is counted."))
    for key, values in _PLAIN.items():
        if key in content and content[key] not in values:
            return (), Problem.of(N_("{key} changes the adapter: it is not counted."), key=key)
    wanted = tuple(f".{target}" for target in targets if isinstance(target, str))
    tensors: list[Tensor] = []
    for path, module, copies in model.modules():
        if isinstance(module, Linear | Conv1D | Embedding) and f".{path}".endswith(wanted):
            rows, columns = module.parameters["weight"]
            tensors.append(Tensor(f"{path}.lora_A.weight", (rank, columns), copies))
            tensors.append(Tensor(f"{path}.lora_B.weight", (rows, rank), copies))
    if not tensors:
        return (), Problem.of(N_("None of its target_modules is a module of {name}."), name=model.architecture)
    return tuple(tensors), None


def _other_file(content: Mapping[str, Any], _text: str) -> TextReading:
    if content.keys() >= _OF_DENSE:
        return _dense(content)
    sentence = Problem.of(N_("Read as: a {file}, which describes no model."), file=_other(content))
    return TextReading("other-file", sentence)


def _dense(content: Mapping[str, Any]) -> TextReading:
    """sentence-transformers' 2_Dense/config.json: one Linear layer, which counts with its model."""
    sentence = Problem.of(N_("Read as: the Dense layer of a sentence-transformers model."))
    sizes = content["in_features"], content["out_features"]
    if not all(type(size) is int and 0 < size < 2**31 for size in sizes):
        return TextReading("other-file", sentence)
    layer = Linear(*sizes, bias=content.get("bias") is not False)
    return TextReading("other-file", sentence, None, layer, tuple(layer.tensors()), layer.num_parameters())


def _of_modules(content: list[Any]) -> TextReading:
    kinds = [entry["type"].rpartition(".")[2] for entry in content if isinstance(entry.get("type"), str)]
    if not kinds:
        return TextReading("other-file", Problem.of(N_("Read as: a JSON file, which describes no model.")))
    message = N_("Read as: the modules.json of a sentence-transformers model: {kinds}.")
    return TextReading("other-file", Problem.of(message, kinds=", ".join(map(shorten, kinds[:8]))))
