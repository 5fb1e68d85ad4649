"""Meanings of a number of bytes: the files that libraries write, and weights in memory.

The model may be quantized, resized or have an adapter.

>>> from bertcalc.model.model import build
>>> from bertcalc.text.amounts import typed
>>> meanings = stored_sizes(build("bert-base-uncased"), typed("69,080,320 bytes"), "69,080,320 bytes")
>>> print(next(meanings))
69,080,320 bytes is the size of a file of BertModel: GGUF Q4_0.
"""

from collections.abc import Iterator
from contextlib import suppress
from fractions import Fraction
from functools import lru_cache
from itertools import chain
from typing import NamedTuple, get_args

from bertcalc.change_steps.effects import ChangedModel
from bertcalc.diagnosis.changed_counts import adapter_lines, bases, changed_in_words, resized_lines
from bertcalc.model.model import Model
from bertcalc.storage.adapter_file import adapter_file_bytes
from bertcalc.storage.model_file import SavedFormat, file_bytes, quantized
from bertcalc.storage.onnx_file import Exporter
from bertcalc.storage.quantization_format import QuantizationFormat
from bertcalc.storage.quantized_model import QuantizedModel
from bertcalc.storage.usual_formats import USUAL_FORMATS
from bertcalc.text import N_
from bertcalc.text.amounts import Typed
from bertcalc.text.problem import InputError, Problem

_PRECISE = Fraction(1, 200)  # a less precise number may mean too many files
_MEASURED = Fraction(2, 1000)  # tolerance for ONNX files: the size of their graph is estimated from measurements
_LARGEST_HEADER = 200_000  # maximum number of bytes before the data of a safetensors file
# Minimum bytes per parameter (in a 2-bit file), and maximum (in a file that repeats shared parameters in each layer).
_LEAST, _MOST = Fraction(1, 4), 64
_FORMATS: dict[SavedFormat, str] = {
    "safetensors": N_("model.safetensors, as save_pretrained writes it"),
    "bin": N_("pytorch_model.bin, as torch.save writes the state_dict"),
    "checkpoint": N_("model.safetensors and optimizer.pt, to continue training"),
    "onnx": N_("model.onnx, as torch.onnx.export writes it"),
}
_BOTH = N_("model.safetensors of the base and adapter_model.safetensors")
_AND_ADAPTER = N_("{file}, and adapter_model.safetensors")
_ADAPTER = N_("adapter_model.safetensors, as peft writes it")
_FILE = N_("{number} is the size of a file of {model}: {file}.")
_NEAR_FILE = N_("{number} may be the size of a file of {model}: {file}, {bytes} bytes.")
_MEMORY = N_("{number} is the size of the weights of {model} in memory as {format}.")
_NEAR_MEMORY = N_("{number} may be the size of the weights of {model} in memory as {format}: {bytes} bytes.")


class StoredSize(NamedTuple):
    """The size in bytes of a ``file``. If ``file`` is None, it is the size of a ``quantized`` model in memory.

    ``near`` is the relative uncertainty of the size.
    """

    bytes: int
    model: Model
    file: Problem | None
    quantized: QuantizedModel | None = None
    near: Fraction = Fraction(0)
    is_pickle: bool = False  # the size of a pickle depends slightly on the release of PyTorch

    def is_meant(self, number: Typed) -> bool:
        """Whether a number means this size, within the size's uncertainty."""
        near = self.near if number.low == number.high or not self.is_pickle else max(self.near, _MEASURED)
        return number.low * (1 - near) <= self.bytes <= number.high * (1 + near)

    def in_words(self, written: str, number: Typed) -> Problem:
        """Return a sentence about the file or the quantized model of this size. ``written`` is the typed number."""
        exactly = number.low == number.high == self.bytes
        values = {"number": written, "model": changed_in_words(self.model), "bytes": self.bytes}
        if self.file:
            return Problem.of(_FILE if exactly else _NEAR_FILE, file=self.file, **values)
        assert self.quantized
        return Problem.of(_MEMORY if exactly else _NEAR_MEMORY, format=self.quantized.format.title, **values)


def stored_sizes(model: Model, number: Typed, written: str, *, others: bool = True) -> Iterator[Problem]:
    """Yield sentences that explain a number as the size of a model's files, or of its weights in memory.

    With ``others``, other classes of the family are tried if the model has no such size. ``written`` is the typed
    number. If a quantized model has this size, the last sentence explains why it is not smaller. Only an exact number
    is compared with changed models and other classes, because many files have nearly the same size.
    """
    if number.high - number.low > _PRECISE * number.value:
        return
    candidates = (model, *bases(model, others=others and number.low == number.high))
    meant = next(filter(None, (_meant(candidate, number) for candidate in dict.fromkeys(candidates))), [])
    yield from (size.in_words(written, number) for size in meant)
    if whole := next((size.quantized for size in meant if size.quantized), None):
        yield whole.why_not_smaller()


