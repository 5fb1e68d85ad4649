"""Read and write Hugging Face's config.json; input is untrusted.

>>> from bertcalc import BertConfig
>>> read('{"model_type": "bert", "vocab_size": 21128, "architectures": ["BertForMaskedLM"]}').config.vocab_size
21128
>>> read(write(Model(BertConfig(vocab_size=21128), "BertForMaskedLM"))).architecture
'BertForMaskedLM'
>>> read('{"hidden_size": 770}')
Traceback (most recent call last):
    ...
bertcalc.text.problem.InputError: hidden_size 770 is not a multiple of num_attention_heads 12: use 768 or 780.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from bertcalc.config import Config, problems, uncounted
from bertcalc.config.fields import FIELDS, field_named, is_int
from bertcalc.families import CLASSES, FAMILIES, class_of, counterpart
from bertcalc.families.config_files import key_remarks, other_files, other_programs
from bertcalc.families.config_files.keys_of_families import (
    GUESSED,
    LIKE_BERT,
    OLD_VOCABULARY,
    RECOGNIZED,
    listed,
    recognized,
)
from bertcalc.families.config_files.keys_of_families import problem as named_problem
from bertcalc.families.config_files.refused_values import refused_values
from bertcalc.families.config_files.size_names import MAPPED, SIZE_NAMES, names_read
from bertcalc.model.batch import Batch
from bertcalc.model.family import Family
from bertcalc.model.model import Model
from bertcalc.model.trace import Step
from bertcalc.text import N_, shorten
from bertcalc.text.arguments import checked, quoted
from bertcalc.text.loose_json import begins_object, class_in_front, read_loosely
from bertcalc.text.problem import InputError, Problem, wrong
from bertcalc.text.strict_json import decode, read_json
from bertcalc.transformers4 import pruned_heads
from bertcalc.transformers4.config_remarks import of_distances
from bertcalc.transformers4.version import FIVE, version_of

LARGEST = 1_000_000  # maximum length in characters; even files with 1,000 labels are far shorter
PASTED = LARGEST + 100_000  # maximum length in an input field; higher, so that a text that is too long gets an error
# Known keys that are not fields of the configuration. label2id adds nothing to id2label.
_OTHERS = ("model_type", "architectures", "id2label", "label2id")
_NO_CLASS = N_("architectures {value} is not one of the classes that bertcalc counts.")
_NO_OBJECT = N_("This is not a config.json: expected a JSON object, {braces} with fields inside.")


class ConfigReading(NamedTuple):
    """The model that a config.json describes, and remarks on ignored, replaced or missing keys.

    ``architecture`` is None if the file names no class, or a class without a counterpart in the family.
    """

    config: Config
    architecture: str | None
    remarks: list[Problem]

    @property
    def doubts(self) -> list[Problem]:
        """The remarks on keys that may change the model, not on defaults, ineffective keys or a recognized family."""
        calm = (key_remarks.DEFAULTS, key_remarks.WITHOUT_EFFECT, RECOGNIZED, LIKE_BERT)
        return [remark for remark in self.remarks if remark.message not in calm]

    @property
    def guesses(self) -> list[Problem]:
        """The remarks that make the count a guess: custom code, no model type, or a class that bertcalc lacks."""
        return [remark for remark in self.remarks if remark.message in (other_programs.GUESS, GUESSED, _NO_CLASS)]


@checked
def write(model: Model) -> str:
    """Write a config.json that transformers loads as this model.

    The file has the sizes after all changes of the model, such as a larger vocabulary. It does not contain an adapter,
    which peft describes in adapter_config.json, and it cannot express whether the body has a pooler. Raises InputError
    if no configuration describes this model, for instance if heads are pruned.
    """
    config = _with_changes(model) if model.changes else model.config
    fields = version_of(config).fields(config)
    content = {"architectures": [model.architecture], "model_type": model.family.name, **fields}
    return json.dumps(content, indent=2, sort_keys=True) + "\n"


_NO_CONFIG = N_(
    "The fields of a config.json cannot describe the model after {changes}: share the program that makes "
    "the changes instead."
)


def _with_changes(model: Model) -> Config:
    """The configuration of the model without its adapter. Raises InputError if no configuration describes it."""
    resized = model.changed(changes=tuple(change for change in model.changes if change.resizes))
    config = replace(resized.final_config)  # validates it: a smaller vocabulary may lack the padding token
    plain = model.changed(config, changes=())
    if str(plain) != str(resized) or _steps(plain) != _steps(resized):
        raise wrong(_NO_CONFIG, "changes", changes=", ".join(map(str, resized.changes)))
    return config


def _steps(model: Model) -> list[Step]:
    """The steps of a forward pass, normalized so that the steps of two models can be compared with ==."""
    layers = range(model.final_config.num_hidden_layers)
    return [
        step._replace(module=None, turns=tuple(step.turns[layer % len(step.turns)] for layer in layers if step.turns))
        for step in model.steps(Batch())
    ]


@checked
def text_of(data: bytes, size: int = 0) -> str:
    """Decode a config.json file; ``size`` is the file's size in bytes if ``data`` is only its beginning.

    Raises InputError if the file is too long or not UTF-8.
    """
    size = max(size, len(data))
    if size > LARGEST:
        message = N_("This file has at least {length} bytes: a config.json can have at most {most}.")
        raise wrong(message, length=size, most=LARGEST)
    return decode(data)


def text_of_file(path: Path) -> str:
    """The text of a local config.json. Raises InputError if it cannot be read, is too long, or is not UTF-8."""
    try:
        with path.open("rb") as file:
            data = file.read(LARGEST + 1)
    except (OSError, ValueError) as error:  # ValueError: a name with a null character
        reason = getattr(error, "strerror", None) or str(error)
        raise wrong("{path} cannot be read: {reason}.", path=shorten(str(path)), reason=reason) from None
    return text_of(data)


@checked
def read_object(text: str) -> dict[str, Any]:
    """Parse the JSON object in the config.json of any model.

    Also accepts a printed configuration, comments, and a Python dictionary. If the object has no model type, it is
    taken from the name of a configuration class printed in front of the object. Raises InputError if the text is not
    an object, or if it is a file that does not describe a model.
    """
    if len(text) <= LARGEST and not begins_object(text):
        problem = other_files.explained(_list_of(text))
        raise InputError(problem) if problem else wrong(_NO_OBJECT, braces="{ }")
    content: dict[str, Any] = read_loosely(text, LARGEST)
    if problem := other_files.explained(content):
        raise InputError(problem)
    printed = next((family.name for family in FAMILIES.values() if family.config.__name__ == class_in_front(text)), "")
    return {"model_type": printed, **content} if printed else content


def _list_of(text: str) -> Any:
    with suppress(InputError):
        return read_json(text, LARGEST) if text.lstrip("\ufeff \t\r\n").startswith("[") else None
    return None


def is_of_another_type(problems: Iterable[Problem]) -> bool:
    """Whether a config.json was refused because bertcalc has no family for its model type or class."""
    return any(problem.field in ("model_type", "architectures") and not problem.remedies for problem in problems)


@checked
def read(text: str) -> ConfigReading:
    """Read the model from the text of a config.json; missing fields get Hugging Face's defaults.

    The text may also be a printed configuration or a Python dictionary (``read_object``). Without a model type, the
    family is recognized by its classes or keys. Raises InputError if the text or a value is invalid, if the model needs
    a different program, or if a size has a name that transformers does not read.
    """
    content = read_object(text)
    if content.get("model_type") in (None, "", "nezha", *FAMILIES):
        _raise((*other_programs.refused(content), *pruned_heads.refused(content)))
    if content and not content.keys() & {*_every_name(), *_OTHERS}:
        message = N_("This is not a model's config.json: it has {keys}, but neither model_type nor a size.")
        raise wrong(message, keys=key_remarks.named(content))
    family, recognition = recognized(content)
    kind = family.config
    content, renamed = _with_vocabulary(content)
    values = _values(kind, content)
    replaced = list(_without_count(kind, values))
    read_keys = {*names_read(kind), *FIVE.lacks, *_OTHERS}
    unread = {key: value for key, value in content.items() if key not in read_keys and not kind.converted({key: value})}
    _raise(_refusals(kind, content, unread, values))
    config = kind(**values)
    architecture, remarks = _architecture(content.get("architectures"), family)
    if architecture and (problem := class_of(architecture).unbuilt(config)):
        raise InputError(problem)
    remarks = [*filter(None, (recognition,)), *other_programs.guess(content), *renamed, *remarks, *replaced]
    remarks += of_distances(config, lambda config: Model(config, architecture).num_parameters())
    return ConfigReading(config, architecture, [*remarks, *key_remarks.remarks(config, content, unread, values)])


def _refusals(
    kind: type[Config], content: Mapping[str, Any], unread: Mapping[str, Any], values: Mapping[str, Any]
) -> Iterator[Problem]:
    """Yield problems with the values of a file, and with unread keys that would change the model."""
    yield from (_not_counted(kind, problem) for problem in problems(kind, values))
    yield from kind.refused(content)
    yield from refused_values(kind, content, values)
    labels = content.get("id2label")
    if labels is not None and not _is_labels(labels):
        message = N_("id2label {value} is invalid: it must map numbers to names.")
        yield named_problem("id2label", labels, message)
    yield from key_remarks.misnamed(kind, unread, content, values)
    yield from _factorized(kind, unread, values)


@cache
def _every_name() -> frozenset[str]:
    """The keys that show that a file describes a model: sizes and fields, except keys of a generation_config.json."""
    fields = {name for family in FAMILIES.values() for name in names_read(family.config)}
    return SIZE_NAMES | {name for name in fields if not name.endswith("_token_id") and name != "use_cache"}


def _raise(refusals: Iterable[Problem]) -> None:
    if refusals := [*refusals]:
        raise InputError(*refusals)


def _with_vocabulary(content: dict[str, Any]) -> tuple[dict[str, Any], list[Problem]]:
    """Rename the vocabulary size of a file from 2019 to vocab_size; return the content, and a remark if renamed."""
    if OLD_VOCABULARY not in content:
        return content, []
    content = dict(content)
    size = content.pop(OLD_VOCABULARY)
    if "vocab_size" in content:
        return content, []
    message = N_("{key} {value} is read as vocab_size; current versions of transformers ignore it.")
    words = {"key": OLD_VOCABULARY, "value": quoted(size)}
    return {**content, "vocab_size": size}, [Problem(OLD_VOCABULARY, size, message, words)]


def _values(kind: type[Config], content: Mapping[str, Any]) -> dict[str, Any]:
    """The values of all fields, from the file or by default; shared names take precedence over a family's own."""
    defaults = {**vars(kind.default()), **kind.if_missing(content)}
    names = {name: kind.shared_name(name) for name in defaults}
    values = {
        name: content.get(shared if shared in MAPPED else name, content.get(name, defaults[name]))
        for name, shared in names.items()
    }
    if "num_labels" not in content:  # in transformers, num_labels takes precedence over id2label
        labels = content.get("id2label")
        values["num_labels"] = len(labels) if isinstance(labels, dict) else kind.default().num_labels
    return values | kind.converted(content)


