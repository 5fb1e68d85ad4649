"""Quantized models compared with publicly measured files, PyTorch's own quantization and documented layouts."""

import warnings
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers.quantizers.base import get_keys_to_not_convert
from transformers.quantizers.quantizers_utils import should_convert_module

import bertcalc
from bertcalc.config import columns
from bertcalc.storage.gguf_format import block_type_of
from bertcalc.storage.kept_layers import converted, linear_layers, not_converted
from bertcalc.storage.quantization_format import QuantizationFormat
from bertcalc.storage.quantized_model import QuantizedModel
from bertcalc.text.digits import size as in_megabytes
from tests.examples import sampled
from tests.oracle import Case
from tests.storage.small_models import CLASSES, small

BERT = bertcalc.load("bert-base-uncased", "BertForSequenceClassification")
ALBERT = bertcalc.load("albert-base-v2", "AlbertForSequenceClassification")
MASKED_LM = bertcalc.load("bert-base-uncased", "BertForMaskedLM")
DYNAMIC = bertcalc.TorchQuantizeDynamic()
OLD_ONNX = bertcalc.OnnxQuantizeDynamic(exporter="torchscript-1")
INT8 = BERT.quantized(bertcalc.BitsAndBytesConfig(load_in_8bit=True))
NF4: dict[str, Any] = {"load_in_4bit": True, "bnb_4bit_quant_type": "nf4"}


@pytest.mark.parametrize(
    ("size", "mebibytes"),
    [
        (BERT.quantized(DYNAMIC).file_bytes, 173.0),
        (BERT.quantized(OLD_ONNX).file_bytes, 104.8),
        (BERT.file_bytes("bin"), 417.6),
        (BERT.file_bytes("onnx", exporter="torchscript-1"), 417.6),
        (ALBERT.file_bytes("bin"), 44.58906650543213),
        (ALBERT.quantized(DYNAMIC).file_bytes, 22.373255729675293),
        (ALBERT.file_bytes("onnx", exporter="torchscript-1"), 341.64233207702637),
        (ALBERT.quantized(OLD_ONNX).file_bytes, 85.53886985778809),
    ],
)
def test_files_that_were_measured_in_public(size: int, mebibytes: float) -> None:
    """The sizes are from https://github.com/microsoft/onnxruntime/issues/10340; the unit MB there is 2^20 bytes."""
    assert size / 2**20 == pytest.approx(mebibytes, rel=0.002)


@pytest.mark.parametrize("architecture", sampled([name for _family, name in CLASSES], 5, 1))
def test_pytorch_writes_dynamic_int8(architecture: str, tmp_path: Path) -> None:
    model = small(architecture)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        warnings.simplefilter("ignore", UserWarning)  # about TypedStorage
        real = torch.ao.quantization.quantize_dynamic(Case.of(model).real("cpu").eval(), {torch.nn.Linear})
        torch.save(real.state_dict(), tmp_path / "pytorch_model.bin")
    assert model.quantized(DYNAMIC).file_bytes == (tmp_path / "pytorch_model.bin").stat().st_size


@pytest.mark.parametrize("architecture", sampled([name for _family, name in CLASSES], 3))
def test_transformers_leaves_the_same_layers(architecture: str) -> None:
    """This holds for tied and for untied decoders."""
    model = small(architecture)
    for tied in (True, False) if model.config.has("tie_word_embeddings") else (True,):
        changed = model if tied else model.replace(tie_word_embeddings=False)
        real = Case.of(changed).real()
        kinds = {"Linear", "Conv1D"}
        patterns = get_keys_to_not_convert(real)
        theirs = [
            name
            for name, module in real.named_modules()
            if type(module).__name__ in kinds and should_convert_module(name, patterns)
        ]
        ours = converted(linear_layers(changed, conv1d=True), not_converted(changed))
        assert [path for path, _module in ours] == theirs


def test_effective_bits() -> None:
    """A float32 scale for 64 weights is half a bit. A byte for 64 and a float32 for 16,384 weights are 0.127 bits."""
    plain = MASKED_LM.quantized(bertcalc.BitsAndBytesConfig(**NF4))
    double = MASKED_LM.quantized(bertcalc.BitsAndBytesConfig(**NF4, bnb_4bit_use_double_quant=True))
    assert plain.bits_per_weight == pytest.approx(4.5, abs=0.001)
    assert double.bits_per_weight == pytest.approx(4.127, abs=0.01)
    pure = [bertcalc.Gguf(name, pure=True) for name in ("Q4_0", "Q8_0", "Q4_K_M")]
    assert [MASKED_LM.quantized(form).bits_per_weight for form in pure] == [4.5, 8.5, 4.5]
    q6 = block_type_of("Q6_K")
    assert 8 * q6.bytes / q6.block == 6.5625


