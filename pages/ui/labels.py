"""What controls and their options are called on a page; the link knows both by their names."""

from collections.abc import Mapping
from typing import Any

from bertcalc.memory.devices import DEVICES
from bertcalc.text import N_
from pages.ui.i18n import translator

# By the names in the link. Hugging Face's fields and arguments keep Hugging Face's names.
LABELS: Mapping[str, str] = {
    # what goes through the model
    "batch_size": N_("Batch size"),
    "sequence_length": N_("Sequence length"),
    "encoder_sequence_length": N_("Encoder sequence length"),
    "num_choices": N_("Choices"),
    "label": N_("Label"),
    "layer": N_("Layer"),
    # what is frozen
    "freeze_layers": N_("Frozen layers"),
    "train": N_("What is trained"),
    "freeze_embeddings": N_("Freeze the embeddings"),
    # compute
    "unit": N_("Unit"),
    "operations": N_("Operations"),
    "logits": N_("Logits"),
    "training": N_("Training step"),
    "budget": N_("Budget in"),
    "steps": N_("Steps"),
    "tokens": N_("Tokens"),
    "device": N_("Device"),
    "format": N_("Precision"),
    "devices": N_("Devices"),
    "utilisation": N_("Utilisation"),
    "price": N_("Price"),
    # memory
    "training_dtype": N_("Training precision"),
    "optimizer": N_("Optimizer"),
    "attention": N_("Attention"),
    "recompute": N_("Recompute"),
    "dtype": N_("Data type"),
    "task": N_("Task"),
    "device_memory": N_("Device"),
    "device_gib": N_("Memory in GiB"),
    "kept_free": N_("Kept free, GiB"),
    "fused_dropout": N_("One-byte dropout masks"),
    # sweep and comparison
    "measure": N_("Quantity"),
    "compare_by": N_("Compare by"),
    "x": N_("x axis"),
    "y": N_("y axis"),
    "x_from": N_("x from"),
    "x_to": N_("x to"),
    "y_from": N_("y from"),
    "y_to": N_("y to"),
    # design
    "budget_of": N_("Budget for"),
    "target_parameters": N_("Budget"),
    "target_FLOPs": N_("Budget"),
    "target_memory": N_("Budget"),
    "head_size": N_("Head size"),
    "intermediate_ratio": N_("Feed-forward ratio"),
    "multiple_of": N_("Multiple of"),
    "layers_from": N_("Min. layers"),
    "layers_to": N_("Max. layers"),
    "hidden_to": N_("Max. hidden size"),
    "pad_vocab": N_("Pad vocabulary"),
    # exercises
    "seed": N_("Sheet number"),
    "level": N_("Level"),
}

_QUANTITIES = {
    "parameters": N_("Parameters"),
    "embeddings": N_("Embeddings"),
    "encoder": N_("Encoder"),
    "pooler": N_("Pooler"),
    "head": N_("Head"),
    "forward": N_("Forward FLOPs"),
    "training": N_("Training FLOPs"),
    "weights": N_("Weights"),
    "activations": N_("Activations"),
    "training_memory": N_("Training memory"),
    "inference_memory": N_("Inference memory"),
}
_SIZES = {field: LABELS[field] for field in ("batch_size", "sequence_length")}
# By the name of the control and what the link says; what is not here is shown as it is in the link.
OPTIONS: Mapping[str, Mapping[str, str]] = {
    "open": {"model": N_("the whole model")},
    "view": {"tree": N_("Tree"), "parts": N_("Module types"), "notebook": N_("Tensors"), "freezing": N_("Freezing")},
    "beside": {"none": N_("Nothing")},
    "train": {"all": N_("Everything"), "head": N_("Head only"), "bias+LayerNorm": N_("Biases and LayerNorms")},
    "use_cache": {"none": N_("As configured")},
    "compute": {
        "forward": N_("Forward pass"),
        "length": N_("Sequence length"),
        "conventions": N_("Conventions"),
        "time": N_("Training time"),
    },
    "operations": {"matmul": N_("Matrix products"), "all": N_("All")},
    "logits": {"all": N_("All"), "masked": N_("Masked")},
    "training": {"3x": "3 ×", "4x": "4 ×"},
    "budget": {"steps": N_("Steps"), "tokens": N_("Tokens")},
    "device": {
        "RTX-4090": "RTX 4090",
        "TPU-v2": "TPU v2",
        "TPU-v3": "TPU v3",
        "TPU-v4": "TPU v4",
    },
    "format": {"16bit": N_("16-bit"), "tf32": "TF32", "fp32": "FP32"},
    "memory": {
        "weights": N_("Weights"),
        "training": N_("Training"),
        "activations": N_("Activations"),
        "inference": N_("Inference"),
        "fit": N_("What fits"),
    },
    "training_dtype": {
        "fp32": "FP32",
        "mixed-18": N_("FP16 · 18 B/param"),
        "mixed-16": N_("FP16 · 16 B/param"),
    },
    "optimizer": {
        "sgd": "SGD",
        "momentum": N_("Momentum"),
        "adamw": "Adam(W)",
        "adamw-8bit": N_("8-bit Adam"),
        "adafactor": "Adafactor",
    },
    "attention": {"eager": N_("Eager"), "fused": N_("Fused")},
    "recompute": {"none": N_("None"), "selective": N_("Selective"), "full": N_("Full")},
    "task": {"training": N_("Training"), "inference": N_("Inference")},
    "device_memory": {name: name.replace("-", " ").replace("GB", " GB") for name in DEVICES} | {"GiB": N_("Other")},
    "measure": _QUANTITIES,
    "compare_by": _QUANTITIES,
    "compare": {
        "differences": N_("Differences"),
        "table": N_("Table"),
        "bars": N_("Bars"),
        "scatter": N_("Scatter plot"),
    },
    "sweep": {"one": N_("One size"), "map": N_("Map of two")},
    "x": _SIZES,
    "y": _SIZES,
    "budget_of": {"parameters": N_("Parameters"), "FLOPs": "FLOPs", "memory": N_("Memory")},
    "intermediate_ratio": {"any": N_("Any")},
    "bring": {"config": "config.json", "hub": "Hugging Face Hub", "file": N_("Weights file")},
    "explain": {"total": N_("One number"), "terms": N_("Term by term")},
    "level": {"easy": N_("Easy"), "medium": N_("Medium"), "hard": N_("Hard")},
}


def label_of(name: str) -> str:
    """The label of a control, in the language of the session; what is Hugging Face's has its name."""
    _ = translator()
    return _(LABELS[name]) if name in LABELS else name


def option_of(name: str, value: Any) -> Any:
    """What an option of a control is called, in the language of the session."""
    _ = translator()
    word = OPTIONS.get(name, {}).get(value) if isinstance(value, str) else None
    return _(word) if word else value
