"""The simulated peaks of adapters on quantized weights equal those of peft and bitsandbytes, storage by storage."""

import base64
import pickle
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, reject
from hypothesis import strategies as st

from bertcalc import IA3, BertConfig, DebertaConfig, GPT2Config, Int8WeightOnlyConfig
from bertcalc.changes.lora import Lora
from bertcalc.changes.prompts import PrefixTuning, PromptEncoder, PromptTuning
from bertcalc.families import class_of
from bertcalc.forward.outputs import Call
from bertcalc.memory.optimizers import PRECISIONS, Dtype, Precision
from bertcalc.memory.peak import changes_in, changes_of, curve, peak
from bertcalc.memory.peak.peak_formulas import growths, peak_bytes
from bertcalc.memory.plan import Plan, Recompute
from bertcalc.model.change import Change
from bertcalc.model.model import Model
from bertcalc.storage.bitsandbytes_format import BitsAndBytesConfig
from bertcalc.storage.quantization_format import QuantizationFormat
from bertcalc.storage.quantized_model import PackWeights, QuantizedModel
from bertcalc.text.problem import InputError
from tests.adapters import Adapter, running_adapters
from tests.examples import crossed, examples
from tests.memory.live import tops
from tests.memory.test_peak import needs_cpu, plans
from tests.oracle import Case, ask, possible
from tests.storage.ask_libraries import judges_python
from tests.strategies import SIMULATED, has_distances, passes

SKIPPED: dict[Any, Any] = {"llm_int8_skip_modules": st.sampled_from((["classifier"], ["classifier", "score", "0"]))}
EIGHT_BITS: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
    {"load_in_8bit": st.just(True), "llm_int8_threshold": st.sampled_from((0.0, 6.0))}, optional=SKIPPED
)
FOUR_BITS: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
    {
        "load_in_4bit": st.just(True),
        "bnb_4bit_quant_type": st.sampled_from(("nf4", "fp4")),
        "bnb_4bit_use_double_quant": st.booleans(),
        "bnb_4bit_compute_dtype": st.sampled_from(("float32", "bfloat16", "float16")),
    },
    optional=SKIPPED,
)


def real_tops(*run: Any) -> list[int] | str:
    question = base64.b64encode(pickle.dumps(run)).decode()
    found: list[int] | str = ask(judges_python(), Path(__file__).with_name("quantized_oracle.py"), question)
    return found


def our_tops(
    case: Case, call: Call, plan: Plan, adapter: Adapter, options: dict[str, Any], dtype: Dtype | None = None
) -> list[int]:
    dtype = dtype or PRECISIONS[plan.precision].dtype
    packed = QuantizedModel(case.ours(), BitsAndBytesConfig(**options), dtype).adapted(adapter.ours()).packed(dtype)
    sizes = call.batch
    return tops(moment.live for moment in curve(changes_in(packed, plan, sizes)))


REFUSED = "not simulated|but not its FLOPs|nothing to train|shares a tensor|which is quantized"


def check(case: Case, call: Call, plan: Plan, adapter: Adapter, options: dict[str, Any]) -> None:
    call = call._replace(labels=bool(class_of(case.architecture).targets))
    plan = plan._replace(recompute=possible(case, plan.recompute))
    try:
        ours = our_tops(case, call, plan, adapter, options)
    except InputError as error:
        assert re.search(REFUSED, str(error))  # noqa: PT017
        return
    real = real_tops(case, call, plan, adapter, options)
    if isinstance(real, str):  # bitsandbytes cannot run the backward pass of a weight with two elements
        assert "same reduction dim" in real
        return
    assert max(ours) == max(real)
    assert ours == real


@examples(12)
@given(passes(SIMULATED), plans(), st.booleans(), EIGHT_BITS | FOUR_BITS, st.data())
def test_an_adapter_on_quantized_weights_holds_what_pefts_holds(
    run: tuple[Case, Call], plan: Plan, hooked: bool, options: dict[str, Any], data: st.DataObject
) -> None:
    case, _call = run
    if needs_cpu(case):  # the weights would be packed in another way
        reject()
    if PRECISIONS[plan.precision].autocast and (case.config.num_labels == 1 or has_distances(case.config)):
        reject()
    plan = plan._replace(freezing=Plan().freezing, input_require_grads=hooked)
    check(*run, plan, data.draw(running_adapters(case.model)), options)