def _meant(model: Model, number: Typed) -> list[StoredSize]:
    """Return the sizes that equal a number. If there are none and its unit is bytes, return nearly equal file sizes."""
    near = [size for size in _sizes_near(model, number) if size.is_meant(number)]
    files = [size for size in near if size.file and number.unit == "bytes"]
    return [size for size in near if size.bytes == number.value] or files


def _sizes_near(model: Model, number: Typed) -> Iterator[StoredSize]:
    parameters, exactly = model.num_parameters(), number.low == number.high
    if any(not change.resizes for change in model.changes):
        yield from _of_adapted(model)
        return
    if _LEAST * parameters <= number.value <= _MOST * parameters:
        yield from _of_whole(model)
    for changed in _near(model, int(number.value)) if exactly else ():
        yield _of_file(changed) if changed.changes[-1].resizes else _of_adapter(changed)


def _near(model: Model, size: int) -> Iterator[Model]:
    """Yield the changed models with files of nearly this size in float32. An adapter file has only trained tensors."""
    trained = (line for line in adapter_lines(model) if line.amount == "trained")
    for line in (*resized_lines(model), *trained):
        yield from map(line.changed, line.numbers((size - _LARGEST_HEADER) // 4, size // 4))


def _of_adapter(model: Model) -> StoredSize:
    return StoredSize(adapter_file_bytes(model), model, Problem.of(_ADAPTER))


def _of_adapted(model: Model) -> Iterator[StoredSize]:
    """Yield the sizes of the adapter's own file, if peft saves one, and of the files that include the adapter."""
    if file_bytes(model, "adapter"):
        yield _of_adapter(model)
        yield StoredSize(file_bytes(model), model, Problem.of(_BOTH))
    yield StoredSize(file_bytes(model, "checkpoint"), model, Problem.of(_FORMATS["checkpoint"]), is_pickle=True)


def _of_file(model: Model) -> StoredSize:
    return StoredSize(file_bytes(model), model, Problem.of(_FORMATS["safetensors"]))


@lru_cache(maxsize=8)  # entries take up several megabytes
def _of_whole(model: Model) -> tuple[StoredSize, ...]:
    """Return the sizes of a model's files, and of the quantized model on disk and in memory."""
    return tuple(chain(_of_files(model), *(_of_quantized(model, format) for format in USUAL_FORMATS.values())))


def _of_files(model: Model) -> Iterator[StoredSize]:
    yield _of_file(model)
    for form in ("bin", "checkpoint"):
        yield StoredSize(file_bytes(model, form), model, Problem.of(_FORMATS[form]), is_pickle=True)
    half = Problem.of(N_("{file}, in {dtype}"), file=Problem.of(_FORMATS["bin"]), dtype=Problem.of(N_("16 bits")))
    yield StoredSize(file_bytes(model, "bin", "float16"), model, half)
    for exporter in get_args(Exporter):
        file = Problem.of(N_("{file}, with {exporter}"), file=Problem.of(_FORMATS["onnx"]), exporter=exporter)
        try:
            yield StoredSize(file_bytes(model, "onnx", exporter=exporter), model, file, near=_MEASURED)
        except InputError:  # the model cannot run
            return


def _of_quantized(model: Model, format: QuantizationFormat) -> Iterator[StoredSize]:
    try:
        yield from _of_changed(ChangedModel(model, quantized(model, format)))
    except InputError:  # the library does not quantize or save the model, or it cannot run
        return


def _of_changed(changed: ChangedModel) -> Iterator[StoredSize]:
    """Yield the sizes of a quantized model, with any adapter, on disk and in memory.

    Raises InputError if the library cannot save the model.
    """
    stored = changed.base
    assert stored
    margin = Fraction(stored.format.file_margin(stored.model), changed.file_bytes)
    near = _MEASURED if stored.file_format == "onnx" else margin
    file = Problem.of("{file}", file=stored.format.title)
    if changed.file_bytes > stored.file_bytes:
        file = Problem.of(_AND_ADAPTER, file=file)
    yield StoredSize(changed.file_bytes, changed.model, file, stored, near, stored.file_format == "bin")
    yield StoredSize(changed.memory_bytes, changed.model, None, stored)


def sizes_of_steps(changed: ChangedModel, number: Typed, written: str) -> Iterator[Problem]:
    """Yield sentences that explain a number of bytes as a size of the quantized model, on disk or in memory.

    ``written`` is the typed number. The last sentence explains why the model is not smaller. If the model is not
    quantized or has no such size, nothing is yielded.
    """
    sizes: list[StoredSize] = []
    if changed.base and number.unit in (None, "bytes"):
        with suppress(InputError):  # the library cannot save the model
            sizes += _of_changed(changed)
    meant = [size for size in sizes if size.bytes == number.value or (number.unit and size.is_meant(number))]
    for size in meant:
        yield size.in_words(written, number)
    if meant and changed.base:
        yield changed.base.why_not_smaller()