def test_documented_layouts() -> None:
    """The expected sizes are computed by hand, for a matrix of 768 rows and 3,072 columns in groups of 128."""
    scales, zeros = 2 * 24 * 768, 24 * 768 // 2
    for form, more in ((bertcalc.AwqConfig(), 0), (bertcalc.GPTQConfig(), 4 * 3072)):
        pieces = [piece for piece in form.pieces(BERT, "F16") if piece.source.endswith(".0.output.dense.weight")]
        assert sum(piece.tensor.num_bytes() for piece in pieces) == 768 * 3072 // 2 + scales + zeros + more
        assert "Computed from the documentation" in form.caveat
        assert all("layer" in piece.source for piece in form.pieces(BERT, "F16") if piece.kind != "unchanged")
    three = bertcalc.GPTQConfig(bits=3, group_size=-1)  # one group per column
    pieces = [piece for piece in three.pieces(BERT, "F16") if piece.source.endswith(".0.output.dense.weight")]
    by_hand = 768 * 3072 * 3 // 8 + 768 * 3 // 8 + 2 * 768 + 4 * 3072
    assert sum(piece.tensor.num_bytes() for piece in pieces) == by_hand
    int4 = bertcalc.Int4WeightOnlyConfig()
    pieces = [piece for piece in int4.pieces(BERT, "BF16") if piece.source.endswith(".0.output.dense.weight")]
    assert sum(piece.tensor.num_bytes() for piece in pieces) == 768 * 3072 // 2 + 2 * scales


FORMATS: list[QuantizationFormat] = [
    DYNAMIC,
    OLD_ONNX,
    bertcalc.OnnxQuantizeDynamic(),
    bertcalc.BitsAndBytesConfig(load_in_8bit=True),
    bertcalc.BitsAndBytesConfig(**NF4),
    bertcalc.Int8WeightOnlyConfig(),
    bertcalc.IntxWeightOnlyConfig("int4", bertcalc.PerGroup(32)),
    bertcalc.Gguf("Q4_0", pure=True),
    bertcalc.GPTQConfig(group_size=32),
    bertcalc.AwqConfig(group_size=32),
    bertcalc.Int4WeightOnlyConfig(group_size=32),
]


@pytest.mark.parametrize("form", FORMATS, ids=lambda form: form.title)
@pytest.mark.parametrize("architecture", ["BertForMaskedLM", "AlbertForMaskedLM", "GPT2LMHeadModel"])
def test_the_parts_add_up(form: QuantizationFormat, architecture: str) -> None:
    model = small(architecture)
    quantized = model.quantized(form)
    assert sum(quantized.bytes_by_kind.values()) == quantized.memory_bytes
    assert quantized.quantized_weights + quantized.kept_parameters >= model.num_parameters() - 64 * 64 - 64
    assert quantized.file_bytes > sum(piece.tensor.num_bytes() for piece in quantized.pieces if piece.in_file)
    assert {piece.source.split("*")[0].rstrip(".") for piece in quantized.pieces} != {""}


BY_NAME = [form for form in FORMATS if form.file_format != "onnx"]  # a graph has no modules


@pytest.mark.parametrize("form", BY_NAME, ids=lambda form: form.title)
def test_a_part_of_a_model_is_quantized_as_in_the_model(form: QuantizationFormat) -> None:
    model = small("BertForMaskedLM")
    path = "bert.encoder.layer.0.intermediate.dense"
    whole = of_weight(model.quantized(form), f"{path}.weight")
    assert whole
    assert whole == of_weight(bertcalc.quantized(model.get_submodule(path), form), "weight")


def of_weight(quantized: QuantizedModel, name: str) -> list[tuple[Any, ...]]:
    pieces = [piece for piece in quantized.pieces if piece.source == name]
    return [(piece.tensor.dtype, piece.tensor.shape, piece.kind) for piece in pieces]


@pytest.mark.parametrize("form", FORMATS, ids=lambda form: form.title)
def test_there_must_be_weights_to_quantize(form: QuantizationFormat) -> None:
    for path in ("bert.embeddings.dropout", "bert.embeddings.LayerNorm"):
        with pytest.raises(bertcalc.InputError, match="quantizes no weight of"):
            bertcalc.quantized(BERT.get_submodule(path), form)


