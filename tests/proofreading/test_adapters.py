"""Lines that peft prints for models with LoRA."""

import pytest

from bertcalc.proofreading.claims import CheckedClaim
from bertcalc.proofreading.proofread import proofread
from tests.adapters import peft_counts
from tests.proofreading.real_models import real

# The models, and what peft 0.21 printed for them: rank 8 on query and value.
PRINTED = {
    "bert-base-uncased": "trainable params: 294,912 || all params: 109,777,152 || trainable%: 0.2686",
    "bert-base-uncased with a classifier": "trainable params: 296,450 || all params: 109,780,228 || trainable%: 0.2700",
    "roberta-base": "trainable params: 887,042 || all params: 125,534,212 || trainable%: 0.7066",
    "distilbert-base-uncased": "trainable params: 739,586 || all params: 67,694,596 || trainable%: 1.0925",
}


@pytest.mark.parametrize("model", PRINTED)
def test_what_peft_prints_is_right(model: str) -> None:
    report = proofread(f"# LoRA on {model}\n\n```\n{PRINTED[model]}\n```\n")
    assert [claim.verdict for claim in report.claims] == ["right"] * 3, str(report)


def test_a_share_that_does_not_fit_its_counts_is_wrong() -> None:
    printed = PRINTED["bert-base-uncased"].replace("0.2686", "0.3686")
    claim = proofread(f"LoRA on BERT-base\n\n{printed}").claims[-1]
    assert claim.verdict == "wrong"
    assert "294,912 of 109,777,152 parameters are 0.2686 %, not 0.3686 %." in claim.reason
    assert round(float(claim.right_value or 0), 4) == 0.2686


def test_all_parameters_without_the_adapter_are_too_few() -> None:
    printed = PRINTED["bert-base-uncased"]
    without = printed.replace("109,777,152", "109,482,240").replace("0.2686", "0.2694")
    for text in (f"LoRA on BERT-base\n\n{without}", without):
        whole, share = proofread(text).of("wrong")
        assert (int(whole.value), int(whole.right_value or 0)) == (109_482_240, 109_777_152)
        assert round(float(share.right_value or 0), 4) == 0.2686
    assert not proofread(without.replace("294,912", "85,054,464").replace("0.2694", "77.6879")).of("wrong")


def test_only_texts_about_adapters_count_them() -> None:
    assert [claim.verdict for claim in proofread("BERT-base: there are 294,912 of them").claims] == ["unknown"]


def trained(rank: int) -> int:
    """The parameters that peft trains in BERT-base on query and value."""
    return peft_counts(real(), r=rank, target_modules=["query", "value"])[0]


@pytest.mark.parametrize(
    "text",
    [
        "bert-base-uncased, LoRA on query and value with r=8: {:,} parameters. With r = 16 it is {:,}, and r=4 {:,}.",
        "bert-base-uncased 的 LoRA,r = 8,作用于 query 和 value:{}。\n\n如果 r = 16,就是 {};r = 4 则是 {}。",
        "LoRA on BERT-base: rank 8 trains {:,} parameters, rank 16 {:,}, rank 4 {:,}.",
    ],
)
def test_the_trained_parameters_are_those_of_the_rank_that_the_text_states(text: str) -> None:
    right = [trained(8), trained(16), trained(4)]
    assert [claim.verdict for claim in proofread(text.format(*right)).claims] == ["right"] * 3
    # 442,368 is right for rank 8 on query, key and value
    [claim] = proofread(text.format(trained(8), 442_368, trained(4))).of("wrong")
    assert (int(claim.value), int(claim.right_value or 0)) == (442_368, trained(16))


CODE = """
model = {model}.from_pretrained("{name}", num_labels={labels})
config = LoraConfig(task_type=TaskType.SEQ_CLS, r={r}, lora_alpha=32, lora_dropout=0.1,
                    target_modules={targets})  # the attention
model = get_peft_model(model, config)
model.print_trainable_parameters()
# trainable params: {trained:,} || all params: {all:,} || trainable%: {share:.4f}
"""


@pytest.mark.parametrize(
    ("r", "targets", "labels"), [(8, ["query", "key", "value", "dense"], 2), (16, ["query", "value"], 3)]
)
def test_the_code_says_what_peft_prints(r: int, targets: list[str], labels: int) -> None:
    classifier = real("BertForSequenceClassification", num_labels=labels)
    trained, whole = peft_counts(classifier, r=r, target_modules=targets, task_type="SEQ_CLS")
    values = {"model": "BertForSequenceClassification", "name": "bert-base-uncased", "labels": labels, "r": r,
              "targets": str(targets).replace("'", '"'), "all": whole, "share": 100 * trained / whole}  # fmt: skip
    assert [claim.verdict for claim in printed_claims(CODE.format(trained=trained, **values))] == ["right"] * 3
    wrong = printed_claims(CODE.format(trained=294_912 + 1_538, **(values | {"all": 109_780_228, "share": 0.27})))
    assert [claim.right_value for claim in wrong[:2]] == [trained, whole]
    assert round(float(wrong[2].right_value or 0), 4) == round(100 * trained / whole, 4)
    named = CODE.replace("r={r}", "r=RANK").replace("{targets})", "TARGETS)").replace("{labels}", "self.labels")
    named = f"RANK = {r}  # low\nTARGETS = {{targets}}\n\ndef __init__(\n    labels: int = {labels},\n){named}"
    broken = named.replace("|| all", "\n#     || all").format(trained=trained, **values)
    assert [claim.verdict for claim in printed_claims(broken)] == ["right"] * 3
    wrong = printed_claims(named.format(trained=294_912, **values))
    assert wrong[0].right_value == trained


