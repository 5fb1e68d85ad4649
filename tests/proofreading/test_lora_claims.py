"""The parameters that LoRA trains, for the rank and the targets in a text. peft gives the right counts."""

import copy
import warnings
from functools import cache

import pytest
import torch
from peft import LoraConfig, get_peft_model
from transformers import (
    BertConfig,
    BertModel,
    DistilBertConfig,
    DistilBertModel,
    GPT2Config,
    GPT2Model,
    LlamaConfig,
    LlamaForCausalLM,
    LlamaModel,
    PreTrainedModel,
    RobertaConfig,
    RobertaModel,
)

from bertcalc.proofreading.proofread import proofread

CODE = {"q": "query", "k": "key", "v": "value", "o": "attention.output.dense", "1": "intermediate.dense"}
CODE["2"] = r".*layer\.\d+\.output\.dense"


def model(name: str) -> PreTrainedModel:
    match name:
        case "BERT-base":
            return BertModel(BertConfig())
        case "BERT-large":
            return BertModel(
                BertConfig(hidden_size=1024, num_hidden_layers=24, num_attention_heads=16, intermediate_size=4096)
            )
        case "RoBERTa-base":
            return RobertaModel(RobertaConfig(vocab_size=50265, max_position_embeddings=514, type_vocab_size=1))
        case "GPT-2":
            return GPT2Model(GPT2Config())
    return DistilBertModel(DistilBertConfig())


@cache
def trained(name: str, rank: int, targets: str) -> int:
    """The parameters that peft trains in some modules of a model. Single letters stand for BERT's modules."""
    letters = all(letter in CODE for letter in targets)
    pattern = "|".join(CODE[letter].removeprefix(".*") for letter in targets) if letters else targets
    with torch.device("meta"), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # peft 0.21 reads an attribute that transformers has renamed
        adapted = get_peft_model(
            model(name), LoraConfig(r=rank, target_modules=rf".*({pattern})$", fan_in_fan_out=False)
        )
    return int(adapted.get_nb_trainable_parameters()[0])


Claim = tuple[str, int, str]  # (model, rank, targets)
BASE, LARGE = "BERT-base", "BERT-large"


@pytest.mark.parametrize(
    ("text", "claims", "mistake"),
    [
        (
            "LoRA on BERT-base with r = 16 on query and value: {:,} parameters.",
            [(BASE, 16, "qv")],
            (BASE, 8, "qkv"),
        ),
        (
            "LoRA on BERT-base, r=8. All four matrices of attention: {:,}.",
            [(BASE, 8, "qkvo")],
            (BASE, 8, "qkv"),
        ),
        (
            "# LoRA on BERT-base\n\nWith r = 8 on q, k, v, o we train {:,} parameters.",
            [(BASE, 8, "qkvo")],
            (BASE, 8, "qkv"),
        ),
        (
            "# LoRA on BERT-base\n\nRank 4 on all linear layers: {:,} parameters.",
            [(BASE, 4, "qkvo12")],
            (BASE, 4, "qkvo"),
        ),
        (
            "LoRA (r=8) on attention and FFN of BERT-base: {:,} trainable parameters.",
            [(BASE, 8, "qkvo12")],
            (BASE, 16, "qv"),
        ),
        (
            "LoRA on BERT-large: rank 8 on $W_q$ and $W_v$ trains {:,} parameters.",
            [(LARGE, 8, "qv")],
            (LARGE, 4, "qv"),
        ),
        ("BERT-base 的 LoRA，r = 8，只作用于 FFN：共 {} 个可训练参数。", [(BASE, 8, "12")], (BASE, 8, "1")),
        (
            "LoRA on BERT-base, query and value.\n\n"
            "| r | trainable parameters |\n|---|---|\n| 4 | {:,} |\n| 8 | {:,} |",
            [(BASE, 4, "qv"), (BASE, 8, "qv")],
            (BASE, 6, "qv"),
        ),
        (
            "LoRA with r=8. RoBERTa-base, query and key: {:,} parameters; with value too {:,}.",
            [("RoBERTa-base", 8, "qk"), ("RoBERTa-base", 8, "qkv")],
            ("RoBERTa-base", 4, "qkv"),
        ),
        (
            "LoRA on gpt2, c_attn only, r = 8: in total {:,} parameters.",
            [("GPT-2", 8, "c_attn")],
            ("GPT-2", 4, "c_attn"),
        ),
        (
            "LoRA for DistilBERT (r=8, q_lin and v_lin) trains {:,}.",
            [("D", 8, "q_lin|v_lin")],
            ("D", 16, "q_lin|v_lin"),
        ),
    ],
)
def test_the_stated_setting_says_what_is_right(text: str, claims: list[Claim], mistake: Claim) -> None:
    right = [trained(*claim) for claim in claims]
    assert [claim.verdict for claim in proofread(text.format(*right)).claims] == ["right"] * len(right)
    [wrong] = proofread(text.format(*right[:-1], trained(*mistake))).of("wrong")
    assert wrong.right_value == right[-1]