def test_why_it_is_not_smaller() -> None:
    why = MASKED_LM.quantized(bertcalc.BitsAndBytesConfig(load_in_8bit=True)).why_not_smaller()
    assert str(why) == (
        "181.8 MB (173.4 MiB) is smaller than 438.1 MB (417.8 MiB) in float32 by a factor of 2.41, not 4: 85,524,480 "
        "weights take 8.03 bits each instead of 8, including 334.8 kB (327.0 KiB) for scales, zero points and tables, "
        "and 23,989,818 parameters (21.9 %) are not quantized, the largest in bert.embeddings.word_embeddings.weight."
    )
    exact = str(BERT.quantized(bertcalc.OnnxQuantizeDynamic()).why_not_smaller())
    assert "is smaller than 437.9 MB (417.6 MiB) in float32 by a factor of 3.99, nearly 4" in exact
    assert "109,361,664 weights take 8 bits each, including" in exact
    unpacked = BERT.quantized(bertcalc.IntxWeightOnlyConfig("int4", bertcalc.PerGroup(32)))
    assert "stored in a whole byte, so this saves nothing compared with int8" in str(unpacked.why_not_smaller())
    larger = str(ALBERT.quantized(bertcalc.OnnxQuantizeDynamic()).why_not_smaller())
    assert "times as large as 46.7 MB (44.6 MiB) in float32, not smaller by a factor of 4" in larger
    # A GGUF file has neither a pooler nor a language model's head.
    bare = in_megabytes(4 * Case(MASKED_LM.config, "BertModel", False).real().num_parameters())
    for model in (MASKED_LM, bertcalc.load("bert-base-uncased")):
        assert f"smaller than {bare} in float32" in str(model.quantized(bertcalc.Gguf("Q8_0")).why_not_smaller())
    # The matrices of a layer are written twelve times.
    assert f"{11 * (4 * 768 * 768 + 2 * 768 * 3072):,} parameters are stored more than once" in larger


@pytest.mark.parametrize(
    ("ask", "words"),
    [
        (lambda: bertcalc.BitsAndBytesConfig(), "exactly one of load_in_8bit"),
        (lambda: bertcalc.BitsAndBytesConfig(load_in_4bit=True, bnb_4bit_quant_type="int4"), "bnb_4bit_quant_type"),  # type: ignore[arg-type]
        (lambda: bertcalc.PerGroup("x"), "group_size"),  # type: ignore[arg-type]
        (lambda: bertcalc.Gguf(typ="Q4_0"), r"Gguf\(\) has no argument typ: did you mean type\?"),  # type: ignore[call-arg]
        (lambda: bertcalc.Gguf("Q9_0"), "type"),  # type: ignore[arg-type]
        (lambda: bertcalc.IntxWeightOnlyConfig("int9"), "weight_dtype"),  # type: ignore[arg-type]
        (lambda: BERT.quantized(bertcalc.IntxWeightOnlyConfig("int4", bertcalc.PerGroup(100))).pieces, "100"),
        (lambda: bertcalc.AwqConfig(bits=8), "it must be 4"),  # type: ignore[arg-type]
        (lambda: bertcalc.GPTQConfig(bits=5), "bits"),  # type: ignore[arg-type]
        (lambda: bertcalc.GPTQConfig(group_size=0), "group_size"),
        (lambda: BERT.quantized(bertcalc.AwqConfig(group_size=100)).pieces, "must be divisible by the group size 100"),
        (lambda: ALBERT.quantized(bertcalc.Gguf("Q4_K_M")).pieces, "does not convert AlbertForSequenceClassification"),
        (lambda: MASKED_LM.adapted(bertcalc.FactorizeEmbeddings(64)).quantized(bertcalc.Gguf()), "word_embeddings.0"),
        (lambda: small("BertModel").replace(hidden_size=48).quantized(bertcalc.Gguf("Q4_K_M")), "48 weights"),
        (lambda: BERT.quantized(DYNAMIC, "bfloat16"), "not in bfloat16"),
        (lambda: BERT.adapted(bertcalc.Lora()).quantized(DYNAMIC), "quantize the model before you add the adapter"),
        (lambda: BERT.quantized(DYNAMIC).adapted(bertcalc.Lora()), "do not propagate gradients"),
        (lambda: INT8.adapted(bertcalc.BitFit()), "BitFit trains classifier, which is quantized"),
        (lambda: INT8.adapted(bertcalc.DropLayers([1])), "Drop layers must come before bitsandbytes"),
        (lambda: INT8.adapted("lora"), "adapter must be"),  # type: ignore[arg-type]
        (lambda: bertcalc.quantized(BERT.get_submodule("bert"), DYNAMIC).adapted(bertcalc.Lora()), "a whole model"),
        (lambda: BERT.quantized("int8"), "a format, such as"),  # type: ignore[arg-type]
        (lambda: BERT.file_bytes("pt"), "format"),  # type: ignore[arg-type]
        (
            lambda: bertcalc.build(columns(bertcalc.BertConfig(), vocab_size=[64, 128])).file_bytes(),
            "not a model of columns",
        ),
        (
            lambda: small("GteModel").quantized(bertcalc.BitsAndBytesConfig(load_in_8bit=True)).file_bytes,
            "cannot save",
        ),
    ],
)
def test_what_is_not_possible_is_refused(ask: Any, words: str) -> None:
    with pytest.raises(bertcalc.InputError, match=words):
        ask()


def test_gguf_takes_the_names_that_llama_quantize_has_for_its_mixes() -> None:
    """QUANT_OPTIONS in llama.cpp's tools/quantize/quantize.cpp lists them, such as "alias for Q4_K_M"."""
    for bits in (3, 4, 5):
        assert bertcalc.Gguf(f"Q{bits}_K") == bertcalc.Gguf(f"Q{bits}_K_M")  # type: ignore[arg-type]  # an alias
