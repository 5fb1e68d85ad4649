"""Read the sources of ``bertcalc.load``: files, dictionaries and configurations of transformers."""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bertcalc.families import PRESETS, hf_json
from bertcalc.text.arguments import unknown, wrong_kind

_SOURCE = "a preset, the path of a config.json, a dictionary or a configuration"
_LIVE = f"{_SOURCE} (bertcalc.of reads a PyTorch model)"
_NO_MODEL = (
    "There is no preset {name}, and no file of that name: did you mean {nearest}?",
    "There is no preset {name}, and no file of that name. Presets are {options}.",
)


def described(source: Any) -> hf_json.ConfigReading:
    """Read the model that a file, a dictionary or a transformers configuration describes.

    Raises InputError if the source cannot be read, and UnknownNameError if a text is neither a preset nor a file.
    """
    if isinstance(source, str | os.PathLike):
        path = Path(source)
        if isinstance(source, str) and path.suffix != ".json" and not (source and os.path.exists(path)):
            raise unknown(_NO_MODEL, source, PRESETS)
        return hf_json.read(hf_json.text_of_file(path / "config.json" if os.path.isdir(path) else path))
    if isinstance(source, Mapping):
        if not source:
            raise wrong_kind("source", source, "a dictionary with the fields of a config.json, such as its model_type")
        return read_fields(source)
    if hasattr(source, "model_type") and callable(getattr(source, "to_dict", None)) and not isinstance(source, type):
        return read_fields(source.to_dict())
    raise wrong_kind("source", source, _LIVE if hasattr(source, "named_modules") else _SOURCE)


def read_fields(fields: Mapping[Any, Any]) -> hf_json.ConfigReading:
    """Read the model that the fields of a config.json describe. Raises InputError if they are not valid."""
    try:
        text = json.dumps({str(key): value for key, value in fields.items()}, default=str)
    except (RecursionError, ValueError, TypeError):
        raise wrong_kind("source", fields, "a dictionary that can be written as JSON") from None
    return hf_json.read(text)
