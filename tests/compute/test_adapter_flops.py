"""The FLOPs of models with adapters equal PyTorch's counts for peft's models."""

from contextlib import suppress

import pytest
from hypothesis import given, reject
from hypothesis import strategies as st

from bertcalc import BertConfig, Config, EuroBertConfig, GPT2Config, PrefixTuning, PromptTuning
from bertcalc.changes.lora import Lora
from bertcalc.compute.flops import forward_flops, training_flops, unknown_training
from bertcalc.families import CLASSES
from bertcalc.forward.outputs import Call
from bertcalc.memory.plan import Plan, Recompute
from bertcalc.model.change import Change
from bertcalc.text.problem import InputError
from tests.adapters import Adapter, running_adapters, running_prompts
from tests.changes.resized import small
from tests.changes.test_adapters import our_tensors, tensors_of
from tests.compute.test_flops import counted_flops, sizes, trained
from tests.examples import examples
from tests.memory.test_peak import check_training
from tests.memory.test_saved import recompute_in
from tests.oracle import Case, arguments, numbered, possible


@examples(10)
@given(
    trained([name for name, family in CLASSES.items() if family.recomputes]),
    st.sampled_from(("none", "none", "full")),
    st.data(),
)
def test_flops_are_those_that_pytorch_counts(
    drawn: tuple[Case, Call], recompute: Recompute, data: st.DataObject
) -> None:
    case, _call = drawn
    adapter = data.draw(running_adapters(case.model))
    if unknown_training(case.ours().changed(changes=(adapter.ours(),))):
        reject()
    check(*drawn, adapter, recompute)


@examples(15)
@given(
    trained([name for name, family in CLASSES.items() if family.recomputes]),
    st.sampled_from(("none", "none", "full")),
    st.data(),
)
def test_virtual_tokens_make_every_product_larger(
    drawn: tuple[Case, Call], recompute: Recompute, data: st.DataObject
) -> None:
    check(*drawn, data.draw(running_prompts(drawn[0].model)), recompute)


def check(case: Case, call: Call, adapter: Adapter, recompute: Recompute) -> None:
    """Assert that the FLOPs equal PyTorch's count for peft's model.

    If bertcalc refuses the call, the real model must not run, either.
    """
    model = case.ours().changed(changes=(adapter.ours(),))
    recompute = possible(case, recompute)
    # On the CPU, a fused LSTM kernel hides its products.
    device = "meta" if "LSTM" in adapter.arguments.values() else "cpu"
    real = case.real(device).train()
    given = arguments(case, call) if device == "meta" else numbered(arguments(case, call))
    adapted = adapter.added(real)
    recompute_in(real, "eager", recompute)
    try:
        forward_flops(model, **sizes(call))
    except InputError as error:
        if "but not its FLOPs or memory" in str(error):  # a few models support only the parameter count
            return
        if "do not accept" in str(error):  # peft refuses the call, or the model ignores the prefix
            with suppress(ValueError, AttributeError, RuntimeError, TypeError):
                assert not any(value.requires_grad for value in adapted(**given).values())
            return
        if "positions of this model" in str(error):  # tested below: the real model can run if a single position is left
            return
        with pytest.raises((RuntimeError, ValueError, IndexError, AttributeError, TypeError)):
            adapted(**given)
        return
    if recompute == "full" and not adapter.ours().recomputes:
        with pytest.raises(InputError, match="gradient checkpointing"):
            training_flops(model, **sizes(call), recompute=recompute)
        return
    _modules, forward, both = counted_flops(adapted, given)
    assert forward_flops(model, **sizes(call)) == forward
    if not unknown_training(model):
        assert training_flops(model, **sizes(call), recompute=recompute) == both


@pytest.mark.parametrize(
    ("architecture", "table", "target"),
    [
        ("XLMRobertaForMaskedLM", "word_embeddings", "query"),
        ("GPT2LMHeadModel", "wte", "c_attn"),
        ("ModernBertForMaskedLM", "tok_embeddings", "Wqkv"),
    ],
)
def test_a_decoder_stays_tied_to_the_frozen_table_of_which_peft_trains_a_copy(
    architecture: str, table: str, target: str
) -> None:
    case, call = small(architecture), Call(2, 5, num_choices=1)
    adapter = Adapter(Lora, {"target_modules": [target], "modules_to_save": [table]})
    check(case, call, adapter, "none")
    check_training(case, call, Plan(), adapter)
    assert sorted(our_tensors(case.model.changed(changes=(adapter.ours(),)))) == sorted(
        tensors_of(adapter.added(case.real()))
    )


@pytest.mark.parametrize("kind", [PromptTuning, PrefixTuning])
@pytest.mark.parametrize(
    ("config", "architecture"),
    [
        (BertConfig(vocab_size=20, hidden_size=8, num_attention_heads=2, max_position_embeddings=12), "BertModel"),
        (GPT2Config(vocab_size=20, n_embd=8, n_head=2, n_layer=2, n_positions=12), "GPT2Model"),
    ],
)
def test_virtual_tokens_take_positions(kind: type[Change], config: Config, architecture: str) -> None:
    """With 5 virtual tokens, 7 of 12 positions are left."""
    adapter = Adapter(kind, {"num_virtual_tokens": 5, "task_type": "FEATURE_EXTRACTION"})
    case = Case(config, architecture)
    model, adapted = case.ours().changed(changes=(adapter.ours(),)), adapter.added(case.real("cpu"))
    adapted(**numbered(arguments(case, Call(1, 7))))
    assert forward_flops(model, 1, 7)
    with pytest.raises((RuntimeError, IndexError)):
        adapted(**numbered(arguments(case, Call(1, 8))))
    with pytest.raises(InputError, match="the 12 positions of this model"):
        forward_flops(model, 1, 8)


def test_eurobert_runs_with_a_prefix_that_is_not_costed() -> None:
    """EuroBERT's attention accepts past_key_values, although no class declares it, so the prefix is trained."""
    adapter = Adapter(PrefixTuning, {"num_virtual_tokens": 5, "task_type": "FEATURE_EXTRACTION"})
    case = Case(EuroBertConfig(vocab_size=20, hidden_size=8, num_attention_heads=2, pad_token_id=0), "EuroBertModel")
    real = adapter.added(case.real("cpu"))
    real(**numbered(arguments(case, Call(1, 7)))).last_hidden_state.sum().backward()
    assert all(tensor.grad is not None for tensor in real.prompt_encoder.parameters())
    model = case.ours().changed(changes=(adapter.ours(),))
    assert model.num_parameters(only_trainable=True) == real.get_nb_trainable_parameters()[0]
    with pytest.raises(InputError, match="counts the parameters of Prefix tuning, but not its FLOPs or memory"):
        forward_flops(model, 1, 7)
