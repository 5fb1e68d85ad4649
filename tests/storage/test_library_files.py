"""Sizes of quantized models and ONNX files equal those of the libraries' files: see tests/requirements-judges.txt."""

from collections import Counter
from typing import Any

import pytest

import bertcalc
from bertcalc.storage.gguf_conversion import _rules, architecture_of, converted
from bertcalc.storage.gguf_format import _stored, block_type_of
from bertcalc.storage.onnx_file import Exporter, graph_bytes, initializers
from bertcalc.storage.stored_tensors import Dtype
from tests.examples import crossed, sampled
from tests.storage.ask_libraries import library_files
from tests.storage.small_models import described, small

SEVERAL = [
    "BertForMaskedLM",
    "AlbertForPreTraining",
    "RobertaForSequenceClassification",
    "ElectraForMaskedLM",
    "DebertaV2ForMaskedLM",
    "ModernBertForTokenClassification",
    "GPT2LMHeadModel",
    "NomicBertForSequenceClassification",
]
DTYPES: tuple[Dtype, ...] = ("float32", "bfloat16")


def test_bitsandbytes() -> None:
    configs: list[dict[str, Any]] = [
        {"load_in_8bit": True},
        {"load_in_4bit": True},
        {"load_in_4bit": True, "bnb_4bit_quant_type": "nf4", "bnb_4bit_use_double_quant": True},
    ]
    asked = [
        (name, config, dtype)
        for name, config, dtype in crossed(4, SEVERAL, configs, DTYPES)
        if not (name.startswith("Nomic") and "load_in_8bit" in config)  # transformers cannot save it
    ]
    found = library_files(
        [
            {"writer": "bitsandbytes", **described(small(name)), "options": config, "dtype": dtype}
            for name, config, dtype in asked
        ]
    )
    for (name, config, dtype), real in zip(asked, found, strict=True):
        quantized = small(name).quantized(bertcalc.BitsAndBytesConfig(**config), dtype)
        assert quantized.memory_bytes == real["memory"], (name, config)
        # Only the mean of the scales depends on the weights; it is written as decimal digits.
        most = quantized.format.file_margin(quantized.model)
        assert bool(most) == ("bnb_4bit_use_double_quant" in config)
        assert abs(quantized.file_bytes - real["file"]) <= most, (name, config)


ON_QUANTIZED: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({"load_in_4bit": True}, {"r": 4}),
    ({"load_in_4bit": True, "bnb_4bit_use_double_quant": True}, {"target_modules": "all-linear", "bias": "all"}),
    ({"load_in_8bit": True}, {"task_type": "SEQ_CLS"}),
    ({"load_in_4bit": True}, {"task_type": "SEQ_CLS"}),
    ({"load_in_4bit": True, "llm_int8_skip_modules": ["classifier"]}, {"task_type": "SEQ_CLS"}),
    ({"load_in_8bit": True, "llm_int8_skip_modules": ["classifier"]}, {"task_type": "SEQ_CLS", "r": 3}),
]


def test_lora_on_a_quantized_model() -> None:
    """A quantized classifier passes no gradient: peft fails if it would have to train it."""
    model = small("BertForSequenceClassification")
    asked = [(*case, dtype) for case in ON_QUANTIZED for dtype in DTYPES]
    found = library_files(
        [
            {"writer": "bitsandbytes", **described(model), "options": options, "adapter": adapter, "dtype": dtype}
            for options, adapter, dtype in asked
        ]
    )
    for (options, adapter, dtype), real in zip(asked, found, strict=True):
        base, lora = model.quantized(bertcalc.BitsAndBytesConfig(**options), dtype), bertcalc.Lora(**adapter)
        if "refused" in real:
            assert "can require gradients" in real["refused"]
            with pytest.raises(bertcalc.InputError, match="LoRA trains classifier, which is quantized"):
                base.adapted(lora)
            continue
        adapted = base.adapted(lora)
        assert (adapted.trainable_parameters, adapted.num_parameters()) == (real["trained"], real["all"])
        assert adapted.memory_bytes == real["memory"], (options, adapter, dtype)
        if dtype == "float32":
            assert adapted.file_bytes - base.file_bytes == real["adapter file"], (options, adapter)
    assert sum("refused" in real for real in found) == 4


def test_torchao() -> None:
    configs: list[tuple[Any, dict[str, Any]]] = [
        (bertcalc.Int8WeightOnlyConfig(), {"config": "Int8WeightOnlyConfig"}),
        (
            bertcalc.IntxWeightOnlyConfig("int4", bertcalc.PerGroup(32)),
            {"config": "IntxWeightOnlyConfig", "weight_dtype": "int4", "group_size": 32},
        ),
        (bertcalc.IntxWeightOnlyConfig("int3"), {"config": "IntxWeightOnlyConfig", "weight_dtype": "int3"}),
    ]
    asked = [(name, *config, dtype) for name, config, dtype in crossed(4, SEVERAL, configs, DTYPES)]
    found = library_files(
        [
            {"writer": "torchao", **described(small(name)), "options": options, "dtype": dtype}
            for name, _form, options, dtype in asked
        ]
    )
    for (name, form, _options, dtype), real in zip(asked, found, strict=True):
        quantized = small(name).quantized(form, dtype)
        assert quantized.file_bytes == real["file"], (name, form, dtype)
        assert quantized.memory_bytes == real["memory"], (name, form, dtype)
        assert form.takes_adapters == real["passes gradient"], (name, form, dtype)


