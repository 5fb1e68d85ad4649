"""Read the JSON files that come with models: configurations, safetensors headers and indices, adapters and others.

>>> print(read_json_file('{"word_embedding_dimension": 384, "pooling_mode_mean_tokens": true}'))
Read as: a JSON file that does not describe a model.
This is the config.json of a sentence-transformers Pooling layer, which has no parameters.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

from bertcalc.changes.heads import PruneHeads
from bertcalc.changes.vocabulary import ResizeVocabulary
from bertcalc.checkpoints import safetensors
from bertcalc.families import hf_json
from bertcalc.families.config_files import other_files
from bertcalc.model.model import Model
from bertcalc.proofreading.mentions.config_code import SENTENCE_TRANSFORMER, ConfigInText
from bertcalc.reading.adapter_files import UNKNOWN_VALUE, read_adapter
from bertcalc.reading.config_text import repeated_sizes
from bertcalc.reading.listing import of_stored, of_tensors
from bertcalc.reading.plain_lines import LARGEST
from bertcalc.reading.published_name import NO_PRESET
from bertcalc.reading.several_configs import configs_in, first_config, of_code, read_parts, read_several
from bertcalc.reading.tensors.stored_parts import are_quantized
from bertcalc.reading.text_reading import Kind, PossibleCount, TextReading
from bertcalc.text import N_, shorten
from bertcalc.text.digits import brief
from bertcalc.text.loose_json import as_json
from bertcalc.text.problem import InputError, Problem, wrong
from bertcalc.text.strict_json import NOT_JSON, read_json
from bertcalc.transformers4 import pruned_heads


def json_kind(text: str) -> Kind | None:
    """Return the kind of a JSON file; None if the text is not a JSON object or a list of objects."""
    content = _content(text)
    if content is None or is_of_tensors(content):
        return None
    return "other-file" if isinstance(content, list) else _kind(content)


def is_of_tensors(content: Any) -> bool:
    """Whether most keys of an object are names of tensors, with counts or shapes as values.

    >>> is_of_tensors({"pooler.dense.weight": [768, 768], "pooler.dense.bias": 768}), is_of_tensors({"cat": 1})
    (True, False)
    """
    if not isinstance(content, dict):
        return False
    plain = [key for key, value in content.items() if isinstance(value, int | list) and key.endswith(_OF_WEIGHTS)]
    return 2 * len(plain) > len(content)


def tensor_lines(text: str) -> str:
    """Return a line for each tensor if a text is JSON that lists tensors; return other texts unchanged.

    >>> tensor_lines('{"pooler.dense.weight": [768, 768], "pooler.dense.bias": 768}')
    'pooler.dense.weight [768, 768]\\npooler.dense.bias 768'
    """
    if nested := _nested(text):
        return "\n".join(f"{name} {json.dumps(shape)}" for name, shape in nested.items())
    if text.lstrip().startswith("["):
        text = _PAIR.sub(lambda pair: f"{pair[1]} [{''.join(pair[2].split())}]", text)
    content = _content(text) if any(f'{ending}"' in text for ending in _OF_WEIGHTS) else None
    if isinstance(content, list) and all(isinstance(entry.get("name"), str) for entry in content):
        content = {entry["name"]: entry.get("shape", entry.get("count")) for entry in content}
    if not isinstance(content, dict) or not is_of_tensors(content):
        return text
    return "\n".join(f"{name} {json.dumps(value)}" for name, value in content.items())


_OF_WEIGHTS = (".weight", ".bias", ".kernel", ".gamma", ".beta")


def _nested(text: str) -> dict[str, list[int]]:
    """Return the shapes in nested objects, such as the parameters of Flax, keyed by path; empty for other texts.

    >>> _nested("FrozenDict({'dense': {'kernel': (768, 2), 'bias': (2,)}})")
    {'dense/kernel': [768, 2], 'dense/bias': [2]}
    """
    plain = _DICTIONARY.fullmatch(text.strip()) if _LEAF.search(text) else None
    content = as_json(_SIZE.sub(r"\1", plain["object"])) if plain and text.count("{") > 1 else None
    try:
        shapes = dict(_leaves(json.loads(content), "")) if content else {}
    except (json.JSONDecodeError, RecursionError, TypeError):
        return {}
    is_flax = any(name.endswith("/kernel") for name in shapes)
    return {name if is_flax else name.replace("/", "."): shape for name, shape in shapes.items()}


def _leaves(content: Mapping[str, Any], path: str) -> Iterator[tuple[str, list[int]]]:
    """Yield the path and the shape of each leaf. Raises TypeError if a leaf is not a shape."""
    for key, value in content.items():
        if isinstance(value, dict):
            yield from _leaves(value, f"{path}{key}/")
        elif isinstance(value, list) and all(type(size) is int for size in value):
            yield f"{path}{key}", value
        else:
            raise TypeError(key)


_DICTIONARY = re.compile(r"(?:(?:FrozenDict|OrderedDict|freeze)\()?\s*(?P<object>\{.*\})\s*\)?", re.DOTALL)
_LEAF = re.compile(r"[\"'](?:weight|kernel|bias|scale|embedding|gamma|beta)[\"']\s?:\s?(?:torch\.Size\()?[\[(]")
# The name and the shape in a list of lists.
_PAIR = re.compile(
    r"(?<=\[)\s{0,40}(\"[\w.]{1,200}\"),\s{0,40}\[((?:\s{0,40}[0-9]{1,18},?){0,8})\s{0,40}\](?=\s{0,40}\])"
)
_SIZE = re.compile(r"torch\.Size\((\[[0-9, ]{0,99}\])\)")


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
    """Read a config.json, or code that builds a configuration, including its pruned attention heads.

    Raises InputError if the text describes no model. If it has several configurations, each is counted.
    """
    if repeated := repeated_sizes(text):
        key, values = next(iter(repeated.items()))
        raise wrong(_REPEATED, key, None, key=key, values=", ".join(values))
    written = configs_in(text)
    if len(written.configs) > 1:
        return read_several(written, read_one)
    for name in written.unlisted if not written.configs else ():
        raise wrong(NO_PRESET, name=shorten(name))
    for name in written.unnamed if not written.configs else ():
        raise wrong(_UNNAMED, name=shorten(name))
    try:
        reading = read_one(first_config(written, text))
    except InputError as error:
        if parts := read_parts(text, read_one):
            return parts
        is_code = error.problem.message == NOT_JSON and text.strip("\ufeff \t\r\n")[:1] != "{"
        raise (wrong(_NOT_FOLLOWED) if is_code else error) from None
    return replace(reading, notes=(*reading.notes, *of_code(written.unfollowed)))


_NOT_FOLLOWED = N_(
    "This is neither JSON nor Python code that can be followed: write the sizes as numbers, such as "
    "BertConfig(hidden_size=768, num_hidden_layers=12)."
)
_REPEATED = N_("The text gives {key} several values: {values}. Keep the lines of one model.")


def read_one(written: ConfigInText) -> TextReading:
    """Read one configuration, with the arguments of the code that builds its model. Raises InputError if impossible."""
    for key, value in written.unknown:
        raise wrong(UNKNOWN_VALUE, key, value, key=key, value=shorten(value))
    config = written.text
    content = _content(config)
    heads = pruned_heads.heads_by_layer(content) if isinstance(content, dict) else {}
    if heads:
        config = json.dumps({key: value for key, value in content.items() if key != pruned_heads.KEY})
    described = hf_json.read(config)
    model = Model(described.config, described.architecture, written.add_pooling_layer)
    notes = (*described.remarks, *([pruned_heads.note(heads, model.num_parameters())] if heads else ()))
    model = model.changed(changes=(PruneHeads(heads),)) if heads else model
    if written.loader == SENTENCE_TRANSFORMER:
        notes = (*notes, Problem.of(_POOLING))
    if written.tokens is not None:
        model = model.changed(changes=(*model.changes, ResizeVocabulary(written.tokens)))
    sentence = Problem.of(N_("Read as: a config.json of {architecture}."), architecture=model.architecture)
    if written.preset:
        sentence = Problem.of(N_("Read as: the name of a published model, {name}."), name=written.preset)
    tensors = tuple(model.tensors())
    return TextReading("config", sentence, model, model, tensors, model.num_parameters(), notes=notes, detail=None)


_UNNAMED = N_(
    'The code loads a model by {name}, whose value is not in the text: write the name, such as "bert-base-uncased".'
)
_POOLING = N_(
    "SentenceTransformer adds pooling, which has no parameters. If the model also has a Dense module, as LaBSE does, "
    "the parameters of this module are not counted."
)


def _index(content: Mapping[str, Any], _text: str) -> TextReading:
    """Read an index: tensor names without shapes, the size in bytes and, in recent files, the number of parameters."""
    names, metadata = content["weight_map"], content.get("metadata")
    files = {file for file in names.values() if isinstance(file, str)}
    sentence = Problem.of(
        N_("Read as: an index of weight files. Files: {files}. Tensors: {count}."), files=len(files), count=len(names)
    )
    facts = metadata if isinstance(metadata, dict) else {}
    count, size = (_whole(facts.get(key)) for key in ("total_parameters", "total_size"))
    notes = [
        Problem.of(
            N_(
                "An index file contains no shapes: to identify the model, read the headers of its files or its "
                "config.json."
            )
        )
    ]
    if size is not None:
        message = N_("The tensors take {size} bytes: {wide} elements of 4 bytes (float32), or {narrow} of 2 (float16).")
        notes.append(Problem.of(message, size=size, wide=size // 4, narrow=size // 2))
    if count and size is not None and not are_quantized(names) and (possible := _of_sizes(count, size)):
        notes.append(Problem.of(_DISAGREE, count=count, size=size))
        return TextReading("safetensors-index", sentence, possible_counts=possible, notes=tuple(notes))
    return TextReading("safetensors-index", sentence, num_parameters=count, notes=tuple(notes))


def _whole(value: Any) -> int | None:
    return value if type(value) is int and value >= 0 else None


def _of_sizes(count: int, size: int) -> tuple[PossibleCount, ...]:
    """Return the possible counts if total_parameters and total_size contradict each other; empty if they agree.

    They agree if all parameters have the same width, apart from a few bytes of buffers or of wider tensors.
    """
    if any(0 <= size - width * count <= size // _FEW_BYTES for width in _WIDTHS):
        return ()
    narrowest = next((width for width in _WIDTHS if width * count > size), 0)
    message = N_("if total_parameters is right: then tensors of different widths take {bytes} bytes per parameter")
    by_count = [PossibleCount(count, Problem.of(message, bytes=brief(Fraction(size, count), 3)))]
    if size > max(_WIDTHS) * count:
        by_count = []  # no dtype of weights is so wide
    message = N_("if every parameter takes {width} bytes, as in {dtype}: then total_parameters counts {more} too many")
    by_size = [
        PossibleCount(size // width, Problem.of(message, width=width, dtype=dtype, more=count - size // width))
        for width, dtype in _WIDTHS.items()
        if width == narrowest and not size % width
    ]
    return (*by_size, *by_count)


_WIDTHS = {1: "float8", 2: "bfloat16", 4: "float32", 8: "float64"}
_FEW_BYTES = 1000  # buffers take at most a thousandth of a file
_DISAGREE = N_(
    "total_parameters ({count}) and total_size ({size} bytes) contradict each other: tied matrices may be counted "
    "twice."
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
