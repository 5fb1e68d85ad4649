"""Saved activations equal the tensors that PyTorch's saved-tensor hooks see."""

import sys
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any
from weakref import WeakSet

import pytest
import torch
import transformers
from hypothesis import given
from hypothesis import strategies as st
from torch.utils.checkpoint import checkpoint
from transformers import AttentionInterface, AttentionMaskInterface
from transformers.initialization import no_init_weights
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.masking_utils import eager_mask, sdpa_mask
from transformers.models.bert import modeling_bert

from bertcalc import BertConfig, InputError, ModernBertConfig, Module, build, saved_activation_bytes
from bertcalc.config.activations import ACTIVATIONS
from bertcalc.families import CLASSES, FAMILIES, class_of
from bertcalc.forward.outputs import Call, needs_mask
from bertcalc.memory.optimizers import Dtype
from bertcalc.memory.plan import RECOMPUTE, Attention, Plan, Recompute
from bertcalc.memory.saved import cache_bytes, saved_activations, total_bytes
from bertcalc.model.batch import Batch
from bertcalc.model.family import Family
from bertcalc.model.freezing import TRAIN, Freezing, Train
from tests.examples import crossed, examples
from tests.oracle import Case, arguments, possible, real_config, real_outputs
from tests.strategies import passes


def freezings() -> st.SearchStrategy[Freezing]:
    return st.builds(Freezing, st.booleans(), st.integers(0, 4), st.sampled_from(TRAIN))


DTYPES: dict[Dtype, torch.dtype] = {"float32": torch.float32, "bfloat16": torch.bfloat16}


class Handle:
    """The object that autograd keeps instead of a tensor."""

    def __init__(self, tensor: torch.Tensor) -> None:
        self.tensor = tensor


def seen_bytes(real: Any, given: dict[str, Any], besides: Sequence[torch.Tensor] = ()) -> int:
    """Return the bytes of distinct storages that autograd saves, without parameters, buffers and integer index tensors.

    Storages of the tensors in ``besides`` after the forward pass are not counted, either.
    """
    handles: WeakSet[Handle] = WeakSet()  # weak, since a checkpoint releases some saved tensors again

    def keep(tensor: torch.Tensor) -> Handle:
        handle = Handle(tensor)
        handles.add(handle)
        return handle

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda handle: handle.tensor):
        outputs = real(**given)
    kept = [handle.tensor for handle in handles if not _is_index(handle.tensor)]
    storages = {tensor.untyped_storage()._cdata: tensor.untyped_storage() for tensor in kept}
    own = {tensor.untyped_storage()._cdata for tensor in (*real.parameters(), *real.buffers(), *besides)}
    del outputs  # releases the graph
    return sum(storage.nbytes() for at, storage in storages.items() if at not in own)


def _is_index(tensor: torch.Tensor) -> bool:
    return tensor.dtype in (torch.int64, torch.int32)


@examples(36)
@given(passes(), st.sampled_from(sorted(DTYPES)))
def test_eager_attention_keeps_what_the_hooks_see(run: tuple[Case, Call], dtype: Dtype) -> None:
    case, call = run
    real = case.real().train()
    if dtype != "float32":
        real.to(DTYPES[dtype])
    real.set_attn_implementation("eager")
    given = arguments(case, call)
    if "encoder_hidden_states" in given:
        given["encoder_hidden_states"] = given["encoder_hidden_states"].to(DTYPES[dtype])
    plan = Plan("fp32" if dtype == "float32" else "bf16")
    saved = saved_activations(case.ours(), call.batch, plan)
    assert total_bytes(saved) == seen_bytes(real, given)


@examples(20)
@given(passes(["GPT2DoubleHeadsModel", "DebertaModel", "DebertaV2Model"]))
def test_what_few_classes_have_is_kept_as_the_hooks_see(run: tuple[Case, Call]) -> None:
    """The classes save representations of choices, the convolution, and copies made for matrix products."""
    case, call = run
    real = case.real().train()
    real.set_attn_implementation("eager")
    saved = saved_activations(case.ours(), call.batch, Plan())
    assert total_bytes(saved) == seen_bytes(real, arguments(case, call))


