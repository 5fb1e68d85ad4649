"""Read any text as ``bertcalc.reading`` does, and count a config.json of another type with its class's formulas.

>>> read_any('{"model_type": "llama", "architectures": ["LlamaForCausalLM"], "hidden_size": 2048}').num_parameters
2832336896
"""

from dataclasses import replace

from bertcalc.discover.results import expressions
from bertcalc.discover.results.config_input import read_config
from bertcalc.discover.results.from_config import CountedConfig, classes_with_formulas, counted_config
from bertcalc.discover.results.types import types
from bertcalc.families.config_files.key_remarks import DEFAULTS
from bertcalc.families.hf_json import is_of_another_type
from bertcalc.model.model import Model
from bertcalc.model.modules import Tensor
from bertcalc.proofreading.mentions.config_code import ConfigInText, ConfigsInText
from bertcalc.reading.json_files import read_one
from bertcalc.reading.printed_model import UNKNOWN_CLASS
from bertcalc.reading.read_text import read
from bertcalc.reading.several_configs import configs_in, first_config, of_code, read_parts, read_several
from bertcalc.reading.text_reading import Kind, TextReading
from bertcalc.text import N_
from bertcalc.text.problem import InputError, Problem


def read_any(text: str, kind: Kind | None = None, model: Model | None = None) -> TextReading:
    """Read a text. For a config.json of another type, ``detail`` is a CountedConfig with its formula and sizes.

    The arguments are the same as for ``reading.read_text.read``. Raises InputError; if a file of another type cannot be
    counted, the error also gives the reason.
    """
    try:
        reading = read(text, kind, model)
    except InputError as error:
        if not is_of_another_type(error.problems):
            raise
        written = configs_in(text)
        config = first_config(written, text)
        try:
            counted = _counted(config.text, error)
        except InputError:
            if parts := read_parts(text, _read_one):
                return parts
            raise
        return replace(counted, notes=(*counted.notes, *of_code((*written.unfollowed, *config.changed))))
    if isinstance(reading.detail, ConfigsInText):
        return read_several(reading.detail, _read_one)
    return _with_class(reading)


def _read_one(config: ConfigInText) -> TextReading:
    try:
        return read_one(config)
    except InputError as error:
        if not is_of_another_type(error.problems):
            raise
        counted = _counted(config.text, error)
        return replace(counted, notes=(*counted.notes, *of_code(config.changed)))


def _with_class(reading: TextReading) -> TextReading:
    """Add advice to paste the config.json if the text is a printed model of a class that can be counted from it."""
    name = reading.modules.class_name if reading.modules is not None else ""
    if UNKNOWN_CLASS not in reading.notes or name not in classes_with_formulas():
        return reading
    advice = Problem.of(
        N_("bertcalc counts {name} exactly from its config.json: paste the config.json instead."), name=name
    )
    return replace(reading, notes=tuple(advice if note == UNKNOWN_CLASS else note for note in reading.notes))


def _counted(text: str, refused: InputError) -> TextReading:
    try:
        file = read_config(text)
        counted = counted_config(file.model_type, file.cls, file.fields)
    except InputError as error:
        raise InputError(*refused.problems, *error.problems) from None
    sentence = Problem.of(N_("Read as: a config.json of {architecture}."), architecture=counted.discovery.cls)
    notes = (formula_of(counted), *remarks_on(counted), *file.remarks)
    if file.cls is None:
        names_one = any(remark.field == "architectures" for remark in file.remarks)
        notes = (*notes, _of_missing_class(file.model_type, counted.discovery.cls, names_one))
    tensors = tuple(Tensor(*tensor) for tensor in counted.tensors())
    return TextReading(
        "config", sentence, tensors=tensors, num_parameters=counted.parameters, notes=notes, detail=counted
    )


def _of_missing_class(model_type: str, cls: str, names_one: bool) -> Problem:
    """Return a remark on the class that is counted if the file names none, or one without a formula."""
    if names_one:
        return Problem.of(_OTHER_CLASS, architecture=cls)
    base = next((name for name in types().get(model_type, ()) if name.endswith("Model")), "")
    if base and base != cls:
        return Problem.of(_NO_CLASS_BUT_BASE, architecture=cls, base=base)
    return Problem.of(_NO_CLASS, architecture=cls)


_NO_CLASS = N_(
    "The file names no class, so {architecture} is counted. Classes with a different head, or with none, "
    "have different counts."
)
_NO_CLASS_BUT_BASE = N_(
    "The file names no class. {architecture} is counted, because bertcalc has its formula but none for {base}, the "
    "model without a head, which has a different count."
)
_OTHER_CLASS = N_("{architecture} is counted instead. Classes with a different head, or with none, differ.")


def formula_of(counted: CountedConfig) -> Problem:
    """Return a sentence with the formula and the values of its letters."""
    letters = expressions.letters(counted.discovery)
    values = ", ".join(f"{letters[field]} = {size:,}" for field, size in counted.sizes().items())
    message = N_("The formula: {formula}, with {values}.")
    return Problem.of(message, formula=expressions.text(counted.discovery.total, letters), values=values)


def remarks_on(counted: CountedConfig) -> tuple[Problem, ...]:
    """Return remarks on where the formula comes from, and on sizes that the file does not have."""
    message = N_(
        "{architecture} is not in one of bertcalc's built-in families: its formula was derived from the real class "
        "of transformers {version}."
    )
    discovery = counted.discovery
    origin = Problem.of(message, architecture=discovery.cls, version=discovery.transformers)
    assumed = ", ".join(f"{field} = {size:,}" for field, size in counted.defaults().items())
    return (origin, Problem.of(DEFAULTS, fields=assumed)) if assumed else (origin,)
