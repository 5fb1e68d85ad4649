"""Read and write Hugging Face's config.json; the text that is read is untrusted.

>>> from bertcalc import BertConfig
>>> read('{"model_type": "bert", "vocab_size": 21128, "architectures": ["BertForMaskedLM"]}').config.vocab_size
21128
>>> read(write(Model(BertConfig(vocab_size=21128), "BertForMaskedLM"))).architecture
'BertForMaskedLM'
>>> read('{"hidden_size": 770}')
Traceback (most recent call last):
    ...
bertcalc.text.problem.InputError: hidden_size 770 is not a multiple of num_attention_heads 12: 768 or 780 would be.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from bertcalc.config import Config, near_field, problems
from bertcalc.config.fields import OWN_DIMENSIONS, field_named, is_int
from bertcalc.families import CLASSES, FAMILIES, class_of, counterpart
from bertcalc.families.uncounted_keys import OF_MEMORY, is_neutral
from bertcalc.model.family import Family
from bertcalc.model.model import Model
from bertcalc.text import N_, shorten
from bertcalc.text.arguments import checked, quoted
from bertcalc.text.problem import InputError, Problem, wrong
from bertcalc.text.strict_json import decode, read_json
from bertcalc.transformers4.version import FIVE, version_of

LARGEST = 1_000_000  # characters; real files have less than 2,000, with a thousand labels 60,000
PASTED = LARGEST + 100_000  # characters that an input field accepts, so that a longer text gets an error message
# Known keys that are not fields of the configuration. label2id adds nothing to id2label.
_OTHERS = ("model_type", "architectures", "id2label", "label2id")
# Sizes that every real file has.
_SIZES = (
    *("vocab_size", "hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size"),
    *("max_position_embeddings", "type_vocab_size"),
)
_CHUNK = "chunk_size_feed_forward"
_NAMED = 8  # the most unused keys to list


class Described(NamedTuple):
    """The model that a config.json describes, and remarks on ignored, replaced or missing keys."""

    config: Config
    architecture: str | None
    remarks: list[Problem]

    @property
    def doubts(self) -> list[Problem]:
        """The remarks on what may change the model: not those on defaults, and on keys that change no count."""
        return [remark for remark in self.remarks if remark.message not in (_DEFAULTS, _NEUTRAL)]


_DEFAULTS = N_("Missing, so set to Hugging Face's defaults: {fields}.")
_NEUTRAL = N_("Ignored keys, which do not affect any count: {keys}.")


@checked
def write(model: Model) -> str:
    """Write a config.json that transformers loads as this model.

    Whether the body has a pooler is lost, as a config.json cannot express it.
    """
    config = model.config
    fields = version_of(config).fields(config)
    content = {"architectures": [model.architecture], "model_type": model.family.name, **fields}
    return json.dumps(content, indent=2, sort_keys=True) + "\n"


@checked
def text_of(data: bytes, size: int = 0) -> str:
    """Decode a config.json file; ``size`` is the size of the whole file if ``data`` is only its beginning.

    Raises InputError if the file is too long or not UTF-8.
    """
    size = max(size, len(data))
    if size > LARGEST:
        message = N_("This file has at least {length} bytes: a config.json can have at most {most}.")
        raise wrong(message, length=size, most=LARGEST)
    return decode(data)


def text_of_file(path: Path) -> str:
    """The text of a config.json on this machine. Raises InputError if it cannot be read, is too long or not UTF-8."""
    try:
        with path.open("rb") as file:
            data = file.read(LARGEST + 1)
    except (OSError, ValueError) as error:  # ValueError: a name with a null character
        reason = getattr(error, "strerror", None) or str(error)
        raise wrong("{path} cannot be read: {reason}.", path=shorten(str(path)), reason=reason) from None
    return text_of(data)


@checked
def read_object(text: str) -> dict[str, Any]:
    """Parse the JSON object in a config.json of any model. Raises InputError."""
    if len(text) <= LARGEST and not text.lstrip("\ufeff \t\r\n").startswith("{"):
        raise wrong(N_("A config.json is a JSON object: {braces} with fields inside."), braces="{ }")
    content: dict[str, Any] = read_json(text, LARGEST)
    return content


def is_of_another_type(problems: Iterable[Problem]) -> bool:
    """Whether a config.json was refused because its model type or class has no family here."""
    return any(problem.field in ("model_type", "architectures") for problem in problems)


@checked
def read(text: str) -> Described:
    """Read the model from the text of a config.json; missing fields get Hugging Face's defaults.

    Raises InputError.
    """
    content = read_object(text)
    names = content.get("architectures")
    classes = _listed(names)
    if "model_type" in content:
        family = _family(content["model_type"])
    else:
        candidates = [
            candidate for candidate in FAMILIES.values() if any(name.startswith(candidate.kind) for name in classes)
        ]
        if classes and not candidates:
            message = N_("architectures {value} is a different kind of model: only {known} are counted here.")
            raise InputError(_problem("architectures", names, message, known=_family_names()))
        family = candidates[0] if candidates else next(iter(FAMILIES.values()))
    kind = family.config
    defaults = {**vars(kind.default())}
    read_fields = {*defaults, *map(kind.shared_name, defaults), *FIVE.lacks} - {*kind.only_here}
    if content and not content.keys() & {*read_fields, *_OTHERS}:
        message = N_("This is not a model's config.json: it has {keys}, but neither model_type nor a size.")
        raise wrong(message, keys=_named(content))
    # Both names are accepted, as in transformers; the shared name takes precedence.
    defaults |= kind.if_missing(content)
    under = {key: value for key, value in content.items() if key not in kind.only_here}
    values = {name: under.get(kind.shared_name(name), under.get(name, default)) for name, default in defaults.items()}
    values |= kind.converted(content)
    labels = content.get("id2label")
    named = len(labels) if isinstance(labels, dict) else kind.default().num_labels
    if "num_labels" not in content:  # if both are given, transformers uses num_labels
        values["num_labels"] = named
    kept = list(_without_count(kind, values))
    refusals = [*(_not_counted(kind, problem) for problem in problems(kind, values)), *kind.refused(content)]
    if labels is not None and not _is_labels(labels):
        message = N_("id2label {value} is not possible: it must map numbers to names.")
        refusals.append(_problem("id2label", labels, message))
    if refusals:
        raise InputError(*refusals)
    config = kind(**values)
    architecture, remarks = _architecture(names, family)
    if architecture and (problem := class_of(architecture).unbuilt(config)):
        raise InputError(problem)
    remarks += kept
    chunk: Any = content.get(_CHUNK)
    if is_int(chunk) and chunk > 0 and kind.chunks:
        message = N_("{field} {value}: the real forward pass fails for sequences whose length is not a multiple of it.")
        remarks.append(Problem.of(message, _CHUNK, chunk, field=_CHUNK, value=chunk))
        content = {key: value for key, value in content.items() if key != _CHUNK}
    wanted = {kind.own_name(field): field for field in (*_SIZES, *OWN_DIMENSIONS) if kind.has(field)}
    wanted = {name: field for name, field in wanted.items() if name not in kind.undeclared}
    if missing := [name for name, field in wanted.items() if not under.keys() & {name, field}]:
        assumed = ", ".join(f"{field} = {getattr(config, field):,}" for field in missing)
        remarks.append(Problem.of(_DEFAULTS, missing[0], fields=assumed))
    unread = {
        key: value
        for key, value in content.items()
        if key not in (*read_fields, *_OTHERS) and not kind.converted({key: value})
    }
    remarks += _unread(kind, unread, content)
    if labels is not None and values["num_labels"] != named:
        message = N_("num_labels {count} takes precedence over id2label, which has {named}, as in transformers.")
        count = values["num_labels"]
        remarks.append(Problem.of(message, "num_labels", count, count=count, named=named))
    return Described(config, architecture, remarks)


def _unread(kind: type[Config], keys: Mapping[str, Any], content: Mapping[str, Any]) -> Iterator[Problem]:
    """Remarks on the keys that are not read: misspelled, unknown, known to affect only memory, or nothing.

    The remedy for a key that is probably misspelled is the field that is meant.
    """
    neutral = [
        key
        for key, value in keys.items()
        if is_neutral(key, value) or (key == _CHUNK and not kind.chunks) or _is_checked(kind, key)
    ]
    of_memory = [key for key in keys if key in OF_MEMORY and key not in neutral]
    unknown = [key for key in keys if key not in (*neutral, *of_memory)]
    meant = {key: near for key in unknown[:_NAMED] if (near := near_field(kind, key))}
    meant = {key: near for key, near in meant.items() if not content.keys() & {near, kind.own_name(near)} - {key}}
    for key, near in meant.items():
        message = N_("{key} is unknown: did you mean {field}?")
        yield Problem.of(message, key, keys[key], {near: keys[key]}, key=shorten(key), field=kind.own_name(near))
    if unknown := [key for key in unknown if key not in meant]:
        message = N_("Unknown keys, which are ignored: {keys}. If they change the model, its count differs.")
        yield Problem.of(message, unknown[0], keys=_named(unknown))
    if of_memory:
        message = N_("Ignored keys: {keys}. They do not affect parameters or FLOPs, but may affect memory.")
        yield Problem.of(message, of_memory[0], keys=_named(of_memory))
    if neutral:
        yield Problem.of(_NEUTRAL, neutral[0], keys=_named(neutral))


def _is_checked(kind: type[Config], key: str) -> bool:
    """Whether the family refuses a key with any other value than the one that it counts with."""
    return any(problem.field == key for problem in kind.refused({key: "another"}))


def _named(keys: Iterable[str]) -> str:
    short = [shorten(key) for key in keys]
    return ", ".join(short[:_NAMED]) + (" ..." if short[_NAMED:] else "")


# Values that transformers accepts but our configurations refuse, for fields that do not affect any count.
_LOADS: Mapping[str, Callable[[Any], bool]] = {
    "bos_token_id": is_int,
    "eos_token_id": lambda value: is_int(value) or (isinstance(value, list) and all(map(is_int, value))),
    "initializer_range": lambda value: isinstance(value, float) and value >= 0,
    "layer_norm_eps": lambda value: isinstance(value, float),
    "pretraining_tp": is_int,
    **{field: lambda value: value is None for field in FIVE.lacks},
}


def _without_count(kind: type[Config], values: dict[str, Any]) -> Iterator[Problem]:
    """Replace the values of _LOADS in ``values`` by valid ones, and yield a remark on each."""
    message = N_("{field} {value} is replaced by {default}, which does not affect any count.")
    for field, loads in _LOADS.items():
        name = kind.own_name(field)
        if name in values and not field_named(field).is_right(values[name]) and loads(values[name]):
            original, values[name] = values[name], getattr(kind, name)
            yield Problem.of(message, name, original, field=name, value=quoted(original), default=f"{values[name]}")
    pad: Any = values.get("pad_token_id")
    vocabulary = values[kind.own_name("vocab_size")]
    counted_from_the_end = is_int(pad) and is_int(vocabulary) and -vocabulary <= pad < 0
    if counted_from_the_end and kind.longest is Config.longest:  # in other families positions start after the padding
        values["pad_token_id"] = vocabulary + pad
        message = N_("pad_token_id {value} counts from the end of the vocabulary, as in PyTorch: it is token {token}.")
        yield Problem.of(message, "pad_token_id", pad, value=f"{pad}", token=vocabulary + pad)


# Sizes for which transformers also accepts 0. It also builds a model with 1 for position_buckets.
_ZEROS = ("num_hidden_layers", "type_vocab_size", "max_position_embeddings", "intermediate_size", "num_labels")
# Fields for which transformers accepts values that are not supported here.
_OTHERWISE = (
    *("num_hidden_groups", "inner_group_num", "summary_proj_to_labels"),
    *("reorder_and_upcast_attn", *FIVE.lacks),
)


def _not_counted(kind: type[Config], problem: Problem) -> Problem:
    """The problem, with a different message if transformers supports this value and only bertcalc does not."""
    field, value = problem.field, problem.value
    of_a_kind = field in _OTHERWISE and type(value) is type(getattr(kind, kind.own_name(field)))
    of_a_kind = of_a_kind and "wanted" in problem.values  # a problem of one field, not of a family's relations
    if of_a_kind and (isinstance(value, bool | str) or (isinstance(value, int) and value > 1)):
        message = N_("{field} {value}: transformers accepts this value, but bertcalc needs {wanted}.")
        return problem._replace(message=message)
    if not isinstance(value, int) or not is_int(value):
        return problem
    if not ((field in _ZEROS and value == 0) or (field == "position_buckets" and value < field_named(field).low)):
        return problem
    message = N_("{field} {value}: transformers accepts this value, but bertcalc needs {low} or more.")
    words = {"field": kind.own_name(field), "value": f"{value:,}", "low": f"{field_named(field).low:,}"}
    return problem._replace(message=message, values=words)


def _is_labels(labels: Any) -> bool:
    return isinstance(labels, dict) and all(re.fullmatch(r"-?[0-9]{1,9}", key) for key in labels)


def _family(model_type: Any) -> Family:
    if isinstance(model_type, str) and model_type in FAMILIES:
        return FAMILIES[model_type]
    for family in FAMILIES.values():
        if model_type in family.remote:
            message = N_(
                "model_type {value} needs a program from its own repository, which is not run here. transformers "
                "has the same model as {name}: with model_type {name}, this file can be read."
            )
            raise InputError(_problem("model_type", model_type, message, name=family.name))
    message = N_("model_type {value} is a different kind of model: only {known} are counted here.")
    raise InputError(_problem("model_type", model_type, message, known=_family_names()))


def _family_names() -> str:
    return ", ".join(FAMILIES)


def _architecture(names: Any, family: Family) -> tuple[str | None, list[Problem]]:
    if not names:
        return None, []
    listed = _listed(names)
    if matching := [name for name in listed if CLASSES.get(name) is family]:
        return matching[0], []
    for name in (name.removeprefix("TF").removeprefix("Flax") for name in listed):
        like = counterpart(name, family) if name in CLASSES else ""
        if like and class_of(like).task == class_of(name).task:
            message = N_(
                "architectures {value} was read as {name}, the class of model_type {family} for the same task."
            )
            return like, [_problem("architectures", names, message, name=like, family=family.name)]
    return None, [_problem("architectures", names, N_("architectures {value} is not one of the classes counted here."))]


def _listed(names: Any) -> list[str]:
    return [name for name in (names if isinstance(names, list) else [names]) if isinstance(name, str)]


def _problem(field: str, value: object, message: str, **words: str) -> Problem:
    return Problem.of(message, field, value, value=quoted(value), **words)