QUERIES = Adapter(Lora, {"target_modules": ["query", "dense"], "r": 2, "task_type": "SEQ_CLS"})
SMALL = BertConfig(hidden_size=32, num_attention_heads=2, num_hidden_layers=2, intermediate_size=50, vocab_size=50)


@pytest.mark.parametrize(
    ("precisions", "double_quant", "recompute"),
    crossed(
        2,
        [
            ("fp32", "float32"),
            ("fp32", "bfloat16"),
            ("bf16", "float32"),
            ("bf16", "bfloat16"),
            ("amp-bf16", "bfloat16"),
        ],
        [False, True],
        ["none", "full"],
    ),
)
def test_qlora(precisions: tuple[Precision, str], double_quant: bool, recompute: Recompute) -> None:
    precision, compute_dtype = precisions
    options = {
        "load_in_4bit": True,
        "bnb_4bit_quant_type": "nf4",
        "bnb_4bit_use_double_quant": double_quant,
        "bnb_4bit_compute_dtype": compute_dtype,
        "llm_int8_skip_modules": ["classifier"],
    }
    plan = Plan(precision, recompute=recompute, input_require_grads=recompute == "full")
    run = Case(SMALL, "BertForSequenceClassification"), Call(3, 7, labels=True), plan, QUERIES, options
    assert our_tops(*run) == real_tops(*run)


@pytest.mark.parametrize(
    ("precisions", "threshold", "recompute"),
    crossed(
        2,
        [
            ("fp32", "float32"),
            ("bf16", "bfloat16"),
            ("bf16", "float16"),
            ("amp-bf16", "float32"),
            ("amp-fp16", "float32"),
        ],
        [0.0, 6.0],
        ["none", "full"],
    ),
)
def test_lora_on_int8(precisions: tuple[Precision, Dtype], threshold: float, recompute: Recompute) -> None:
    """cuBLAS does not multiply int8 matrices that have 50 columns, as the feed-forward network has."""
    precision, dtype = precisions
    options = {"load_in_8bit": True, "llm_int8_threshold": threshold, "llm_int8_skip_modules": ["classifier"]}
    plan = Plan(precision, recompute=recompute, input_require_grads=recompute == "full")
    run = Case(SMALL, "BertForSequenceClassification"), Call(3, 7, labels=True), plan, QUERIES, options, dtype
    assert our_tops(*run) == real_tops(*run)


NF4: dict[str, Any] = {"load_in_4bit": True, "bnb_4bit_quant_type": "nf4", "llm_int8_skip_modules": ["classifier"]}
INT8: dict[str, Any] = {"load_in_8bit": True, "llm_int8_skip_modules": ["classifier"]}


@pytest.mark.parametrize(
    ("precision", "lora_dropout", "options"),
    crossed(2, ["fp32", "bf16"], [0.0, 0.1], [NF4 | {"bnb_4bit_use_double_quant": True}, INT8]),
)
def test_dora(precision: Precision, lora_dropout: float, options: dict[str, Any]) -> None:
    adapter = Adapter(Lora, QUERIES.arguments | {"use_dora": True, "lora_dropout": lora_dropout})
    run = Case(SMALL, "BertForSequenceClassification"), Call(3, 7, labels=True), Plan(precision), adapter, options
    assert our_tops(*run) == real_tops(*run)


def test_gpt2_casts_its_softmax_to_the_type_of_the_values_which_autocast_leaves_in_float32() -> None:
    adapter = Adapter(Lora, {"target_modules": ["c_proj"]})
    case = Case(GPT2Config(vocab_size=50, n_embd=32, n_layer=2, n_head=2), "GPT2Model")
    for options in (NF4 | {"bnb_4bit_compute_dtype": "float16"}, INT8):
        check(case, Call(3, 7), Plan("amp-fp16"), adapter, options)