def _factorized(kind: type[Config], unread: Mapping[str, Any], values: Mapping[str, Any]) -> Iterator[Problem]:
    """Yield problems with embedding sizes that differ from the hidden size, in families without such a field."""
    for key in ("embedding_size", "emb_size"):
        size = unread.get(key)
        if is_int(size) and size != values[kind.own_name("hidden_size")]:
            yield uncounted(key, size, kind.own_name("hidden_size"))


# Values that transformers accepts but bertcalc's configurations refuse, for fields that do not affect any count.
_LOADS: Mapping[str, Callable[[Any], bool]] = {
    "bos_token_id": is_int,
    "eos_token_id": lambda value: is_int(value) or (isinstance(value, list) and all(map(is_int, value))),
    "initializer_range": lambda value: isinstance(value, float) and value >= 0,
    "layer_norm_eps": lambda value: isinstance(value, float),
    "pretraining_tp": is_int,
    **{field: lambda value: value is None for field in FIVE.lacks},
}


def _without_count(kind: type[Config], values: dict[str, Any]) -> Iterator[Problem]:
    """Replace invalid values of the fields in _LOADS by defaults in ``values``, and yield a remark on each.

    A padding token that is None or counts from the end of the vocabulary is also replaced if transformers accepts it.
    """
    message = N_("{field} {value} is replaced by {default}, which does not affect any count.")
    for field, loads in _LOADS.items():
        name = kind.own_name(field)
        if name in values and not field_named(field).is_right(values[name]) and loads(values[name]):
            original, values[name] = values[name], getattr(kind, name)
            yield Problem.of(message, name, original, field=name, value=quoted(original), default=f"{values[name]}")
    pad: Any = values.get("pad_token_id")
    if "pad_token_id" in values and pad is None and kind.longest is not Config.longest:  # None, as in files from 2020
        values["pad_token_id"] = kind.default().pad_token_id
        default = f"{values['pad_token_id']}"
        yield Problem.of(message, "pad_token_id", None, field="pad_token_id", value=quoted(None), default=default)
    vocabulary = values[kind.own_name("vocab_size")]
    counted_from_the_end = is_int(pad) and is_int(vocabulary) and -vocabulary <= pad < 0
    if counted_from_the_end and kind.longest is Config.longest:  # else positions start after the padding token's id
        values["pad_token_id"] = vocabulary + pad
        message = N_("pad_token_id {value} counts from the end of the vocabulary, as in PyTorch: it is token {token}.")
        yield Problem.of(message, "pad_token_id", pad, value=f"{pad}", token=vocabulary + pad)


