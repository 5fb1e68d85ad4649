"""Run training steps of real models in the environment with bitsandbytes.

Each line of stdin is a pickled ``Run`` of tests/memory/test_quantized_peaks.py in base64. The answer is one line on
stdout: the local maxima of live memory in the run.
"""

import base64
import gc
import json
import logging
import pickle
import sys
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

import torch

sys.path.append(str(Path(__file__).parents[2]))
from tests.memory.functions_of_cuda import OF_CUDA  # isort: skip  # before anything else imports bitsandbytes

import bitsandbytes
import transformers
from bitsandbytes.backends.default.ops import _gemm_4bit_default_impl
from transformers.integrations import replace_with_bnb_linear
from transformers.quantizers.auto import AutoHfQuantizer

from bertcalc.memory.optimizers import PRECISIONS
from tests.memory import autocast, live, test_peak

logging.disable(logging.CRITICAL)
torch.set_num_threads(1)
gc.freeze()


def without_outliers(given: torch.Tensor, threshold: float = 0.0) -> Any:
    """Quantize inputs in which no value reaches the threshold."""
    with patch("torch.Tensor.__bool__", lambda _tensor: False):
        return OF_CUDA["int8_vectorwise_quant"](given, threshold)


def int8_product(given: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    with patch("torch.matmul", lowered) if autocast.entered else nullcontext():
        product: torch.Tensor = OF_CUDA["int8_linear_matmul"](given, weight)
    return product


def gemm_4bit(*given: Any, **options: Any) -> torch.Tensor:
    """Run the kernel that unpacks the weight. Autocast also casts inside the kernel, but not below a dispatch mode."""
    with patch("torch.nn.functional.linear", lowered) if autocast.entered else nullcontext():
        return _gemm_4bit_default_impl(*given, **options)


def lowered(x: torch.Tensor, weight: torch.Tensor, *biases: torch.Tensor | None) -> torch.Tensor:
    dtype = autocast.entered[-1]
    low_biases = [None if bias is None else bias.to(dtype) for bias in biases]
    low_weight = weight.to(dtype)
    return (linear if biases else matmul)(x.to(dtype), low_weight, *low_biases)


linear, matmul = torch.nn.functional.linear, torch.matmul
INT8 = ("mixed_scaled_mm", "scaled_mm", "mm_dequant", "vectorwise_dequant")
for name, function in {
    **{f"int8_{name}": OF_CUDA[f"int8_{name}"] for name in INT8},
    "int8_vectorwise_quant": without_outliers,
    "int8_linear_matmul": int8_product,
    "gemm_4bit": gemm_4bit,
}.items():
    live.WITH_TEMPORARIES[getattr(torch.ops.bitsandbytes, name).default] = function


def autocast_reaches_into_the_kernel() -> bool:
    """Whether the CPU's kernel, which is the same, returns 16-bit values for float32 inputs."""
    packed, state = bitsandbytes.functional.quantize_4bit(torch.ones(64, 64))
    with torch.autocast("cpu", torch.bfloat16):
        return bitsandbytes.matmul_4bit(torch.ones(2, 64), packed, state).dtype is torch.bfloat16


def cast_bias(module: Any, given: tuple[torch.Tensor]) -> None:
    """Cast the bias in place, as Linear8bitLt.forward does.

    An ``Autocasted`` bias consists of two tensors; cast both.
    """
    bias, (x,) = module.bias, given
    if isinstance(bias, autocast.Autocasted) and bias.dtype != x.dtype:
        bias.meta = bias.meta.to(x.dtype)
        bias.data = autocast.Autocasted(bias.meta)


def quantized(real: Any, options: dict[str, Any], *, dtype: Any, under_autocast: bool) -> Any:
    """Replace layers of a model on the meta device with transformers' quantizer. bitsandbytes packs the weights."""
    config = transformers.BitsAndBytesConfig(**options)
    quantizer: Any = AutoHfQuantizer.from_config(config, pre_quantized=False)
    kept = quantizer.get_modules_to_not_convert(real, config.llm_int8_skip_modules, real._keep_in_fp32_modules)
    if dtype:
        real.to(getattr(torch, dtype))
    dtype = real.dtype
    replace_with_bnb_linear(real, kept, config)
    real.is_loaded_in_4bit, real.is_loaded_in_8bit = config.load_in_4bit, config.load_in_8bit
    held: list[torch.Tensor] = []
    for module in real.modules():
        if isinstance(module, bitsandbytes.nn.Linear8bitLt):
            module.weight.data = module.weight.data.to(dtype)
            module.weight._quantize("meta")
            held.append(module.weight.SCB)
            if module.bias is not None:
                module.bias.data = module.bias.data.to(dtype)
                module.register_forward_pre_hook(cast_bias)
        if isinstance(module, bitsandbytes.nn.Linear4bit):
            module.weight.data = module.weight.data.to(dtype)
            module.weight._quantize("meta")
            if module.bias is not None:
                # The first forward pass casts the bias in place, which the emulated autocast cannot follow.
                module.bias.data = module.bias.data.to(module.compute_dtype if under_autocast else dtype)
            state = module.weight.quant_state
            held += [state.absmax, state.code]
            if state.nested:
                state.state2.code = state.state2.code.clone()  # as on a GPU, where each layer gets a copy
                held += [state.offset, state.state2.absmax, state.state2.code]
    real.quantization_states = held
    return real


def answer(case: Any, call: Any, plan: Any, adapter: Any, options: dict[str, Any], dtype: str = "") -> list[int] | str:
    """Return the local maxima of a step of the real model.

    ``dtype`` replaces the plan's dtype, for combinations that no precision has.
    """
    change = partial(
        quantized, dtype=dtype, options=options, under_autocast=PRECISIONS[plan.precision].autocast is not None
    )
    try:
        # DoRA copies a layer temporarily before training, which fails on the meta device.
        with patch("peft.tuners.lora.dora.deepcopy", lambda layer: layer):
            moments = test_peak.real_moments(case, call, plan, adapter, change)
    except (RuntimeError, ValueError) as error:
        return str(error)
    return live.tops(moment.live for moment in moments)


if __name__ == "__main__":
    assert autocast_reaches_into_the_kernel()
    for line in sys.stdin:
        print(json.dumps(answer(*pickle.loads(base64.b64decode(line)))), flush=True)
