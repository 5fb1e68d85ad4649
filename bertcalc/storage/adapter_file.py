"""The size of adapter_model.safetensors, as peft 0.21 writes it: the trained tensors without the base model.

>>> from bertcalc import Lora, load
>>> bert = load("bert-base-uncased", "BertForSequenceClassification")
>>> adapter_file_bytes(bert.adapted(Lora(r=8, target_modules=["query", "value"], task_type="SEQ_CLS")))
1192672
"""

import re

from bertcalc.changes.adapter import ADAPTER_NAME, COPY, PeftChange
from bertcalc.changes.lora import Lora
from bertcalc.changes.prompts import PrefixTuning, Prompts
from bertcalc.changes.targets import EMBEDDING_LAYERS
from bertcalc.model.model import Model
from bertcalc.model.modules import Embedding, Linear
from bertcalc.storage.safetensors_file import safetensors_bytes
from bertcalc.storage.stored_tensors import CODES, Dtype, StateEntry, StoredTensor, dtype_of, state_dict
from bertcalc.text.arguments import checked
from bertcalc.text.bounded_matching import matches

_ENCODER = "prompt_encoder."


@checked
def adapter_file_bytes(model: Model, dtype: Dtype = "float32") -> int:
    """The size of adapter_model.safetensors in bytes; 0 if the model has no peft adapter.

    ``dtype`` is the dtype of the model; tensors that an adapter adds are float32. The size applies to a model loaded
    from its own folder: if the vocabulary was resized after loading, peft also saves the embeddings.
    """
    adapter = next((change for change in model.changes if isinstance(change, PeftChange)), None)
    return safetensors_bytes(_tensors(model, adapter, CODES[dtype])) if adapter else 0


def without_adapter(model: Model) -> Model:
    """The model as transformers' save_pretrained writes it: peft writes the adapter to a separate file."""
    kept = tuple(change for change in model.changes if not isinstance(change, PeftChange))
    return model.changed(changes=kept) if model.changes != kept else model


def _tensors(model: Model, adapter: PeftChange, dtype: str) -> list[StoredTensor]:
    """The tensors of get_peft_model_state_dict (peft/utils/save_and_load.py)."""
    start = "base_model." if isinstance(adapter, Prompts) else "base_model.model."
    saves_tables = _targets_embeddings(model, adapter)
    tensors: dict[str, StoredTensor] = {}
    for entry in state_dict(model):
        name = entry.name
        # A trained copy has the name of its original.
        names = [name.replace(COPY, "")] if ADAPTER_NAME in name and not name.startswith(_ENCODER) else []
        if _is_trained_bias(adapter, name) or (saves_tables and _is_table(entry)):
            names.append(name)
        for saved in names:
            full = start + _without_adapter(saved)
            tensors[full] = StoredTensor(full, dtype_of(name, dtype), entry.shape)
    if isinstance(adapter, Prompts):
        tensors["prompt_embeddings"] = StoredTensor("prompt_embeddings", "F32", _vectors(model, adapter))
    return list(tensors.values())


def _is_trained_bias(adapter: PeftChange, name: str) -> bool:
    """Whether peft saves a tensor as a trained bias; with "all", this includes the biases of frozen originals."""
    ends = {"all": (".bias",), "lora_only": (".base_layer.bias",)}
    return isinstance(adapter, Lora) and name.endswith(ends.get(adapter.bias, ()))


def _targets_embeddings(model: Model, adapter: PeftChange) -> bool:
    """Whether the adapter targets embeddings; peft then saves them (save_embedding_layers "auto")."""
    targets = adapter.target_modules
    if not isinstance(targets, str):
        return any(name in EMBEDDING_LAYERS for name in targets or ())
    paths = (path for path, _module, _copies in model.modules(folded=False))
    return any(matches(targets, path) for path in paths if path.rpartition(".")[2] in EMBEDDING_LAYERS)


def _is_table(entry: StateEntry) -> bool:
    """Whether a tensor belongs to the input or output embeddings below an adapter."""
    below = entry.path.endswith(".base_layer") and isinstance(entry.module, Embedding | Linear)
    return below and entry.module.place.role in ("word", "decoder")


def _without_adapter(name: str) -> str:
    """Remove the adapter's name from the end of a module's or tensor's name."""
    magnitude = name.removesuffix(".weight")  # the file has DoRA's magnitude under its earlier name, without .weight
    if magnitude.endswith(f"lora_magnitude_vector{ADAPTER_NAME}"):
        name = magnitude
    return re.sub(rf"\{ADAPTER_NAME}(?=(\.[^.]*)?$)", "", name)


def _vectors(model: Model, prompts: Prompts) -> tuple[int, int]:
    """The shape of the virtual tokens that peft saves: the output vectors of their encoder, not its weights."""
    table = model.get_submodule(f"{_ENCODER}default.embedding").parameters["weight"]
    rows, width = table
    if isinstance(prompts, PrefixTuning) and prompts.prefix_projection:
        width = model.get_submodule(f"{_ENCODER}default.transform.2").parameters["bias"][0]
    return rows, width