@pytest.mark.parametrize("rounded", ["0.3M", "0.29M", "294.9K"])
def test_a_rounded_number_is_right(rounded: str) -> None:
    [claim] = proofread(f"LoRA on BERT-base with r=8 on query and value trains {rounded} parameters.").claims
    assert claim.verdict == "right"


def test_what_is_stated_nowhere_is_a_condition() -> None:
    number = trained(BASE, 16, "qkv")
    assert [claim.verdict for claim in proofread(f"LoRA on BERT-base trains {number:,} parameters.").claims] == [
        "conditional"
    ]


@pytest.mark.parametrize(
    "text",
    [
        "BERT-base with LoRA r=8 on query and value. The full matrix has 768 × 768 = 589,824 parameters.",
        "BERT-base with LoRA r=8 on query and value of the last 6 layers: 147,456 trainable parameters.",
        "BERT-base with LoRA r=8 on query and value, and the classifier: 296,450 trainable parameters.",
        "BERT-base, LoRA r=8 on query and value: each matrix gets 12,288 parameters, each layer 24,576.",
    ],
)
def test_what_is_not_only_lora_is_not_wrong(text: str) -> None:
    assert not proofread(text).of("wrong")


def test_an_adapter_that_the_text_does_not_name_is_no_reason() -> None:
    report = proofread("gpt2 with LoRA on c_attn, r = 8: 24,576 parameters per layer.")
    assert "Prompt" not in str(report)


@cache
def llama(**sizes: int) -> PreTrainedModel:
    with torch.device("meta"):
        return LlamaModel(LlamaConfig(**sizes))


def trained_of(model: PreTrainedModel, rank: int, targets: tuple[str, ...]) -> int:
    with torch.device("meta"), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # as in ``trained``
        peft = get_peft_model(copy.deepcopy(model), LoraConfig(r=rank, target_modules=list(targets)))
    return int(peft.get_nb_trainable_parameters()[0])


LLAMA_3 = {"hidden_size": 4096, "intermediate_size": 14336, "num_key_value_heads": 8, "vocab_size": 128256}
LINEAR = ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj")


def test_lora_counts_of_models_like_llama_are_judged() -> None:
    right = trained_of(llama(**LLAMA_3), 16, ("q_proj", "v_proj"))
    text = "LoRA on Llama-3-8B with r = 16 on q_proj and v_proj trains {:.1f}M parameters."
    assert not proofread(text.format(right / 1e6)).of("wrong")
    [claim] = proofread(text.format(2 * right / 1e6)).of("wrong")
    assert claim.right_value == right


def test_a_heading_gives_the_rank_and_the_targets_of_a_list() -> None:
    right = trained_of(llama(), 16, LINEAR)
    layer = right // 32
    text = (
        "## LoRA on Llama-2-7B, r=16, all linear\n\n"
        "- Per layer attention: 4 * 16 * (4096 + 4096) = 524,288\n- Per layer FFN: {}\n- Per layer total: {:,}\n"
        "- Total: 32 * {:,} = {:,} ({} of 7B)\n"
    )
    share = f"{100 * right / 6738415616:.2f}%"
    assert not proofread(text.format("3 * 16 * (4096 + 11008) = 724,992", layer, layer, 32 * layer, share)).of("wrong")
    doubled = layer + 724_992
    text = text.format("3 * 2 * 16 * (4096 + 11008) = 1,449,984", doubled, doubled, 32 * doubled, "0.1%")
    claims = proofread(text).of("wrong")
    assert [claim.right_value for claim in claims[:3]] == [724_992, layer, right]
    assert round(float(claims[3].right_value or 0), 2) == round(100 * right / 6738415616, 2)