RELATIVE: dict[str, Any] = {"relative_attention": True, "position_buckets": 16, "pos_att_type": "p2c|c2p"}
ONNX: list[tuple[bertcalc.Model, Exporter]] = [
    (small("BertForMaskedLM"), "torchscript"),
    (small("AlbertForSequenceClassification"), "torchscript"),
    # Its layers use two matrices twice.
    (small("DebertaV2ForSequenceClassification", **RELATIVE, share_att_key=True), "torchscript"),
    (small("GPT2LMHeadModel"), "torchscript"),
    (small("AlbertForMaskedLM"), "dynamo"),  # shared layers and a tied decoder
    (small("BertForSequenceClassification"), "dynamo"),
]


def test_onnx() -> None:
    """The weights are exact.

    The graph's size is measured; for "dynamo", the graph contains the paths of the packages.
    """
    asked = sampled(ONNX, 2)
    found = library_files(
        [{"writer": "onnx", **described(model), "options": {"exporter": exporter}} for model, exporter in asked]
    )
    for (model, exporter), real in zip(asked, found, strict=True):
        form = bertcalc.OnnxQuantizeDynamic(exporter=exporter)
        plain = [("F32", entry.tensor.shape, entry.copies) for entry in initializers(model, "F32", exporter)]
        assert shapes_of(plain) == counted(real["file_tensors"]), (model.architecture, exporter)
        pieces = [(piece.tensor.dtype, piece.tensor.shape, 1) for piece in model.quantized(form).pieces]
        assert shapes_of(pieces) == counted(real["int8_tensors"]), (model.architecture, exporter)
        near = 0.3 if exporter == "dynamo" else 0.12
        off = model.file_bytes("onnx", exporter=exporter) - real["file"]
        assert abs(off) <= near * graph_bytes(model, exporter), (model.architecture, exporter)
        off = model.quantized(form).file_bytes - real["int8"]
        assert abs(off) <= near * graph_bytes(model, exporter, quantized=True), (model.architecture, exporter)


def shapes_of(tensors: list[tuple[str, tuple[int, ...], int]]) -> Counter[Any]:
    """Count the (type, shape) pairs. Shapes are sorted, since exporters may transpose tensors."""
    shapes: Counter[Any] = Counter()
    for dtype, shape, copies in tensors:
        if sides := tuple(sorted(side for side in shape if side > 1)):
            shapes[dtype, sides] += copies
    return shapes


def counted(tensors: list[Any]) -> Counter[Any]:
    return Counter((dtype, tuple(sides)) for dtype, sides in tensors)


PURE = ("Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0", "Q2_K", "Q3_K_S", "Q4_K_S", "Q5_K_S", "Q6_K", "IQ4_NL", "IQ4_XS")


def test_gguf_of_one_type() -> None:
    models = [small(name).replace(hidden_size=256) for name in ("BertForMaskedLM", "RobertaModel", "AlbertModel")]
    asked = [(model, name) for model in models for name in PURE]
    found = library_files([{"writer": "gguf", "options": tensors_of(*case)} for case in asked])
    for (model, name), real in zip(asked, found, strict=True):
        assert model.quantized(bertcalc.Gguf(name, pure=True)).file_bytes == real["file"], name  # type: ignore[arg-type]


def tensors_of(model: bertcalc.Model, kind: str) -> dict[str, Any]:
    """Return the tensors that llama-quantize would write. A block divides 256, but not the intermediate size of 96."""
    kind = kind.removesuffix("_S")
    fallback = {"Q4_K": "Q5_0", "Q5_K": "Q5_1", "Q6_K": "Q8_0"}.get(kind, "IQ4_NL")
    tensors = []
    for name, sides in model.named_parameters():
        is_kept = len(sides) == 1 or "position_embeddings" in name or "token_type" in name
        rows = kind if sides[-1] % block_type_of(kind).block == 0 else fallback
        tensors.append((name, sides, "F32" if is_kept else rows))
    return {"architecture": model.family.name, "tensors": tensors}


def test_gguf_as_llama_cpp_converts_it() -> None:
    models = [small(name).replace(hidden_size=256, num_labels=3) for name in _rules()["architectures"]]
    forms = (bertcalc.Gguf("Q4_K_M"), bertcalc.Gguf("Q2_K"))
    asked = [(model, form) for model in models for form in forms]
    found = library_files([{"writer": "gguf", "options": converted_tensors(*case)} for case in asked])
    for (model, form), real in zip(asked, found, strict=True):
        assert [tensor.name for tensor in converted(model)] == real["names"]
        assert model.quantized(form).file_bytes == real["file"], (model.architecture, form)


def converted_tensors(model: bertcalc.Model, form: bertcalc.Gguf) -> dict[str, Any]:
    """Return the tensors with the names that conversion/bert.py passes to gguf. Real files determine the types."""
    tensors = []
    for tensor, block_type in _stored(form, model):
        name = model.without_prefix(tensor.source)
        if name.startswith("classifier.") and name.count(".") == 1 and "Roberta" not in model.architecture:
            name = name.replace("classifier", "classifier.out_proj")
        tensors.append((name, tensor.shape, block_type.name))
    layers = model.config.num_hidden_layers
    return {"architecture": architecture_of(model), "layers": layers, "tensors": tensors}
