r"""Recognize pointer files of Git LFS and git-annex, which hold the address and the size of another file.

>>> pointed_size("version https://git-lfs.github.com/spec/v1\noid sha256:" + 64 * "0" + "\nsize 687\n")
('Git LFS', 687)
"""

import re
from collections.abc import Iterator
from contextlib import suppress
from itertools import islice

from bertcalc.families.presets import PRESETS
from bertcalc.model.model import Model
from bertcalc.reading.text_reading import TextReading
from bertcalc.storage.model_file import file_bytes
from bertcalc.text import N_
from bertcalc.text.problem import InputError, Problem

_LONGEST = 2_000  # maximum number of characters
_OF_LFS = re.compile(
    r"version https?://(?:git-lfs|hawser)\.github\.com/spec/v\d+\n(?:ext-[^\n]{1,300}\n)*"
    r"oid sha256:[0-9a-f]{64}\nsize (?P<size>[0-9]{1,15})"
)
_OF_ANNEX = re.compile(
    r"(?:[./\\]*(?:\.git)?[/\\])?annex[/\\]objects[/\\](?:\S{1,300}[/\\])?[A-Z0-9_]{2,20}(?:-s(?P<size>[0-9]{1,15}))?"
    r"(?:-[mSC][0-9]{1,15})*--\S{1,300}"
)
_WIDTHS = {"float32": 4, "float16": 2, "bfloat16": 2}
_HEADERS = 2**17  # maximum number of bytes in a file besides its tensors
_MOST = 3  # maximum number of models that a sentence names


def pointed_size(text: str) -> tuple[str, int | None] | None:
    """Return the program and the size in bytes of the file that a pointer stands for; None for other texts.

    The size is None if the pointer does not give it.
    """
    if len(text) > _LONGEST:
        return None
    plain = text.strip("\ufeff \t\r\n").replace("\r\n", "\n")
    for program, pattern in (("Git LFS", _OF_LFS), ("git-annex", _OF_ANNEX)):
        if match := pattern.fullmatch(plain):
            return program, int(match["size"]) if match["size"] else None
    return None


def read_pointer(program: str, size: int | None) -> TextReading:
    """Describe a pointer file, and name the models that have files of its size; ``size`` is in bytes, or None."""
    message = N_("Read as: a {program} pointer. It holds the address of a file of {size} bytes, not the file.")
    sentence = Problem.of(message, program=program, size=size)
    if size is None:
        message = N_("Read as: a {program} pointer. It holds the address of a file, not the file.")
        sentence = Problem.of(message, program=program)
    command = {"Git LFS": "git lfs pull", "git-annex": "git annex get ."}[program]
    notes = [Problem.of(N_("To download the file, run {command}."), command=command)]
    notes += [_of_model(*match) for match in islice(_models_with_file(size), _MOST)] if size else []
    return TextReading("other-file", sentence, notes=tuple(notes))


def _of_model(name: str, model: Model, form: str, dtype: str) -> Problem:
    message = N_("The {form} file of {architecture} with the sizes of {name}, in {dtype}, has exactly this size.")
    forms = {"safetensors": "safetensors", "bin": "pytorch_model.bin"}
    return Problem.of(message, form=forms[form], architecture=model.architecture, name=name, dtype=dtype)


def _models_with_file(size: int) -> Iterator[tuple[str, Model, str, str]]:
    """Yield (preset, model, format, dtype) for each file of a published model with this size, once per class."""
    named = set[tuple[str, str]]()
    for name, preset in PRESETS.items():
        for cls in Model(preset.config).family.classes:
            with suppress(InputError):
                model = Model(preset.config, cls.name)
                for form, dtype in _forms(model, size):
                    same = f"{model.num_parameters()} {cls.task}", form
                    if same not in named:
                        named.add(same)
                        yield name, model, form, dtype


def _forms(model: Model, size: int) -> Iterator[tuple[str, str]]:
    for dtype, width in _WIDTHS.items():
        if 0 <= size - width * model.num_parameters() < _HEADERS:
            for form in ("safetensors", "bin"):
                if file_bytes(model, form, dtype) == size:  # type: ignore[arg-type]  # both are literals
                    yield form, dtype
