"""Lines that peft prints are explained, for the present model and for others."""

import peft
import pytest
import torch
import transformers
from hypothesis import given
from hypothesis import strategies as st

import bertcalc
from bertcalc import IA3, BertConfig, Lora
from bertcalc.diagnosis.peft_line import printed_by_peft
from bertcalc.families.presets import PRESETS
from tests.adapters import Adapter
from tests.oracle import Case

RANK_8 = {"r": 8, "target_modules": ["query", "value"], "task_type": "SEQ_CLS"}
CLASSIFIER = bertcalc.load("bert-base-uncased", "BertForSequenceClassification")


@pytest.mark.parametrize(
    ("architecture", "adapter", "copied"),
    [
        ("BertForSequenceClassification", Adapter(Lora, RANK_8), True),
        ("BertModel", Adapter(Lora, {"r": 4, "target_modules": "all-linear"}), False),
        ("BertForTokenClassification", Adapter(IA3, {"task_type": "TOKEN_CLS"}), True),
    ],
)
def test_what_peft_prints_of_the_model_is_its_own(
    architecture: str, adapter: Adapter, copied: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    real = Case(BertConfig(), architecture).real()
    base = sum(tensor.numel() for tensor in real.parameters())
    adapter.added(real).print_trainable_parameters()
    model = bertcalc.load("bert-base-uncased", architecture).adapted(adapter.ours())
    whose, whole = str(model.explain(capsys.readouterr().out.strip())).split("\n")
    assert whose == f"peft prints this line for {architecture} with {adapter.ours()}."
    assert f"{base:,} belong to the model" in whole
    assert ("a trained copy of classifier" in whole) == copied


def test_another_rank_is_said_and_what_is_not_peft_s_is_none() -> None:
    line = "trainable params: 296,450 || all params: 109,780,228 || trainable%: 0.2700"
    other = CLASSIFIER.adapted(Lora(r=16, target_modules=["query", "value"], task_type="SEQ_CLS"))
    first, second, _whole, _same_counts = str(other.explain(line)).split("\n")
    assert first.endswith("peft prints different numbers: 591,362 trainable parameters of 110,075,140.")
    assert "Lora(r=8, " in second
    assert str(CLASSIFIER.explain(line)).startswith(second)  # also for a model without an adapter
    assert "for bert-base-uncased, as BertForSequenceClassification" in str(bertcalc.load("gpt2").explain(line))
    assert "No common adapter" in str(CLASSIFIER.explain(line.replace("296,450", "296,451")))
    assert "are 0.2700 %" in str(CLASSIFIER.explain(line.replace("0.27", "0.37")))
    assert printed_by_peft("trainable params: 296,450") is None
    wrong_share = str(CLASSIFIER.explain(line.replace("0.27", "0.37")))
    assert wrong_share.startswith("peft prints these two counts for BertForSequenceClassification")


def test_all_params_without_the_adapter_are_explained() -> None:
    model = bertcalc.load("bert-base-uncased").adapted(Lora(r=8, target_modules=["query", "value"]))
    base, trained = 109_482_240, model.num_parameters(only_trainable=True)
    line = f"trainable params: {trained:,} || all params: {base:,} || trainable%: {100 * trained / base:.4f}"
    assert "peft prints different numbers: 294,912 trainable parameters of 109,777,152." in str(
        bertcalc.load("bert-base-uncased").explain(line)
    )


@given(st.integers(1, 10**7), st.integers(10**7, 10**9))
def test_all_digits_of_a_float_are_right(trained: int, whole: int) -> None:
    """Older releases of peft print the share with all digits, or with an exponent."""
    line = printed_by_peft(f"trainable params: {trained} || all params: {whole} || trainable%: {100 * trained / whole}")
    assert line
    assert (line.trained, line.whole, line.wrong_share()) == (trained, whole, None)
    wrong = line._replace(trained=3 * trained)
    assert wrong.wrong_share()


def test_a_rounded_count_of_a_changed_model_is_its_own_first() -> None:
    lora = CLASSIFIER.adapted(Lora(**RANK_8))  # type: ignore[arg-type]
    first, *others = str(lora.explain("110M")).split("\n")
    assert first == "110M may be the count of the whole model: 109,780,228."
    assert len(others) == 5


def test_a_line_that_trains_more_than_there_is_is_none_of_pefts() -> None:
    assert printed_by_peft("trainable params: 5 || all params: 3 || trainable%: 166.6667") is None


@pytest.mark.parametrize(
    ("preset", "architecture", "adapter"),
    [
        ("gpt2", "GPT2Model", Adapter(Lora, {"r": 8, "target_modules": ["c_attn"]})),
        ("roberta-base", "RobertaForSequenceClassification", Adapter(Lora, RANK_8)),
        (
            "distilbert-base-uncased",
            "DistilBertForSequenceClassification",
            Adapter(Lora, {"r": 4, "target_modules": ["q_lin"], "task_type": "SEQ_CLS"}),
        ),
    ],
)
def test_a_line_of_another_published_model_is_recognized(
    preset: str, architecture: str, adapter: Adapter, capsys: pytest.CaptureFixture[str]
) -> None:
    adapter.added(Case(PRESETS[preset].config, architecture).real()).print_trainable_parameters()
    first, *_rest = str(bertcalc.load("bert-base-uncased").explain(capsys.readouterr().out.strip())).split("\n")
    assert first == f"peft prints this line for {preset}, as {architecture} with {adapter.ours()}."


@pytest.mark.filterwarnings("ignore")  # peft uses a deprecated property of transformers 5
@pytest.mark.parametrize(
    ("adapter", "others"),
    [
        (Lora(r=8, target_modules=["q_proj", "v_proj"]), "Lora(r=4, target_modules=['q_proj', 'k_proj', 'v_proj', "),
        (Lora(r=64, target_modules=["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]), ""),
    ],
)
def test_what_peft_prints_of_llama_is_explained(adapter: Lora, others: str, capsys: pytest.CaptureFixture[str]) -> None:
    with torch.device("meta"):
        llama = transformers.LlamaForCausalLM(transformers.LlamaConfig())
        config = peft.LoraConfig(r=adapter.r, target_modules=list(adapter.target_modules or ()), task_type="CAUSAL_LM")
        peft.get_peft_model(llama, config).print_trainable_parameters()
    read = str(bertcalc.read(capsys.readouterr().out.strip()))
    assert f"peft prints this line for llama-7b, as LlamaForCausalLM with {adapter}." in read
    assert "6,738,415,616 belong to the model" in read
    assert (others in read) == ("give the same two counts" in read)