@examples(36)
@given(passes(), freezings(), st.sampled_from(RECOMPUTE))
def test_freezing_and_recomputing_keep_what_the_hooks_see(
    run: tuple[Case, Call], freezing: Freezing, recompute: Recompute
) -> None:
    case, call = run
    freezing = replace(freezing, layers=min(freezing.layers, case.config.num_hidden_layers))
    real = case.real().train()
    recompute = possible(case, recompute)
    freeze(real, freezing, case.ours())
    saved = saved_activations(case.ours(), call.batch, Plan(recompute=recompute, freezing=freezing))
    masks = recompute_in(real, "eager", recompute)
    assert total_bytes(saved) == seen_bytes(real, arguments(case, call), masks)


@pytest.mark.parametrize("family", FAMILIES.values(), ids=FAMILIES)
def test_what_a_checkpoint_of_each_family_keeps(family: Family) -> None:
    """If query, key and value are slices of one product, the whole product is saved."""
    case = Case(replace(family.config.default(), num_hidden_layers=2), family.base.name)
    for recompute in (one for one in RECOMPUTE if one in family.recomputes):
        real = case.real().train()
        masks = recompute_in(real, "eager", recompute)
        saved = saved_activations(case.ours(), Batch(2, 5), Plan(recompute=recompute))
        assert total_bytes(saved) == seen_bytes(real, arguments(case, Call(2, 5)), masks)


def freeze(real: Any, freezing: Freezing, ours: Module) -> None:
    frozen = freezing.names(ours)
    for name, parameter in real.named_parameters():
        parameter.requires_grad_(name not in frozen)


def recompute_in(real: Any, attention: str, recompute: Recompute) -> list[torch.Tensor]:
    """Apply PyTorch's checkpoints: transformers' checkpoint around each layer, or one around the attention core.

    Return a list that the forward pass fills with the attention masks. Checkpoints save them, too, but they are not
    activations.
    """
    masks: list[torch.Tensor] = []
    if recompute == "full":
        real.activation_checkpointing_enable({"use_reentrant": False})
        real.disable_input_require_grads()  # transformers would send a gradient back to frozen embeddings, too
    forward, mask = {
        "eager": (modeling_bert.eager_attention_forward, eager_mask),
        "sdpa": (sdpa_attention_forward, sdpa_mask),
    }[attention]

    def core(module: Any, query: Any, key: Any, value: Any, attention_mask: Any, **options: Any) -> Any:
        masks.extend([] if attention_mask is None else [attention_mask])
        own = forward
        if attention == "eager" and hasattr(module, "num_key_value_groups"):  # its attention repeats keys and values
            own = sys.modules[type(module).__module__].eager_attention_forward
        run = partial(own, module, attention_mask=attention_mask, **options)
        if recompute == "selective":
            return checkpoint(run, query, key, value, use_reentrant=False)
        return run(query, key, value)

    AttentionInterface.register("tests", core)
    AttentionMaskInterface.register("tests", mask)
    real.set_attn_implementation("tests")
    return masks


@given(passes(), freezings(), st.sampled_from(RECOMPUTE))
def test_fused_attention_keeps_what_the_cpu_kernel_keeps(
    run: tuple[Case, Call], freezing: Freezing, recompute: Recompute
) -> None:
    """The models run on the CPU: the meta device does not tell which kernel runs."""
    case, (batch_size, length, *_more) = run
    recompute = possible(case, recompute)
    config = replace(case.config, attention_probs_dropout_prob=0.0, num_labels=2)
    freezing = replace(freezing, layers=min(freezing.layers, config.num_hidden_layers))
    length = min(length, config.longest)
    with no_init_weights():
        real = getattr(transformers, case.architecture)(real_config(config), **case.options).train()
    real.tie_weights()
    freeze(real, freezing, case.ours())
    choices = (1,) if class_of(case.architecture).takes_choices else ()
    given = {"input_ids": torch.zeros((batch_size, *choices, length), dtype=torch.int64)}
    # Without a mask argument, DeBERTa makes a floating-point mask, which a checkpoint saves.
    if needs_mask(case.model) or config.has("relative_attention"):
        given["attention_mask"] = torch.ones_like(given["input_ids"])
    plan = Plan(attention="fused", recompute=recompute, freezing=freezing)
    saved = saved_activations(case._replace(config=config).ours(), Batch(batch_size, length), plan)
    masks = recompute_in(real, "sdpa", recompute)
    assert total_bytes(saved) == seen_bytes(real, given, masks)


