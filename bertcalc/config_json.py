"""A config.json, as Hugging Face writes it, read with care: it is somebody else's text.

>>> read('{"model_type": "bert", "vocab_size": 21128, "architectures": ["BertForMaskedLM"]}').config.vocab_size
21128
>>> read('{"hidden_size": 770}')
Traceback (most recent call last):
    ...
bertcalc.config_json.JsonError: hidden_size 770 is not a multiple of num_attention_heads 12: 768 or 780 would be.
"""

import json
import re
from dataclasses import fields
from typing import Any, NamedTuple, NoReturn

from bertcalc.config import Config, Problem, problems
from bertcalc.families import ARCHITECTURES, FAMILIES
from bertcalc.families.family import Family
from bertcalc.text import N_, shorten

LARGEST = 1_000_000  # characters; a real one has less than 2,000, with a thousand labels 60,000
_FIELDS = tuple(field.name for field in fields(Config))
# What is read but is no field of the configuration. label2id says nothing that id2label does not.
_OTHERS = ("model_type", "architectures", "id2label", "label2id")
# What every real one says.
_SIZES = ("vocab_size", "hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size")
_NAMED = 8  # so many unused keys are named


class JsonError(ValueError):
    """A text that is no configuration of BERT: all that is wrong with it."""

    def __init__(self, *problems: Problem) -> None:
        super().__init__(" ".join(map(str, problems)))
        self.problems = problems


class Reading(NamedTuple):
    """The model that a config.json describes, and what of it was not used."""

    config: Config
    architecture: str | None
    remarks: list[Problem]


def read(text: str) -> Reading:
    """The configuration in a config.json; fields that are not there have Hugging Face's defaults.

    Raises JsonError.
    """
    given = _parse(text)
    names = given.get("architectures")
    classes = _listed(names)
    if "model_type" in given:
        family = _family(given["model_type"])
    else:
        family = next((ARCHITECTURES[name] for name in classes if name in ARCHITECTURES), next(iter(FAMILIES.values())))
        if classes and not any(name.startswith(family.base.name.removesuffix("Model")) for name in classes):
            message = N_("architectures {value}: a different kind of model; only {known} are counted here.")
            raise JsonError(_problem("architectures", names, message, known=_known()))
    kind = family.config
    values = {field: given.get(field, getattr(kind, field)) for field in _FIELDS}
    labels = given.get("id2label")
    named = len(labels) if isinstance(labels, dict) else kind.default().num_labels
    if given.get("num_labels") is None:  # where both are there, transformers takes num_labels
        values["num_labels"] = named
    found = list(problems(kind, values))
    if labels is not None and not _is_labels(labels):
        message = N_("id2label {value} is not possible: it must have a name for each number.")
        found.append(_problem("id2label", labels, message))
    if found:
        raise JsonError(*found)
    architecture, remarks = _architecture(names, family)
    if missing := [field for field in _SIZES if field not in given]:
        message = N_("Missing, so set to Hugging Face's defaults: {fields}.")
        shown = {"fields": ", ".join(f"{field} = {values[field]:,}" for field in missing)}
        remarks.append(Problem(missing[0], None, message, shown))
    if unused := [key for key in given if key not in (*_FIELDS, *_OTHERS)]:
        keys = ", ".join(map(shorten, unused[:_NAMED])) + (" ..." if unused[_NAMED:] else "")
        remarks.append(
            Problem(unused[0], None, N_("Ignored, because they do not affect any count: {keys}."), {"keys": keys})
        )
    if labels is not None and values["num_labels"] != named:
        message = N_("num_labels {count} takes precedence, although id2label has {named}, as in transformers.")
        shown = {"count": f"{values['num_labels']:,}", "named": f"{named:,}"}
        remarks.append(Problem("num_labels", values["num_labels"], message, shown))
    return Reading(kind(**values), architecture, remarks)


def _is_labels(labels: Any) -> bool:
    return isinstance(labels, dict) and all(re.fullmatch(r"-?[0-9]{1,9}", key) for key in labels)


def _family(model_type: Any) -> Family:
    if isinstance(model_type, str) and model_type in FAMILIES:
        return FAMILIES[model_type]
    message = N_("model_type {value} is a different kind of model: only {known} are counted here.")
    raise JsonError(_problem("model_type", model_type, message, known=_known()))


def _known() -> str:
    return ", ".join(FAMILIES)


def _architecture(names: Any, family: Family) -> tuple[str | None, list[Problem]]:
    if not names:
        return None, []
    known = [name for name in _listed(names) if ARCHITECTURES.get(name) is family]
    if known:
        return known[0], []
    return None, [_problem("architectures", names, N_("architectures {value}: not one of the classes counted here."))]


def _listed(names: Any) -> list[str]:
    return [name for name in (names if isinstance(names, list) else [names]) if isinstance(name, str)]


def _parse(text: str) -> dict[str, Any]:
    """The object that is written there, of which every key is there once."""
    if len(text) > LARGEST:
        message = N_("This text has {length} characters: a config.json has at most {most} here.")
        raise JsonError(Problem("", None, message, {"length": f"{len(text):,}", "most": f"{LARGEST:,}"}))
    try:
        # A byte order mark is no part of the text.
        given = json.loads(text.lstrip("\ufeff"), object_pairs_hook=_each_once, parse_constant=_no_number)
    except JsonError:
        raise
    except json.JSONDecodeError as error:
        message = N_("This is not JSON: line {line}, column {column}: {why}.")
        values = {"line": f"{error.lineno:,}", "column": f"{error.colno:,}", "why": error.msg}
        raise JsonError(Problem("", None, message, values)) from None
    except RecursionError:
        raise JsonError(Problem("", None, N_("This is nested too deeply for a config.json."), {})) from None
    except ValueError:  # Python reads no whole number of thousands of digits
        raise JsonError(Problem("", None, N_("A number in this text has too many digits."), {})) from None
    if not isinstance(given, dict):
        raise JsonError(
            Problem("", None, N_("A config.json is a JSON object: {braces} with fields inside."), {"braces": "{ }"})
        )
    return given


# What Python's parser says (json/decoder.py and scanner.py of CPython 3.11 to 3.14): ``_parse`` passes it on.
PARSER_SAYS = (
    N_("Expecting value"),
    N_("Expecting property name enclosed in double quotes"),
    N_("Expecting ':' delimiter"),
    N_("Expecting ',' delimiter"),
    N_("Illegal trailing comma before end of object"),
    N_("Illegal trailing comma before end of array"),
    N_("Unterminated string starting at"),
    N_("Invalid control character at"),
    N_("Invalid \\escape"),
    N_("Invalid \\uXXXX escape"),
    N_("Extra data"),
)


def _each_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise JsonError(Problem(key, value, N_("{key} appears twice: it must appear once."), {"key": shorten(key)}))
        found[key] = value
    return found


def _no_number(text: str) -> NoReturn:
    raise JsonError(Problem("", text, N_("{value} is not a number in JSON."), {"value": text}))


def _problem(field: str, value: object, message: str, **more: str) -> Problem:
    return Problem(field, value, message, {"value": _shown(value), **more})


def _shown(value: object) -> str:
    try:
        return shorten(repr(value))
    except (ValueError, RecursionError):
        return N_("too long to show")
