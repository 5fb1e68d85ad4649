"""Prove the memory of saved activations: compare our count with saved_tensors_hooks on the real model."""

from functools import partial
from typing import Any, NamedTuple
from weakref import WeakSet

from bertcalc.forward.outputs import Call, inputs, run, taking_all
from bertcalc.memory.footprint import kept
from bertcalc.memory.optimizers import PRECISIONS
from bertcalc.memory.plan import Plan
from bertcalc.memory.saved import total_bytes
from bertcalc.model.model import Model
from bertcalc.model.modules import Attention
from bertcalc.proof.output_proof import given_tensors
from bertcalc.proof.real_model import empty_model

_SELECTIVE = "bertcalc-selective"


class MemoryProof(NamedTuple):
    """The saved bytes, as counted by us and by PyTorch."""

    ours: int
    theirs: int


def prove(model: Model, plan: Plan, batch_size: int, sequence_length: int) -> MemoryProof:
    """Compare our count with the tensors that autograd has saved after a forward pass on the meta device.

    On this device, attention is eager, and dropout masks have the dtype of the activations. transformers 5 must be able
    to build the model and to run the pass.
    """
    import torch

    dtype = getattr(torch, PRECISIONS[plan.precision].dtype)
    call = Call(batch_size, sequence_length, model.encoder_length(sequence_length), num_choices=1)
    masks: list[torch.Tensor] = []
    with torch.device("meta"):
        real = empty_model(model).train().to(dtype)
        frozen = plan.freezing.names(model)
        for name, parameter in real.named_parameters():
            parameter.requires_grad_(name not in frozen)
        _recompute(real, plan)
        attentions = {module.class_name for _path, module, _copies in model.modules() if isinstance(module, Attention)}
        for module in real.modules():
            if type(module).__name__ in attentions:
                module.register_forward_pre_hook(partial(_note_masks, masks), with_kwargs=True)
        entries = inputs(model, call, run(taking_all(model), call))
        theirs = _kept_bytes(real, given_tensors(model, entries, dtype), masks)
    saved = kept(model, plan._replace(attention="eager", fused_dropout=False), batch_size, sequence_length)
    return MemoryProof(total_bytes(saved), theirs)


class _Handle:
    """The object that autograd saves instead of a tensor."""

    def __init__(self, tensor: Any) -> None:
        self.tensor = tensor


def _kept_bytes(real: Any, arguments: dict[str, Any], masks: list[Any]) -> int:
    """Return the bytes of the distinct storages that autograd saves.

    Parameters, buffers, attention masks and indices do not count.
    """
    import torch

    handles: WeakSet[_Handle] = WeakSet()  # weak references, because gradient checkpointing frees some tensors

    def hold(tensor: Any) -> _Handle:
        handle = _Handle(tensor)
        handles.add(handle)
        return handle

    with torch.autograd.graph.saved_tensors_hooks(hold, lambda handle: handle.tensor):
        returned = real(**arguments)
    held = [handle.tensor for handle in handles if handle.tensor.dtype not in (torch.int64, torch.int32)]
    storages = {tensor.untyped_storage()._cdata: tensor.untyped_storage().nbytes() for tensor in held}
    for tensor in (*real.parameters(), *real.buffers(), *masks):
        storages.pop(tensor.untyped_storage()._cdata, None)
    del returned  # not earlier, because it keeps the graph alive
    return sum(storages.values())


def _recompute(real: Any, plan: Plan) -> None:
    """Set up gradient checkpointing as planned: transformers' around layers, or ours around the attention core."""
    from transformers import AttentionInterface, AttentionMaskInterface
    from transformers.masking_utils import eager_mask

    AttentionInterface.register(_SELECTIVE, _checkpointed)
    AttentionMaskInterface.register(_SELECTIVE, eager_mask)
    real.set_attn_implementation(_SELECTIVE if plan.recompute == "selective" else "eager")
    if plan.recompute == "full":
        real.activation_checkpointing_enable()
        real.disable_input_require_grads()  # otherwise, transformers also computes gradients for frozen embeddings


def _checkpointed(module: Any, query: Any, key: Any, value: Any, attention_mask: Any, **options: Any) -> Any:
    from torch.utils.checkpoint import checkpoint
    from transformers.models.bert import modeling_bert

    core = partial(modeling_bert.eager_attention_forward, module, attention_mask=attention_mask, **options)
    return checkpoint(core, query, key, value, use_reentrant=False)


def _note_masks(masks: list[Any], _module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Collect the attention masks, which are the only four-dimensional inputs of an attention module."""
    masks += [value for value in (*args, *kwargs.values()) if hasattr(value, "dim") and value.dim() == 4]