def test_the_layer_in_front_of_debertas_decoder_is_not_quantized() -> None:
    config = DebertaConfig(vocab_size=50, hidden_size=32, num_attention_heads=2, num_hidden_layers=2, legacy=False)
    config = replace(config, tie_word_embeddings=False)
    adapter = Adapter(Lora, {"target_modules": ["value_proj", "in_proj"]})
    check(Case(config, "DebertaForMaskedLM"), Call(3, 7), Plan(), adapter, {"load_in_8bit": True})


def test_ia3_fails_on_quantized_weights_of_a_16_bit_model() -> None:
    adapter = Adapter(IA3, {"target_modules": ["value"], "feedforward_modules": []})
    for options in (NF4, INT8):
        run = Case(SMALL, "BertForSequenceClassification"), Call(3, 7, labels=True), Plan("bf16"), adapter, options
        assert "expected scalar type" in real_tops(*run)
        with pytest.raises(InputError, match="not simulated in this precision"):
            our_tops(*run)


VIRTUAL_TOKENS: list[tuple[type[Change], dict[str, Any]]] = [
    (PromptTuning, {}),
    (PromptEncoder, {"encoder_hidden_size": 6}),
    (PrefixTuning, {"prefix_projection": True, "encoder_hidden_size": 5}),
]


@pytest.mark.parametrize(
    ("precision", "prompts", "weights"),
    crossed(2, ["fp32", "bf16", "amp-bf16"], VIRTUAL_TOKENS, [NF4 | {"bnb_4bit_compute_dtype": "bfloat16"}, INT8]),
)
def test_virtual_tokens_on_quantized_weights(
    prompts: tuple[type[Change], dict[str, Any]], precision: Precision, weights: dict[str, Any]
) -> None:
    kind, options = prompts
    adapter = Adapter(kind, {"num_virtual_tokens": 4, "task_type": "SEQ_CLS", **options})
    run = Case(SMALL, "BertForSequenceClassification"), Call(3, 7, labels=True), Plan(precision), adapter, weights
    assert our_tops(*run) == real_tops(*run)


def test_peft_fails_to_train_what_is_quantized() -> None:
    """The classifier is quantized unless it is excluded by name. Its last parameter is a bias."""
    run = Case(SMALL, "BertForSequenceClassification"), Call(3, 7, labels=True), Plan(), QUERIES
    assert "variable.set_data" in real_tops(*run, {"load_in_4bit": True})  # in a copy, on the meta device
    with pytest.raises(InputError, match="trains classifier, which is quantized"):
        our_tops(*run, {"load_in_4bit": True})


@pytest.mark.parametrize(
    "form",
    [
        BitsAndBytesConfig(load_in_4bit=True, bnb_4bit_quant_type="nf4", bnb_4bit_use_double_quant=True),
        BitsAndBytesConfig(load_in_8bit=True),
    ],
)
def test_formulas_of_the_batch_give_the_simulated_peak(form: QuantizationFormat) -> None:
    """The tests above check the simulation.

    Bytes of weights are numbers in the formulas, because blocks are rounded up.
    """
    config = replace(SMALL, num_hidden_layers=9, hidden_size=34)
    model = Model(config, changes=(PackWeights(form), Lora(target_modules=["query"])))
    for plan in (Plan(), Plan(optimizer="adamw-8bit", recompute="full", input_require_grads=True)):
        simulated_bytes = peak(changes_of(model, plan, 4, 16)).live
        assert peak_bytes(model, plan, 4, 16) == simulated_bytes
        polynomials = growths(model, plan, "batch_size", 4, 16)
        assert max(growth.constant + growth.linear * 4 for growth in polynomials) == simulated_bytes


@pytest.mark.parametrize(
    ("form", "plan", "adapter", "sentence"),
    [
        (Int8WeightOnlyConfig(), Plan(), Lora(), "only for int8 and the 4-bit types of bitsandbytes"),
        (
            BitsAndBytesConfig(load_in_4bit=True, bnb_4bit_compute_dtype="float16"),
            Plan("amp-bf16"),
            Lora(),
            "choose the same 16-bit type for both",
        ),
    ],
)
def test_what_is_not_simulated_says_so(form: QuantizationFormat, plan: Plan, adapter: Lora, sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        peak_bytes(Model(SMALL, changes=(PackWeights(form), adapter)), plan, 1, 8)