# Sizes for which transformers also accepts 0. It also accepts 1 for position_buckets.
_ZEROS = ("num_hidden_layers", "type_vocab_size", "max_position_embeddings", "intermediate_size", "num_labels")
# Fields for which transformers accepts values that bertcalc does not support.
_OTHERWISE = (
    *("num_hidden_groups", "inner_group_num", "summary_proj_to_labels"),
    *("reorder_and_upcast_attn", *FIVE.lacks),
)


def _not_counted(kind: type[Config], problem: Problem) -> Problem:
    """The problem, with a different message if transformers accepts the value, but bertcalc does not support it."""
    field, value = problem.field, problem.value
    of_a_kind = field in _OTHERWISE and type(value) is type(getattr(kind, kind.own_name(field)))
    of_a_kind = of_a_kind and "wanted" in problem.values  # not a problem with a relation between fields
    is_direction = field == "pos_att_type" and value in ([], ["c2p"], ["p2c"], "c2p", "p2c")
    if is_direction or (of_a_kind and (isinstance(value, bool | str) or (isinstance(value, int) and value > 1))):
        message = N_("{field} {value}: transformers accepts this value, but bertcalc needs {wanted}.")
        return problem._replace(message=message)
    if not isinstance(value, int) or not is_int(value):
        return problem
    if field in FIELDS and 0 < FIELDS[field].high < value:
        message = N_("{field} {value}: transformers accepts this value, but bertcalc counts at most {high}.")
        words = {"field": kind.own_name(field), "value": f"{value:,}", "high": f"{FIELDS[field].high:,}"}
        return problem._replace(message=message, values=words)
    if not ((field in _ZEROS and value == 0) or (field == "position_buckets" and value < field_named(field).low)):
        return problem
    message = N_("{field} {value}: transformers accepts this value, but bertcalc needs {low} or more.")
    words = {"field": kind.own_name(field), "value": f"{value:,}", "low": f"{field_named(field).low:,}"}
    return problem._replace(message=message, values=words)


def _is_labels(labels: Any) -> bool:
    return isinstance(labels, dict) and all(re.fullmatch(r"-?[0-9]{1,9}", key) for key in labels)


def _architecture(names: Any, family: Family) -> tuple[str | None, list[Problem]]:
    if not names:
        return None, []
    classes = listed(names)
    if matching := [name for name in classes if CLASSES.get(name) is family]:
        return matching[0], []
    for name in (name.removeprefix("TF").removeprefix("Flax") for name in classes):
        like = counterpart(name, family) if name in CLASSES else ""
        if like and class_of(like).task == class_of(name).task:
            message = N_(
                "architectures {value} was read as {name}, the class of model_type {family} for the same task."
            )
            return like, [named_problem("architectures", names, message, name=like, family=family.name)]
    return None, [named_problem("architectures", names, _NO_CLASS)]