def test_the_code_above_a_line_says_which_model_is_adapted() -> None:
    targets = ["q_proj", "k_proj", "v_proj", "o_proj"]
    llama = real("LlamaForCausalLM", vocab_size=32_000, hidden_size=4096, intermediate_size=11_008)
    trained, whole = peft_counts(llama, r=16, target_modules=targets, task_type="CAUSAL_LM")
    line = "# trainable params: {:,} || all params: {:,} || trainable%: {:.2f}\n"
    code = f"""# BERT, and then a larger model in 4 bits
model = AutoModelForCausalLM.from_pretrained("meta-llama/Llama-2-7b-hf", quantization_config=bnb_config)
lora_config = LoraConfig(r=16, lora_alpha=32, target_modules={targets}, task_type="CAUSAL_LM")
get_peft_model(model, lora_config).print_trainable_parameters()
"""
    right = printed_claims(code + line.format(trained, whole, 100 * trained / whole))
    assert [claim.verdict for claim in right] == ["right"] * 3
    of_two_matrices = trained // 4
    wrong = printed_claims(code + line.format(of_two_matrices, whole - trained + of_two_matrices, 0.06))
    assert [int(claim.right_value or 0) for claim in wrong[:2]] == [trained, whole]


CLASSIFIER = peft_counts(
    real("BertForSequenceClassification"), r=8, target_modules=["query", "value"], task_type="SEQ_CLS"
)


def test_a_count_of_lora_alone_leaves_the_head_out() -> None:
    trained, _all = CLASSIFIER
    text = f"LoRA with r = 8 on the query and value of bert-base-uncased: {trained:,} parameters"
    assert not proofread(text).of("wrong")
    [claim] = proofread(f"{text} (counting only LoRA parameters)").of("wrong")
    assert claim.right_value == trained - (768 * 2 + 2)


def printed_claims(text: str) -> list[CheckedClaim]:
    report = proofread(text)
    return [claim for claim in report.claims if claim.start > text.index("trainable params")]


def test_a_checkpoint_that_is_not_known_is_not_judged_by_another_model() -> None:
    code = (
        'AutoModel.from_pretrained("microsoft/graphcodebert-base")\nLoraConfig(r=16, target_modules=["query", "value"])'
    )
    printed = "# trainable params: 589,824 || all params: 125,235,456 || trainable%: 0.4710"
    assert not proofread(f"```python\n{code}\n{printed}\n```").of("wrong")


@pytest.mark.parametrize("whole", [109_779_202, 109_489_410])
def test_all_params_near_those_that_peft_prints_are_wrong(whole: int) -> None:
    trained, right = CLASSIFIER
    text = f"# bert-base-uncased\n\n# trainable params: {trained:,} || all params: {{}} || trainable%: 0.27\n"
    assert not proofread(text.format(f"{right:,}")).of("wrong")
    [claim] = proofread(text.format(f"{whole:,}")).of("wrong")
    assert claim.text == f"{whole:,}"
    assert claim.right_value == right


def test_early_peft_did_not_train_a_copy_of_the_question_answering_head() -> None:
    """See https://github.com/huggingface/peft/issues/801, August 2023."""
    text = """BERT-base for questions.

config = LoraConfig(task_type="QUESTION_ANS", r=16, lora_alpha=32)
trainable params: {:,} || all params: {:,} || trainable%: {}
"""
    early = proofread(text.format(589_824, 109_483_010, 0.5387356449187869)).claims[-3:]
    assert {claim.verdict for claim in early} == {"conditional"}
    other = proofread(text.format(442_368, 109_335_554, 0.4046)).claims[-3:]
    assert "wrong" in {claim.verdict for claim in other}


@pytest.mark.parametrize("between", ["\n", ": "])
def test_a_line_of_another_rank_than_the_stated_one_is_not_right(between: str) -> None:
    (right, _whole), (trained, whole) = (
        peft_counts(real(), r=rank, target_modules=["query", "value"]) for rank in (8, 16)
    )
    printed = f"trainable params: {trained:,} || all params: {whole:,} || trainable%: {100 * trained / whole:.4f}"
    first, second, _share = proofread(f"BERT-base with LoRA r=8 on query and value{between}{printed}").claims
    assert (first.verdict, second.verdict) == ("wrong", "conditional")
    assert first.right_value == right


def test_the_share_of_an_adapter_is_not_taken_for_that_of_a_part() -> None:
    assert len(proofread("BERT-base: 0.54% is in the pooler.").of("right")) == 1
    assert not proofread("LoRA trains 0.54% of BERT-base.").claims
