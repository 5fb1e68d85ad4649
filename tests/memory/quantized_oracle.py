"""Runs in the environment of bitsandbytes: pickled training runs on stdin, what is alive in each on stdout.

Each line is a ``Run`` of tests/memory/test_quantized_peaks.py, in base64.
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

import bitsandbytes
import torch
import transformers
from bitsandbytes.backends.default.ops import _gemm_4bit_default_impl
from transformers.integrations import replace_with_bnb_linear
from transformers.quantizers.auto import AutoHfQuantizer

sys.path.append(str(Path(__file__).parents[2]))
from bertcalc.memory.optimizers import PRECISIONS
from tests.memory import autocast, live, test_peak

logging.disable(logging.CRITICAL)
torch.set_num_threads(1)
gc.freeze()


def gemm_4bit(*given: Any, **options: Any) -> torch.Tensor:
    """The kernel that unpacks the weight. Autocast reaches into it, but not below a dispatch mode."""
    with patch("torch.nn.functional.linear", lowered) if autocast.entered else nullcontext():
        return _gemm_4bit_default_impl(*given, **options)


def lowered(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None) -> torch.Tensor:
    dtype = autocast.entered[-1]
    bias = None if bias is None else bias.to(dtype)
    weight = weight.to(dtype)
    return linear(x.to(dtype), weight, bias)


linear = torch.nn.functional.linear
live.WITH_TEMPORARIES[torch.ops.bitsandbytes.gemm_4bit.default] = gemm_4bit


def autocast_reaches_into_the_kernel() -> bool:
    """Whether the CPU's kernel, which is the same, gives 16 bits for float32."""
    packed, state = bitsandbytes.functional.quantize_4bit(torch.ones(64, 64))
    with torch.autocast("cpu", torch.bfloat16):
        return bitsandbytes.matmul_4bit(torch.ones(2, 64), packed, state).dtype is torch.bfloat16


def quantized(real: Any, options: dict[str, Any], *, under_autocast: bool) -> Any:
    """A model on the meta device whose layers transformers' quantizer replaced; bitsandbytes packs the weights."""
    config = transformers.BitsAndBytesConfig(**options)
    quantizer: Any = AutoHfQuantizer.from_config(config, pre_quantized=False)
    kept = quantizer.get_modules_to_not_convert(real, config.llm_int8_skip_modules, real._keep_in_fp32_modules)
    dtype = real.dtype
    replace_with_bnb_linear(real, kept, config)
    real.is_loaded_in_4bit = True
    held: list[torch.Tensor] = []
    for module in real.modules():
        if isinstance(module, bitsandbytes.nn.Linear4bit):
            module.weight.data = module.weight.data.to(dtype)
            module.weight._quantize("meta")
            if module.bias is not None:
                # Its first forward pass casts the bias in place, which autocast's stand-in for CUDA cannot follow.
                module.bias.data = module.bias.data.to(module.compute_dtype if under_autocast else dtype)
            state = module.weight.quant_state
            held += [state.absmax, state.code]
            if state.nested:
                state.state2.code = state.state2.code.clone()  # as on a GPU, where each layer gets a copy
                held += [state.offset, state.state2.absmax, state.state2.code]
    real.quantization_states = held
    return real


def answer(case: Any, call: Any, plan: Any, adapter: Any, options: dict[str, Any]) -> list[int] | str:
    change = partial(quantized, options=options, under_autocast=PRECISIONS[plan.precision].autocast is not None)
    try:
        moments = test_peak.real_moments(case, call, plan, adapter, change)
    except (RuntimeError, ValueError) as error:
        return str(error)
    return live.tops(moment.live for moment in moments)


if __name__ == "__main__":
    assert autocast_reaches_into_the_kernel()
    for line in sys.stdin:
        print(json.dumps(answer(*pickle.loads(base64.b64decode(line)))), flush=True)
