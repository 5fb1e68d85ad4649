"""The size of adapter_model.safetensors, as peft 0.21 writes it: what is trained, without the model.

>>> from bertcalc import Lora, load
>>> bert = load("bert-base-uncased", "BertForSequenceClassification")
>>> adapter_file_bytes(bert.adapted(Lora(r=8, target_modules=["query", "value"], task_type="SEQ_CLS")))
1192672
"""

import re

from bertcalc.changes.adapter import PeftChange
from bertcalc.changes.prompts import PrefixTuning, Prompts
from bertcalc.model.model import Model
from bertcalc.storage.safetensors_file import safetensors_bytes
from bertcalc.storage.stored_tensors import StoredTensor
from bertcalc.text.arguments import checked

_OF_ADAPTER = re.compile(r"\.default(?=\.|$)")
_ENCODER = "prompt_encoder."


@checked
def adapter_file_bytes(model: Model) -> int:
    """The size of the file in bytes; the adapter is in float32. 0 if the model has no adapter of peft."""
    if not any(isinstance(change, PeftChange) for change in model.changes):
        return 0
    return safetensors_bytes(_tensors(model))


def _tensors(model: Model) -> list[StoredTensor]:
    prompts = next((change for change in model.changes if isinstance(change, Prompts)), None)
    start = "base_model." if prompts else "base_model.model."
    trained = [
        StoredTensor(start + _saved_name(tensor.name), "F32", tensor.shape)
        for tensor in model.tensors(folded=False)
        if not tensor.frozen and not tensor.name.startswith(_ENCODER)
    ]
    if any(getattr(change, "bias", "none") == "all" for change in model.changes):
        trained += _second_biases(model)
    if prompts:
        trained.append(StoredTensor("prompt_embeddings", "F32", _vectors(model, prompts)))
    return trained


def _second_biases(model: Model) -> list[StoredTensor]:
    """The biases in modules_to_save, which peft saves a second time, and those of the originals."""
    return [
        StoredTensor(f"base_model.model.{tensor.name}", "F32", tensor.shape)
        for tensor in model.tensors(folded=False)
        if re.search(r"\.(original_module|modules_to_save)\..*bias$", tensor.name)
    ]


def _saved_name(name: str) -> str:
    magnitude = name.removesuffix(".weight")  # DoRA's was once a parameter, and keeps its name
    if magnitude.endswith("lora_magnitude_vector.default"):
        name = magnitude
    return _OF_ADAPTER.sub("", name.replace(".modules_to_save.default", ""))


def _vectors(model: Model, prompts: Prompts) -> tuple[int, int]:
    """The shape of what peft saves of an encoder: the vectors that it gives, not its network."""
    table = model.get_submodule(f"{_ENCODER}default.embedding").parameters["weight"]
    rows, width = table
    if isinstance(prompts, PrefixTuning) and prompts.prefix_projection:
        width = model.get_submodule(f"{_ENCODER}default.transform.2").parameters["bias"][0]
    return rows, width
