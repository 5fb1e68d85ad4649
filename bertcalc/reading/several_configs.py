r"""Find the configurations in a text. If they differ, each is counted, because no single count is right.

>>> written = configs_in('Small: {"hidden_size": 8, "num_layers": 1}\nLarge: {"hidden_size": 16, "num_layers": 2}')
>>> [(config.first, config.last) for config in written.configs]
[(1, 1), (2, 2)]
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

from bertcalc.families.config_files.size_names import SIZE_NAMES
from bertcalc.families.hf_json import LARGEST, is_of_another_type
from bertcalc.proofreading.mentions.config_code import ConfigInText, ConfigsInText, configs_in_code
from bertcalc.reading.config_text import config_in, has_sizes
from bertcalc.reading.text_reading import PossibleCount, TextReading, sizes_of
from bertcalc.text import N_, shorten
from bertcalc.text.loose_json import read_loosely
from bertcalc.text.problem import InputError, Problem, wrong

_BRACE = re.compile(r"[{}]")
_CLASS = re.compile(r"[A-Z][A-Za-z0-9]{0,60}Config\s{0,9}$")
_SHARE = 4  # configurations have to be at least a quarter of a text that is about nothing else
_SHORTEST, _MOST_CONFIGS, _MOST_SHOWN = 20, 1000, 12
# Keys in which two files of the same model may differ.
_OF_FILES = ("_name_or_path", "name_or_path", "transformers_version", "torch_dtype", "dtype", "finetuning_task")


def configs_in(text: str) -> ConfigsInText:
    """Return the different configurations in a text: those that code builds, or else all objects with sizes.

    The result has no configurations if the text has only one object, even with text before or after it.
    """
    code = configs_in_code(text)
    if code.configs:
        return code._replace(configs=_distinct(code.configs))
    objects = tuple(_objects(text))
    return code._replace(configs=_distinct(objects) if len(objects) > 1 else ())


def nested_in(text: str) -> ConfigsInText:
    """Return the configurations inside an object without sizes of its own, such as encoder or text_config.

    >>> nested = nested_in('{"model": {"hidden_size": 8, "num_hidden_layers": 1}, "training": {"epochs": 3}}')
    >>> [config.part for config in nested.configs]
    ['model']
    """
    content: Any = None
    with suppress(InputError):
        content = read_loosely(text, LARGEST)
    if not isinstance(content, dict) or len(SIZE_NAMES & content.keys()) >= _FEWEST_SIZES:
        return ConfigsInText()
    configs = tuple(ConfigInText(json.dumps(part), 1, 1, part=path) for path, part in _parts(content, ""))
    classes = content.get("architectures")
    whole = content.get("model_type") or (classes[0] if isinstance(classes, list) and classes else "")
    return ConfigsInText(configs, whole=f"{whole}")


def _parts(content: Mapping[str, Any], path: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for key, value in content.items():
        if not isinstance(value, dict) or path.count(".") >= _DEEPEST:
            continue
        if "model_type" in value or len(SIZE_NAMES & value.keys()) >= _FEWEST_SIZES:
            yield f"{path}{key}", value
        else:
            yield from _parts(value, f"{path}{key}.")


_FEWEST_SIZES, _DEEPEST = 2, 3


def first_config(written: ConfigsInText, text: str) -> ConfigInText:
    """Return the first configuration of a text, or else the whole text, which may be a single object."""
    return written.configs[0] if written.configs else ConfigInText(config_in(text), 1, 1)


def _distinct(configs: Iterable[ConfigInText]) -> tuple[ConfigInText, ...]:
    first: dict[tuple[object, ...], ConfigInText] = {}
    for config in configs:
        first.setdefault(_contents(config), config)
    return tuple(first.values())


def are_several(text: str) -> bool:
    """Whether a text consists mostly of several different configurations.

    >>> are_several('[{"hidden_size": 8, "num_layers": 1}, {"hidden_size": 9, "num_layers": 1}]')
    True
    """
    if len(text) > LARGEST or text.count("{") < 2:
        return False
    objects = list(_objects(text))
    written = sum(len(config.text) for config in objects)
    return _SHARE * written >= len(text) and len(_distinct(objects)) > 1


def _objects(text: str) -> Iterator[ConfigInText]:
    """Yield the outermost objects with a size."""
    depth, opened, count = 0, -1, 0
    for brace in _BRACE.finditer(text):
        if brace[0] == "{":
            opened = opened if depth else brace.start()
            depth += 1
        elif depth:
            depth -= 1
            if not depth and count < _MOST_CONFIGS and (config := _config(text, opened, brace.end())):
                count += 1
                yield config


def _config(text: str, start: int, end: int) -> ConfigInText | None:
    if end - start < _SHORTEST or not has_sizes(text[start:end], 1):
        return None
    if named := _CLASS.search(text, max(0, start - 80), start):
        start = named.start()
    first = text.count("\n", 0, start) + 1
    return ConfigInText(text[start:end], first, first + text.count("\n", start, end))


def _contents(config: ConfigInText) -> tuple[object, ...]:
    """Return what makes a configuration different from others; the same for two files of one model."""
    with suppress(InputError):
        content = read_loosely(config.text, LARGEST)
        if isinstance(content, dict):
            kept = {key: value for key, value in content.items() if key not in _OF_FILES}
            return json.dumps(kept, sort_keys=True), config.add_pooling_layer, config.tokens
    return "".join(config.text.split()), config.add_pooling_layer, config.tokens


def read_several(written: ConfigsInText, read_one: Callable[[ConfigInText], TextReading]) -> TextReading:
    """Read every configuration with ``read_one``, and return their counts as possible counts.

    If all are the same model, return its reading. Otherwise, ``detail`` has the configurations. Parts of a whole model
    have counts of their own, but the whole model has none.
    """
    readings: list[TextReading] = []
    possible: list[PossibleCount] = []
    notes: list[Problem] = []
    for number, config in enumerate(written.configs[:_MOST_SHOWN], 1):
        place = _place(number, config)
        try:
            if written.whole and '"model_type"' not in config.text:
                raise wrong(_NO_TYPE)
            reading = read_one(config)
        except InputError as error:
            reason = Problem.of(_OTHER_TYPE) if config.part and is_of_another_type(error.problems) else error.problem
            notes.append(Problem.of(_NOT_COUNTED, place=place, reason=reason))
            continue
        readings.append(reading)
        if reading.num_parameters is not None:
            possible.append(PossibleCount(reading.num_parameters, Problem.of(_IF, place=place, model=_model(reading))))
    models = {(str(reading.model), reading.num_parameters) for reading in readings}
    if len(readings) == len(written.configs) and len(models) == 1 and not written.configs[0].part:
        return readings[0]
    sentence = Problem.of(_SEVERAL, count=len(written.configs))
    if written.configs[0].part:
        names = ", ".join(shorten(config.part) for config in written.configs[:_MOST_SHOWN])
        sentence = Problem.of(_WHOLE if written.whole else _NESTED, whole=shorten(written.whole), parts=names)
    notes += of_code(written.unfollowed)
    return TextReading("config", sentence, possible_counts=tuple(possible), notes=tuple(notes), detail=written)


_SEVERAL = N_("Read as: {count} different configurations. Paste one of them.")
_NESTED = N_("Read as: a file that contains the configurations {parts}. Paste one of them.")
_WHOLE = N_(
    "Read as: a config.json of {whole}, which contains the configurations {parts}. bertcalc does not count the whole "
    "model: paste one of its configurations, or use the Any model page."
)
_NO_TYPE = N_("it has no model_type.")
_OTHER_TYPE = N_("bertcalc has no formula for its model_type.")
_NOT_COUNTED = N_("{place} is not counted: {reason}")
_IF = N_("if {place} is meant: {model}")
_INSIDE = N_("The configuration is inside {part}; the rest of the file is ignored.")


def read_parts(text: str, read_one: Callable[[ConfigInText], TextReading]) -> TextReading | None:
    """Read the configurations inside an object without sizes of its own; None if no part can be counted."""
    nested = nested_in(text)
    if len(nested.configs) == 1 and not nested.whole:
        [config] = nested.configs
        only = read_one(config)
        return replace(only, notes=(*only.notes, Problem.of(_INSIDE, part=shorten(config.part))))
    reading = read_several(nested, read_one) if nested.configs else None
    return reading if reading and reading.possible_counts else None


def _place(number: int, config: ConfigInText) -> str | Problem:
    if config.part:
        return shorten(config.part)
    return Problem.of(N_("configuration {number} ({lines})"), number=number, lines=_lines(config))


def _lines(config: ConfigInText) -> Problem:
    if config.first == config.last:
        return Problem.of(N_("line {line}"), line=config.first)
    return Problem.of(N_("lines {first} to {last}"), first=config.first, last=config.last)


def _model(reading: TextReading) -> str | Problem:
    """Describe the model of a configuration: its class and its sizes."""
    if reading.model is None:
        return str(reading.sentence.values.get("architecture", ""))
    return Problem.of(
        N_("{architecture} with {sizes}"), architecture=reading.model.architecture, sizes=sizes_of(reading.model)
    )


def of_code(lines: tuple[int, ...]) -> tuple[Problem, ...]:
    """Return a note on the lines of code that were not followed; empty if there are none."""
    if not lines:
        return ()
    message = N_("Lines of code that were not followed: {lines}. If they change the model, its count differs.")
    return (Problem.of(message, lines=", ".join(map(str, lines[:_MOST_SHOWN]))),)