@pytest.mark.parametrize(("train", "recompute", "attention"), crossed(2, TRAIN, RECOMPUTE, ["eager", "sdpa"]))
def test_every_way_to_freeze_a_decoder(train: Train, recompute: Recompute, attention: str) -> None:
    """The decoder reads an encoder's output, through which no gradient flows. Random models rarely combine all this."""
    config = BertConfig(
        vocab_size=9,
        hidden_size=8,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=12,
        attention_probs_dropout_prob=0.1 if attention == "eager" else 0.0,
        is_decoder=True,
        add_cross_attention=True,
    )
    given = {"input_ids": torch.zeros((2, 5), dtype=torch.int64), "encoder_hidden_states": torch.zeros((2, 7, 8))}
    for layers in (0, 1, 2):
        for embeddings in (False, True):
            freezing = Freezing(embeddings, layers, train)
            real = transformers.BertModel(real_config(config)).train()
            freeze(real, freezing, build(config))
            ours: Attention = "eager" if attention == "eager" else "fused"
            plan = Plan(attention=ours, recompute=recompute, freezing=freezing)
            saved = saved_activations(build(config), Batch(2, 5, encoder_sequence_length=7), plan)
            masks = recompute_in(real, attention, recompute)
            assert total_bytes(saved) == seen_bytes(real, given, masks), freezing


@pytest.mark.parametrize("hidden_act", ACTIVATIONS)
def test_every_activation_keeps_what_the_hooks_see(hidden_act: str) -> None:
    case = Case(BertConfig(hidden_act=hidden_act, num_hidden_layers=1, hidden_size=24), "BertForMaskedLM")
    real = case.real().train()
    real.set_attn_implementation("eager")
    assert saved_activation_bytes(case.ours(), 2, 5) == seen_bytes(real, arguments(case, Call(2, 5)))


@pytest.mark.parametrize("sparse", [False, True])
def test_what_depends_on_the_labels_is_refused(sparse: bool) -> None:
    config = ModernBertConfig(num_hidden_layers=1, sparse_prediction=sparse, pad_token_id=0, vocab_size=9)
    real, ids = transformers.ModernBertForMaskedLM(real_config(config)).train(), torch.ones((1, 8), dtype=torch.int64)
    labelled = [torch.where(torch.arange(8) < tokens, ids, -100) for tokens in (2, 8)]
    few, many = (seen_bytes(real, {"input_ids": ids, "labels": labels}) for labels in labelled)
    assert (few != many) == sparse
    if sparse:
        with pytest.raises(InputError, match="With sparse_prediction, the memory of ModernBertForMaskedLM depends on"):
            saved_activation_bytes(build(config, "ModernBertForMaskedLM"), 1, 8)


def test_one_byte_masks_are_the_difference_between_96_and_84() -> None:
    """By formulas.md, the figures are per layer in units of s b h, at a s / h = 2 in float32.

    96 is with the CPU's masks, 84 with CUDA's.
    """
    config = BertConfig(hidden_size=768, num_attention_heads=12)
    longer, shorter = build(replace(config, num_hidden_layers=13)), build(config)
    sequence, unit = 128, 128 * 768
    for fused_dropout, expected in ((False, 96), (True, 84)):
        bytes_of = [
            saved_activation_bytes(model, 1, sequence, fused_dropout=fused_dropout) for model in (longer, shorter)
        ]
        norms = 2 * 2 * 4 * sequence  # mean and rstd of two LayerNorms, which the formula omits
        assert bytes_of[0] - bytes_of[1] - norms == expected * unit


@examples(20)
@given(passes([name for name, family in CLASSES.items() if any(cls.caches for cls in family.classes)]))
def test_the_cache_is_the_one_that_the_real_model_returns(run: tuple[Case, Call]) -> None:
    case, call = run
    decoder = CLASSES[case.architecture].for_task("causal-lm")
    case = Case(replace(case.config, is_decoder=True), decoder)
    call = call._replace(use_cache=True, num_choices=1)
    if not case.config.add_cross_attention:
        call = call._replace(encoder_sequence_length=None)
    caches = [output for output in real_outputs(case, call) if output.name == "past_key_values"]
    elements = sum(torch.Size(shape).numel() for cache in caches for shape, _dtype in cache.tensors)
    steps = case.ours().steps(call.batch)
    assert cache_bytes(steps) == 4 * elements
