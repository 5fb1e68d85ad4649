"""The simulated peaks of models with adapters equal the peaks of peft's models, compared storage by storage."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import assume, given, reject
from hypothesis import strategies as st

from bertcalc import BertConfig, Config, DebertaConfig, GPT2Config, ModernBertConfig, training_peak_bytes
from bertcalc.changes.ia3 import IA3
from bertcalc.changes.lora import Lora
from bertcalc.changes.prompts import PrefixTuning, PromptEncoder, Prompts, PromptTuning
from bertcalc.compute.flops import unknown_training
from bertcalc.families import class_of
from bertcalc.forward.outputs import Call
from bertcalc.memory.optimizers import PRECISIONS
from bertcalc.memory.peak import NotSimulatedError, changes_of, curve, peak
from bertcalc.memory.peak.live_peak_formulas import live_peak
from bertcalc.memory.peak.peak_formulas import growths, peak_bytes
from bertcalc.memory.plan import Inference, Plan
from bertcalc.model.model import Model
from bertcalc.text.problem import InputError
from tests.adapters import Adapter, running_adapters, running_prompts
from tests.compute.test_adapter_flops import check as check_flops
from tests.examples import crossed, examples
from tests.memory.live import inference_moments, tops
from tests.memory.test_peak import check_training, device, needs_cpu, plans, real_moments, simulated
from tests.oracle import Case, unmasked
from tests.strategies import SIMULATED, passes

EIGHT_BITS = Plan(optimizer="adamw-8bit")
SMALL = BertConfig(vocab_size=60, hidden_size=24, num_hidden_layers=2, intermediate_size=40)


def check(case: Case, call: Call, plan: Plan, adapter: Adapter) -> None:
    """Compare the simulation with peft. If the memory is not simulated, the message must say so."""
    autocast = PRECISIONS[plan.precision].autocast
    fits = adapter.ours().under_autocast if autocast else adapter.ours().in_16_bits or plan.precision == "fp32"
    model = case.ours().changed(changes=(adapter.ours(),))
    # With DoRA's dropout, FLOPs are unknown, but memory is known.
    if isinstance(adapter.ours(), Prompts) and unknown_training(model) and class_of(case.architecture).per_token:
        with pytest.raises((ValueError, RuntimeError)):
            real_moments(case, call._replace(labels=True), Plan(), adapter)
        with pytest.raises(InputError):
            simulated(plan._replace(recompute="none"), case, call, adapter=adapter)
        return
    if plan.recompute == "full" and not adapter.ours().recomputes:
        plan = plan._replace(recompute="none")
    if "mixed" in plan.precision or not fits or adapter.ours().unsimulated(model):
        with pytest.raises(NotSimulatedError, match="not simulated"):
            simulated(plan._replace(recompute="none"), case, call, adapter=adapter)
        return
    try:
        model.steps(call.batch)
    except InputError:
        check_flops(case, call, adapter, "none")  # the real model cannot run, either
        return
    check_training(case, call, plan._replace(freezing=Plan().freezing), adapter)


@examples(10)
@given(passes(SIMULATED), st.booleans(), st.data())
def test_a_training_step_holds_what_pefts_holds(
    run: tuple[Case, Call], keep_outputs: bool, data: st.DataObject
) -> None:
    check(*run, Plan(keep_outputs=keep_outputs), data.draw(running_adapters(run[0].model)))


@examples(10)
@given(passes(SIMULATED), plans(), st.booleans(), st.data())
def test_any_plan_with_an_adapter(run: tuple[Case, Call], plan: Plan, hooked: bool, data: st.DataObject) -> None:
    check(*run, plan._replace(input_require_grads=hooked), data.draw(running_adapters(run[0].model)))


@examples(20)
@given(passes(SIMULATED), plans(), st.booleans(), st.data())
def test_any_plan_with_virtual_tokens(run: tuple[Case, Call], plan: Plan, hooked: bool, data: st.DataObject) -> None:
    assume(not needs_cpu(run[0]))  # on the CPU, the ids of the virtual tokens are not moved to a device
    adapter = data.draw(running_prompts(run[0].model))
    check(*run, plan._replace(input_require_grads=hooked), adapter)


def test_ia3_keeps_its_float32_input_beside_the_16_bit_product() -> None:
    """A recomputed layer has no gradient that keeps the input: it is a local variable of the forward method."""
    adapter = Adapter(IA3, {"target_modules": ["output.dense"], "feedforward_modules": ["output.dense"]})
    check(Case(SMALL, "BertModel"), Call(3, 9), Plan("bf16", recompute="full"), adapter)


@pytest.mark.parametrize("plan", [Plan(), Plan("bf16", recompute="full", input_require_grads=True)])
@pytest.mark.parametrize("saved", ["attention", "attention.self", "layer.1"])
def test_an_attention_is_trained_as_a_whole(saved: str, plan: Plan) -> None:
    adapter = Adapter(Lora, {"target_modules": ["intermediate.dense"], "modules_to_save": [saved]})
    check(Case(SMALL, "BertForSequenceClassification"), Call(3, 9), plan, adapter)


def test_the_library_has_the_gradient_checkpointing_of_transformers() -> None:
    adapter = Adapter(Lora, {"target_modules": ["query"], "task_type": "SEQ_CLS"})
    case, call = Case(SMALL, "BertForSequenceClassification"), Call(3, 9, labels=True)
    plan = Plan(recompute="full", input_require_grads=True, keep_outputs=True)
    model = case.ours().changed(changes=(adapter.ours(),))
    real = max(moment.live for moment in real_moments(case, call, plan, adapter))
    assert training_peak_bytes(model, 3, 9, recompute="full") == real < training_peak_bytes(model, 3, 9)


def test_dora_lets_the_output_of_the_layer_go_before_it_casts_its_own() -> None:
    adapter = Adapter(Lora, {"target_modules": ["query", "word_embeddings"], "use_dora": True})
    check(Case(SMALL, "BertModel"), Call(3, 9), Plan("bf16"), adapter)


def test_dora_holds_its_unit_matrix_until_the_product_of_its_matrices_exists() -> None:
    """A recomputed layer has no gradient that keeps the matrix: it is a local variable of the forward method."""
    adapter = Adapter(Lora, {"target_modules": ["intermediate.dense"], "use_dora": True})
    check(Case(SMALL, "BertModel"), Call(3, 9), Plan(recompute="full", input_require_grads=True), adapter)


@pytest.mark.parametrize("length", [1, 2, 9])
@pytest.mark.parametrize(
    "config",
    [replace(SMALL, is_decoder=True), GPT2Config(vocab_size=60, n_embd=24, n_layer=2, n_head=4, n_positions=20)],
)
def test_the_fused_kernel_needs_a_mask_for_prefixes_of_a_decoder(config: Config, length: int) -> None:
    """The kernel is causal without a mask only for a single token, or if queries and keys are the same tokens."""
    architecture = "GPT2LMHeadModel" if isinstance(config, GPT2Config) else "BertLMHeadModel"
    named = {"task_type": "CAUSAL_LM", "num_virtual_tokens": 5, "token_dim": 24}
    check(Case(config, architecture), Call(2, length), Plan(attention="fused"), Adapter(PrefixTuning, named))


CHANGES = [
    Lora(target_modules=["dense"], task_type="SEQ_CLS"),
    Lora(target_modules=["query"], layers_to_transform=[0, 2]),
    Lora(target_modules="all-linear", use_dora=True),
    IA3(),
    PromptTuning(7, "SEQ_CLS"),
    PromptTuning(1, "SEQ_CLS"),
    PromptEncoder(7, "SEQ_CLS", encoder_hidden_size=5),
    PrefixTuning(7, "SEQ_CLS", prefix_projection=True, encoder_hidden_size=5),
    PromptTuning(7, "SEQ_CLS", token_dim=96),
    PromptEncoder(7, "SEQ_CLS", token_dim=96, encoder_hidden_size=5),
    PrefixTuning(7, "SEQ_CLS", token_dim=96, prefix_projection=True),
]


@pytest.mark.parametrize(
    ("plan", "change"),
    crossed(3, [Plan(), Plan("bf16", recompute="full", input_require_grads=True), EIGHT_BITS], CHANGES),
)
def test_formulas_and_live_numbers_give_the_simulated_peak(change: Any, plan: Plan) -> None:
    """The tests above compare the simulation with peft."""
    config = BertConfig(hidden_size=96, num_attention_heads=3, num_hidden_layers=9, intermediate_size=70)
    model = Model(config, "BertForSequenceClassification", changes=(change,))
    if not change.recomputes:
        plan = plan._replace(recompute="none")
    simulated_bytes = peak(changes_of(model, plan, 4, 16)).live
    if plan is not EIGHT_BITS:
        assert peak_bytes(model, plan, 4, 16) == simulated_bytes
    assert peak_bytes(model, plan, 4, 16) == live_peak(model, plan, 4, 16).num_bytes
    polynomials = growths(model, plan, "batch_size", 4, 16)
    assert max(growth.constant + growth.linear * 4 for growth in polynomials) == peak_bytes(model, plan, 4, 16)


@pytest.mark.parametrize("length", [3, 4, 5])
@pytest.mark.parametrize(
    ("config", "architecture"),
    [
        (
            ModernBertConfig(hidden_size=32, num_attention_heads=2, num_hidden_layers=11, local_attention=20),
            "ModernBertModel",
        ),
        (
            DebertaConfig(
                hidden_size=32,
                num_attention_heads=2,
                num_hidden_layers=9,
                max_position_embeddings=10,
                relative_attention=True,
                pos_att_type="c2p|p2c",
            ),
            "DebertaModel",
        ),
    ],
)
def test_virtual_tokens_reach_a_window_earlier(config: Config, architecture: str, length: int) -> None:
    """With six virtual tokens and a length of 4, the sequence is as long as the window or the table of distances."""
    model = Model(config, architecture, changes=(PromptTuning(6, "FEATURE_EXTRACTION"),))
    for plan in (Plan(), Plan(attention="fused")):
        if length + 6 <= config.longest:
            assert peak_bytes(model, plan, 2, length) == peak(changes_of(model, plan, 2, length)).live


@examples(10)
@given(passes(SIMULATED), st.data())
def test_a_forward_pass_with_virtual_tokens(run: tuple[Case, Call], data: st.DataObject) -> None:
    case, call = run
    assume(not needs_cpu(case))
    adapter = data.draw(running_prompts(case.model))
    try:
        ours = simulated(Inference(), case, call, adapter=adapter)
    except InputError:
        reject()
    real = case.real()
    real.set_attn_implementation("eager")
    adapted, given = device(case, adapter.added(real), unmasked(case, call))
    moments = inference_moments(adapted, given)
    assert tops(moment.live for moment in curve(ours)) == tops(moment.live for moment in moments)


@pytest.mark.parametrize(
    ("change", "architecture", "length", "message"),
    [
        (PromptTuning(20, "SEQ_CLS"), "BertForSequenceClassification", 493, "the 512 positions of this model"),
        (PromptTuning(20, "TOKEN_CLS"), "BertForTokenClassification", 8, "only for CAUSAL_LM"),
        (PromptTuning(20, "SEQ_CLS"), "BertForMultipleChoice", 8, "not for each choice"),
        (PromptTuning(20, "SEQ_CLS", token_dim=8), "BertForSequenceClassification", 8, "set token_dim to 768"),
        (PromptEncoder(20, "SEQ_CLS", encoder_reparameterization_type="LSTM"), "BertModel", 8, "with an LSTM"),
    ],
)
def test_why_virtual_tokens_cannot_run(change: Any, architecture: str, length: int, message: str) -> None:
    model = Model(BertConfig(), architecture, changes=(change,))
    with pytest.raises(InputError, match=message):
        training_peak_bytes(model, 1, length)


@pytest.mark.parametrize(
    ("change", "length", "message"),
    [
        (PromptTuning(20, "SEQ_CLS", token_dim=8), 8, "set token_dim to 768"),
        (PrefixTuning(20, "SEQ_CLS", token_dim=8), 8, "set token_dim to 768"),
        (PromptTuning(20, "SEQ_CLS"), 493, "the 512 positions of this model"),
        (PrefixTuning(20, "SEQ_CLS"), 493, "the 512 positions of this model"),
    ],
)
def test_a_formula_refuses_the_virtual_tokens_that_the_simulation_refuses(
    change: Any, length: int, message: str
) -> None:
    model = Model(BertConfig(), "BertForSequenceClassification", changes=(change,))
    for count in (peak_bytes, live_peak):
        with pytest.raises(InputError, match=message):
            count(model, Plan(), 1, length)
