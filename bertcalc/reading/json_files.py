"""Read the JSON files that come with models: configurations, safetensors headers and indices, adapters and others.

>>> print(read_json_file('{"word_embedding_dimension": 384, "pooling_mode_mean_tokens": true}'))
Read as: a JSON file that does not describe a model.
This is the config.json of a sentence-transformers Pooling layer, which has no parameters.
"""

import json
from collections.abc import Mapping
from typing import Any

from bertcalc.changes.heads import PruneHeads
from bertcalc.checkpoints import safetensors
from bertcalc.families import hf_json
from bertcalc.families.config_files import other_files
from bertcalc.model.model import Model
from bertcalc.reading.adapter_files import read_adapter
from bertcalc.reading.config_text import config_in
from bertcalc.reading.listing import of_stored, of_tensors
from bertcalc.reading.plain_lines import LARGEST
from bertcalc.reading.text_reading import Kind, TextReading
from bertcalc.text import N_
from bertcalc.text.problem import InputError, Problem
from bertcalc.text.strict_json import read_json
from bertcalc.transformers4 import pruned_heads


def json_kind(text: str) -> Kind | None:
    """Return the kind of a JSON file; None if the text is not a JSON object or a list of objects."""
    content = _content(text)
    if content is None:
        return None
    return "other-file" if isinstance(content, list) else _kind(content)


def _content(text: str) -> Any:
    if text.lstrip("\ufeff \t\r\n")[:1] not in ("{", "["):
        return None
    try:
        content = read_json(text, LARGEST)
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
    return "other-file" if other_files.explained(content) else "config"


def read_json_file(text: str) -> TextReading:
    """Read a JSON file of any kind. Raises InputError if it is not valid."""
    content = read_json(text, LARGEST)
    if isinstance(content, list):
        return _other_file(content, text)
    kind = _kind(content)
    readers = {
        "safetensors-index": _index,
        "safetensors-header": _header,
        "adapter-config": lambda _content, text: read_adapter(text),
        "other-file": _other_file,
    }
    return readers[kind](content, text) if kind in readers else read_config(text)


def read_config(text: str) -> TextReading:
    """Read a config.json, including its pruned attention heads. Raises InputError if it describes no model."""
    config = config_in(text)
    content = _content(config)
    heads = pruned_heads.heads_by_layer(content) if isinstance(content, dict) else {}
    if heads:
        config = json.dumps({key: value for key, value in content.items() if key != pruned_heads.KEY})
    described = hf_json.read(config)
    model = Model(described.config, described.architecture)
    notes = (*described.remarks, *([pruned_heads.note(heads, model.num_parameters())] if heads else ()))
    model = model.changed(changes=(PruneHeads(heads),)) if heads else model
    sentence = Problem.of(N_("Read as: a config.json of {architecture}."), architecture=model.architecture)
    tensors = tuple(model.tensors())
    return TextReading("config", sentence, model, model, tensors, model.num_parameters(), notes=notes, detail=None)


def _index(content: Mapping[str, Any], _text: str) -> TextReading:
    """Read an index: tensor names without shapes, the size in bytes and, in recent files, the number of parameters."""
    names, metadata = content["weight_map"], content.get("metadata")
    files = {file for file in names.values() if isinstance(file, str)}
    sentence = Problem.of(
        N_("Read as: an index of {files} weight files with {count} tensors."), files=len(files), count=len(names)
    )
    facts = metadata if isinstance(metadata, dict) else {}
    count, size = facts.get("total_parameters"), facts.get("total_size")
    notes = [
        Problem.of(
            N_(
                "An index file contains no shapes: to identify the model, read the headers of its files or its "
                "config.json."
            )
        )
    ]
    if type(size) is int and size >= 0:
        message = N_("The tensors take {size} bytes: {wide} elements of 4 bytes (float32), or {narrow} of 2 (float16).")
        notes.append(Problem.of(message, size=size, wide=size // 4, narrow=size // 2))
    return TextReading(
        "safetensors-index", sentence, num_parameters=count if type(count) is int else None, notes=tuple(notes)
    )


def _header(_content: Mapping[str, Any], text: str) -> TextReading:
    header = safetensors.read(text.strip("\ufeff \t\r\n").encode(), 0, cut_off=True)
    shapes = {entry.name: entry.shape for entry in header.tensors}
    integers = {entry.name for entry in header.tensors if entry.dtype in _INTEGERS}
    return of_tensors("safetensors-header", of_stored(shapes, integers))


_INTEGERS = ("I16", "I32", "I64", "U16", "U32", "U64", "BOOL")  # dtypes of buffers; 8-bit integers may be parameters


def _other_file(content: Any, _text: str) -> TextReading:
    """Read another JSON file of a model. Only a Dense layer of sentence-transformers has parameters."""
    sentence = Problem.of(N_("Read as: a JSON file that does not describe a model."))
    notes = tuple(filter(None, (other_files.explained(content),)))
    layer = other_files.dense_layer(content) if isinstance(content, dict) else None
    if layer is None:
        return TextReading("other-file", sentence, notes=notes)
    tensors = tuple(layer.tensors())
    return TextReading("other-file", sentence, None, layer, tensors, layer.num_parameters(), notes=notes)
