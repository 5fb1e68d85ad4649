"""Answer questions about models in the environment with transformers 4.

Each line of stdin is a JSON list of descriptions of models. The answer is one line on stdout: the facts, outputs or
costs of each model.
"""

import gc
import inspect
import json
import sys
from contextlib import nullcontext, redirect_stdout
from functools import lru_cache
from io import StringIO
from pathlib import Path
from typing import Any
from unittest.mock import patch

import torch
import transformers
from torch.utils.flop_counter import FlopCounterMode
from transformers.modeling_utils import no_init_weights

sys.path.append(str(Path(__file__).parents[1]))
from bertcalc.memory.plan import Plan
from tests.memory.live import inference_moments, native_dropout, on_cpu, tops, training_moments

transformers.logging.set_verbosity_error()
torch.set_num_threads(1)  # the models are tiny: threads would only wait for each other
gc.freeze()  # excludes imported objects from garbage collection


def facts(case: dict[str, Any]) -> dict[str, Any]:
    # xielu and pruning read tensor values while the model is built. Tensors on the meta device have none.
    needs_memory = case["config"].get("hidden_act") == "xielu" or case["config"].get("pruned_heads")
    with torch.device("cpu" if needs_memory else "meta"), no_init_weights():
        config = transformers.CONFIG_MAPPING[case.get("model_type", "bert")].from_dict(case["config"])
        model = getattr(transformers, case["architecture"])(config, **case["options"])
    model.tie_weights()
    return {
        "tensors": [(name, list(tensor.shape)) for name, tensor in model.named_parameters()],
        "total": model.num_parameters(),
        "text": str(model),
    }


@lru_cache
def runnable(case: str) -> Any:
    """A model on the CPU, since it reads the values of its masks. It is built once for all its calls."""
    config = transformers.BertConfig(**json.loads(case)["config"])
    config._attn_implementation = "eager"
    with no_init_weights():
        model = getattr(transformers, json.loads(case)["architecture"])(config, **json.loads(case)["options"])
    model.tie_weights()
    return model.eval()


def returned(case: dict[str, Any]) -> list[Any]:
    """Return the (name, type, tensors) of every output, with the shape and dtype of its tensors."""
    model = runnable(json.dumps({key: case[key] for key in ("config", "architecture", "options")}))
    tensors = {name: torch.ones(shape, dtype=getattr(torch, dtype)) for name, (shape, dtype) in case["tensors"].items()}
    with torch.inference_mode():
        outputs = model(**tensors, **case["flags"])
    pairs = [(None, value) for value in outputs] if isinstance(outputs, tuple) else list(outputs.items())
    return [(name, type(value).__name__, tensors_in(value)) for name, value in pairs]


def tensors_in(value: Any) -> list[Any]:
    if isinstance(value, torch.Tensor):
        return [(list(value.shape), str(value.dtype).removeprefix("torch."))]
    if hasattr(value, "self_attention_cache"):
        value = (value.self_attention_cache, value.cross_attention_cache)
    elif hasattr(value, "layers"):
        value = [tensor for layer in value.layers for tensor in (layer.keys, layer.values)]
    return [] if value is None else [tensor for inside in value for tensor in tensors_in(inside)]


def cost(case: dict[str, Any]) -> list[int]:
    """Return the FLOPs of a forward pass, and the bytes that a training pass saves for backward.

    ``case["ids"]`` is the shape of the token ids.
    """
    model = runnable(json.dumps({key: case[key] for key in ("config", "architecture", "options")})).train()
    own = {tensor.untyped_storage()._cdata for tensor in (*model.parameters(), *model.buffers())}
    kept: list[torch.Tensor] = []

    def keep(tensor: torch.Tensor) -> torch.Tensor:
        kept.append(tensor)
        return tensor

    ids = torch.zeros(case["ids"], dtype=torch.int64)
    with FlopCounterMode(display=False) as counter:
        model(input_ids=ids)
    with torch.autograd.graph.saved_tensors_hooks(keep, lambda kept: kept):
        outputs = model(input_ids=ids, **case["training"])
    del outputs
    storages = {
        tensor.untyped_storage()._cdata: tensor.untyped_storage() for tensor in kept if tensor.dtype != torch.int64
    }
    return [counter.get_total_flops(), sum(storage.nbytes() for at, storage in storages.items() if at not in own)]


def live(case: dict[str, Any]) -> list[int]:
    """Return the local maxima of live memory in a training step, or in a forward pass if there is no plan."""
    config = transformers.BertConfig(**case["config"])
    config._attn_implementation = "eager"
    with torch.device("meta"), no_init_weights():
        model = getattr(transformers, case["architecture"])(config, **case["options"])
    model.tie_weights()
    given = {
        name: torch.empty(shape, dtype=getattr(torch, dtype), device="meta")
        for name, (shape, dtype) in case["live"].items()
    }
    if case["cpu"]:
        model, given = on_cpu(model, given)
    model.to(getattr(torch, case["dtype"]))
    plan = Plan(**case["plan"]) if case["plan"] else None
    if plan and plan.recompute == "full":
        model.gradient_checkpointing_enable({"use_reentrant": False, "preserve_rng_state": False})
    for name, parameter in model.named_parameters():
        parameter.requires_grad_(name not in case["frozen"])
    with patch("torch.nn.functional.dropout", native_dropout) if plan and plan.fused_dropout else nullcontext():
        moments = training_moments(model, given, plan) if plan else inference_moments(model, given)
    return tops(moment.live for moment in moments)


def printed(program: str) -> str:
    """Run a program and return what it prints."""
    with redirect_stdout(StringIO()) as said:
        exec(compile(program, "program", "exec"), {})
    return said.getvalue()


def answer(case: dict[str, Any]) -> Any:
    if "program" in case:
        return printed(case["program"])
    if "live" in case:
        return live(case)
    if "ids" in case:
        return cost(case)
    if "signature" in case:
        return list(inspect.signature(getattr(transformers, case["signature"]).forward).parameters)
    if "tensors" not in case:
        return facts(case)
    try:
        return returned(case)
    except IndexError as error:
        return str(error)


if __name__ == "__main__":
    for questions in sys.stdin:
        print(json.dumps([answer(case) for case in json.loads(questions)]), flush=True)