@pytest.mark.parametrize("names", ["Q, K, V and output", "query, key, value, output", "Q、K、V 和 output"])
def test_an_output_beside_the_projections_is_a_target(names: str) -> None:
    with torch.device("meta"):
        model = BertModel(BertConfig())
    right = trained_of(model, 16, ("query", "key", "value", "attention.output.dense"))
    text = "BERT-base with LoRA, r = 16, on {} trains {:,} parameters in all 12 layers.".format
    assert not proofread(text(names, right)).of("wrong")
    [claim] = proofread(text(names, right * 3 // 4)).of("wrong")
    assert claim.right_value == right


@pytest.mark.filterwarnings("ignore")  # peft uses a deprecated property of transformers 5
def test_the_rows_of_a_table_have_targets_of_their_own_and_their_sum_has_all() -> None:
    """Compared with peft on LlamaForCausalLM with Llama-7B's sizes."""
    table = """LLaMA-7B with LoRA

| module | shape | LoRA per layer (r=8) |
|---|---|---|
| q/k/v/o (4) | 4096×4096 | 4 × 8×(4096+4096) = 262,144 |
| gate/up (2) | 4096×11008 | 2 × 8×(4096+11008) = 241,664 |
| down (1) | 11008×4096 | 1 × 8×(11008+4096) = 120,832 |
| total per layer | — | {} |
"""
    config = LlamaConfig(num_hidden_layers=1)
    modules = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]
    with torch.device("meta"):
        model = get_peft_model(LlamaForCausalLM(config), LoraConfig(r=8, target_modules=modules))
    trained, _all = model.get_nb_trainable_parameters()
    claims = [claim for claim in proofread(table.format(f"{trained:,}")).claims if "," in claim.text]
    assert [claim.verdict for claim in claims] == ["right"] * 4


SETTING = "We fine-tune {model} with LoRA, r = 16, on {targets}. The adapter has {number} trainable parameters."


@pytest.mark.parametrize(
    ("model", "targets", "number", "right"),
    [
        ("LLaMA-7B", "q_proj, k_proj, v_proj and o_proj", "4,194,304", 16_777_216),  # one matrix per layer
        ("LLaMA-7B", "q_proj, k_proj, v_proj and o_proj", "4.19M", 16_777_216),
        ("BERT-base", "query and value", "0.29M", 589_824),
    ],
)
def test_the_only_setting_of_a_text_is_that_of_the_next_sentence(
    model: str, targets: str, number: str, right: int
) -> None:
    [claim] = proofread(SETTING.format(model=model, targets=targets, number=number)).claims
    assert (claim.verdict, int(claim.right_value or 0)) == ("wrong", right)
    [claim] = proofread(SETTING.format(model=model, targets=targets, number=f"{right:,}")).claims
    assert claim.verdict == "right"
    several = SETTING.format(model=model, targets=targets, number=number) + " With r = 8 on the query it is less."
    assert all(claim.verdict != "wrong" for claim in proofread(several).claims)


@pytest.mark.parametrize(
    ("text", "right"),
    [
        ("GPT-2 with LoRA r=16 on c_attn and c_proj trains {} parameters.", 1_622_016),  # c_proj of both blocks
        ("On Llama-3-8B, LoRA r=8 for q_proj and v_proj has {} trainable parameters.", 3_407_872),
        ("QLoRA with r=64 on q_proj and v_proj of Llama-2-7B trains {} parameters.", 33_554_432),
        ("LoRA r=16 on query and value of BERT-base trains {} parameters.", 589_824),
    ],
)
def test_a_stated_setting_comes_before_a_part_with_the_same_count(text: str, right: int) -> None:
    """The numbers are those that peft prints for the real classes. 4,194,304 and 590,592 are counts of other parts."""
    assert proofread(text.format(f"{right:,}")).claims[0].verdict == "right"
    for other in (4_194_304, 590_592):
        assert all(claim.verdict != "right" for claim in proofread(text.format(f"{other:,}")).claims)
