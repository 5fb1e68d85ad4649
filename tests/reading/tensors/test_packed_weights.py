"""Weights packed in few bits are counted like the real model that was packed; scales are never parameters."""

from collections.abc import Iterator
from typing import Any

import pytest
import torch
import transformers
from safetensors.torch import save
from transformers.integrations.finegrained_fp8 import replace_with_fp8_linear

import bertcalc
from bertcalc.reading.tensors.packed_weights import unpack_weights

LAYERS = ("query", "key", "value", "dense")
SIZES = {"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 96, "vocab_size": 99}
Tensors = dict[str, torch.Tensor]


def _bert() -> Any:
    return transformers.BertModel(transformers.BertConfig(**SIZES))


def _packed_rows(weight: torch.Tensor, bits: int) -> torch.Tensor:
    """Pack a row's elements into integers of 32 bits, as compressed-tensors and MLX do."""
    each = 32 // bits
    values = torch.randint(0, 2**bits, weight.shape, dtype=torch.int64).view(weight.shape[0], -1, each)
    words = (values << (bits * torch.arange(each))).sum(-1)
    return words.to(torch.uint32).view(torch.int32)


def _compressed(path: str, weight: torch.Tensor, bits: int) -> Iterator[tuple[str, torch.Tensor]]:
    yield f"{path}.weight_packed", _packed_rows(weight, bits)
    yield f"{path}.weight_scale", torch.ones(weight.shape[0], weight.shape[1] // 32, dtype=torch.float16)
    yield f"{path}.weight_shape", torch.tensor(weight.shape)


def _of_mlx(path: str, weight: torch.Tensor, bits: int) -> Iterator[tuple[str, torch.Tensor]]:
    yield f"{path}.weight", _packed_rows(weight, bits).view(torch.uint32)
    for name in ("scales", "biases"):
        yield f"{path}.{name}", torch.ones(weight.shape[0], weight.shape[1] // 32, dtype=torch.float16)


def _nvfp4(path: str, weight: torch.Tensor, _bits: int) -> Iterator[tuple[str, torch.Tensor]]:
    yield f"{path}.weight_packed", torch.zeros(weight.shape[0], weight.shape[1] // 2, dtype=torch.uint8)
    yield f"{path}.weight_scale", torch.ones(weight.shape[0], weight.shape[1] // 16).to(torch.float8_e4m3fn)
    yield f"{path}.weight_global_scale", torch.ones(1)
    yield f"{path}.input_global_scale", torch.ones(1)


def _modelopt(path: str, weight: torch.Tensor, _bits: int) -> Iterator[tuple[str, torch.Tensor]]:
    yield f"{path}.weight", torch.zeros(weight.shape[0], weight.shape[1] // 2, dtype=torch.uint8)
    yield f"{path}.weight_scale", torch.ones(weight.shape[0], weight.shape[1] // 16).to(torch.float8_e4m3fn)
    yield f"{path}.weight_scale_2", torch.ones(())
    yield f"{path}.input_scale", torch.ones(())


def _eight_bits(path: str, weight: torch.Tensor, _bits: int) -> Iterator[tuple[str, torch.Tensor]]:
    yield f"{path}.weight", torch.zeros(weight.shape, dtype=torch.int8)
    yield f"{path}.weight_scale", torch.ones(weight.shape[0], 1)


def _stored(model: Any, packing: Any, bits: int) -> Tensors:
    tensors: Tensors = {}
    for name, tensor in model.state_dict().items():
        path, _dot, last = name.rpartition(".")
        is_packed = last == "weight" and path.rpartition(".")[2] in LAYERS and "encoder" in path
        tensors |= dict(packing(path, tensor, bits)) if is_packed else {name: tensor.clone()}
    return tensors


def _texts(tensors: Tensors) -> tuple[str, str]:
    """The header of a file with these tensors, and a listing of them."""
    data = save(tensors)
    header = data[8 : 8 + int.from_bytes(data[:8], "little")].decode()
    return header, "\n".join(f"{name} {tensor.shape}" for name, tensor in tensors.items())


@pytest.mark.parametrize(
    ("packing", "bits"),
    [(_compressed, 4), (_compressed, 8), (_compressed, 2), (_of_mlx, 4), (_of_mlx, 8), (_nvfp4, 4), (_modelopt, 4),
     (_eight_bits, 8)],
)  # fmt: skip
def test_packed_weights_are_counted_as_before_packing(packing: Any, bits: int) -> None:
    model = _bert()
    for text in _texts(_stored(model, packing, bits)):
        reading = bertcalc.read(text)
        assert reading.agrees
        assert reading.num_parameters == model.num_parameters()
        assert "Quantized weights: 12" in str(reading)
        assert "buffers" not in str(reading)


@pytest.mark.parametrize("kind", ["Bert", "Llama"])
def test_scales_of_the_real_fp8_layers_are_not_counted(kind: str) -> None:
    config = getattr(transformers, f"{kind}Config")(**{**SIZES, "hidden_size": 256, "intermediate_size": 512})
    settings = transformers.FineGrainedFP8Config()
    with torch.device("meta"):
        model = getattr(transformers, f"{kind}Model")(config)
        count = model.num_parameters()
        quantized = replace_with_fp8_linear(model, quantization_config=settings, pre_quantized=True)
    names = [name for name in quantized.state_dict() if name.endswith("weight_scale_inv")]
    assert names
    text = "\n".join(f"{name} {tensor.shape}" for name, tensor in quantized.state_dict().items())
    reading = bertcalc.read(text)
    assert reading.num_parameters == count
    assert f"Quantized weights: {len(names)}" in str(reading)


def test_bits_that_no_size_shows_give_several_counts() -> None:
    model = torch.nn.Linear(768, 32, bias=False)
    packed = dict(_compressed("proj", model.weight, 4))
    header, _listing = _texts(packed)
    reading = bertcalc.read(header)
    assert reading.num_parameters is None
    assert [possible.parameters for possible in reading.possible_counts] == [model.weight.numel(), 32 * 384]
    assert "4 bits" in str(reading)


def test_a_packed_weight_of_an_unknown_format_is_not_a_buffer() -> None:
    model = _bert()
    tensors = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    name = "encoder.layer.0.attention.self.query"
    left_out = tensors.pop(f"{name}.weight").numel()
    header, _listing = _texts({**tensors, f"{name}.W_q": torch.zeros(64, 8, dtype=torch.int32)})
    reading = bertcalc.read(header)
    assert (reading.is_at_least, reading.num_parameters) == (True, model.num_parameters() - left_out)
    assert "packed in an unknown format" in str(reading)
    assert "buffers" not in str(reading)


def test_the_experts_of_gpt_oss_are_unpacked() -> None:
    config = transformers.GptOssConfig(hidden_size=64, intermediate_size=96, num_local_experts=2)
    with torch.device("meta"):
        real = transformers.models.gpt_oss.modeling_gpt_oss.GptOssExperts(config)
    stored: dict[str, tuple[int, ...]] = {}
    for name, (experts, inputs, outputs) in (
        (name, getattr(real, name).shape) for name in ("gate_up_proj", "down_proj")
    ):
        stored |= {f"experts.{name}_blocks": (experts, outputs, inputs // 32, 16)}
        stored |= {f"experts.{name}_scales": (experts, outputs, inputs // 32)}
    elements = sum(torch.Size(shape).numel() for shape in unpack_weights(stored).shapes.values())
    assert elements == real.gate_up_proj.numel() + real.down_proj.numel()
