"""The parameters that LoRA trains, for the rank and the targets in a text. peft gives the right counts."""

from functools import cache

import pytest

from bertcalc.proofreading.proofread import proofread
from tests.adapters import peft_counts
from tests.proofreading.real_models import LARGE, ROBERTA, real

CODE = {"q": "query", "k": "key", "v": "value", "o": "attention.output.dense", "1": "intermediate.dense"}
CODE["2"] = r".*layer\.\d+\.output\.dense"


MODELS = {
    "BERT-base": real(),
    "BERT-large": real(**LARGE),
    "RoBERTa-base": real("RobertaModel", **ROBERTA),
    "GPT-2": real("GPT2Model"),
    "DistilBERT": real("DistilBertModel"),
}


@cache
def trained(name: str, rank: int, targets: str) -> int:
    """The parameters that peft trains in some modules of a model. Single letters stand for BERT's modules."""
    letters = all(letter in CODE for letter in targets)
    pattern = "|".join(CODE[letter].removeprefix(".*") for letter in targets) if letters else targets
    return peft_counts(MODELS[name], r=rank, target_modules=rf".*({pattern})$")[0]


Claim = tuple[str, int, str]  # (model, rank, targets)
BASE = "BERT-base"


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
            [("BERT-large", 8, "qv")],
            ("BERT-large", 4, "qv"),
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
            [("DistilBERT", 8, "q_lin|v_lin")],
            ("DistilBERT", 16, "q_lin|v_lin"),
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


def test_an_adapter_that_the_text_does_not_name_is_no_reason() -> None:
    report = proofread("gpt2 with LoRA on c_attn, r = 8: 24,576 parameters per layer.")
    assert "Prompt" not in str(report)


LLAMA_3 = {"hidden_size": 4096, "intermediate_size": 14336, "num_key_value_heads": 8, "vocab_size": 128256}
LINEAR = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]


def test_lora_counts_of_models_like_llama_are_judged() -> None:
    right = peft_counts(real("LlamaModel", **LLAMA_3), r=16, target_modules=["q_proj", "v_proj"])[0]
    text = "LoRA on Llama-3-8B with r = 16 on q_proj and v_proj trains {:.1f}M parameters."
    assert not proofread(text.format(right / 1e6)).of("wrong")
    [claim] = proofread(text.format(2 * right / 1e6)).of("wrong")
    assert claim.right_value == right


def test_a_heading_gives_the_rank_and_the_targets_of_a_list() -> None:
    right = peft_counts(real("LlamaModel"), r=16, target_modules=LINEAR)[0]
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
    targets = ["query", "key", "value", "attention.output.dense"]
    right = peft_counts(real(), r=16, target_modules=targets)[0]
    text = "BERT-base with LoRA, r = 16, on {} trains {:,} parameters in all 12 layers.".format
    assert not proofread(text(names, right)).of("wrong")
    [claim] = proofread(text(names, right * 3 // 4)).of("wrong")
    assert claim.right_value == right


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
    trained = peft_counts(real("LlamaForCausalLM", num_hidden_layers=1), r=8, target_modules=LINEAR)[0]
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


def wrong(text: str) -> list[str]:
    return [claim.text for claim in proofread(text).of("wrong")]


@pytest.mark.parametrize(
    "text",
    [
        "We compare LoRA on BERT-base.\n\n{}",
        "{}\n\nLoRA on BERT-base",
        "{}\n\nbert-base-uncased (without the pooler)",
    ],
)
def test_the_ranks_may_be_columns(text: str) -> None:
    rows = {"query": "q", "query, value": "qv", "query, key, value": "qkv", "query, key, value, dense": "qkvo12"}
    counts = {label: [trained(BASE, rank, targets) for rank in (8, 16)] for label, targets in rows.items()}

    def table() -> str:
        lines = (f"| {label} | {first:,} | {second:,} |" for label, (first, second) in counts.items())
        return "\n".join(("| target_modules | r = 8 | r = 16 |", "|---|---|---|", *lines))

    assert not wrong(text.format(table()))
    counts["query, value"][1] = trained(BASE, 16, "qkv")
    assert wrong(text.format(table())) == [f"{trained(BASE, 16, 'qkv'):,}"]


def test_the_rank_may_be_below_the_table() -> None:
    counts = [trained(BASE, 8, targets) for targets in ("q", "qv")]
    text = "| Targets | Trainable |\n|---|---|\n| query | {:,} |\n| query, value | {:,} |\n\nLoRA (r = 8) on BERT-base."
    assert not wrong(text.format(*counts))


@pytest.mark.parametrize(
    ("text", "scale"),
    [
        (
            "LoRA with r = 8 on all linear layers of BERT-base: {:,} for attention and {:,} for the FFN per layer, "
            "together {:,} per layer.",
            12,
        ),
        (
            "LoRA (r = 8) on all linear layers of a BERT-base layer: 4 × 8 × (768 + 768) = {:,} for attention and "
            "2 × 8 × (768 + 3072) = {:,} for the FFN, together {:,} per layer.",
            12,
        ),
        ("LoRA with r = 8 on every linear layer of BERT-base: attention {:,}, FFN {:,}, total {:,}.", 1),
    ],
)
def test_subtotals_add_up_to_all_linear_layers(text: str, scale: int) -> None:
    right = [trained(BASE, 8, targets) // scale for targets in ("qkvo", "12", "qkvo12")]
    assert not wrong(text.format(*right))
    for place, slip in enumerate((right[1], right[2], right[2] + right[0])):
        mistaken = [*right]
        mistaken[place] = slip
        [claim] = proofread(text.format(*mistaken)).of("wrong")
        assert claim.text.endswith(f"{slip:,}")


def test_an_adapter_beside_lora_has_its_own_parameters() -> None:
    text = "Trainable parameters of BERT-base: LoRA (r=8, query and value) {}, {}."
    assert not wrong(text.format("0.3M", "adapters (bottleneck 64) 2.4M"))
    assert wrong(text.format("0.6M", "adapters (bottleneck 64) 2.4M")) == ["0.6M"]


def test_the_targets_may_be_columns() -> None:
    head = "| LoRA rank | query | query + value | all linear |\n|---|---|---|---|\n"
    text = head + "| {} | {:,} | {:,} | {:,} |\n\nBERT-base"
    counts = [trained(BASE, 8, targets) for targets in ("q", "qv", "qkvo12")]
    assert not wrong(text.format(8, *counts))
    counts[1] = trained(BASE, 8, "qkv")
    [claim] = [claim for claim in proofread(text.format(8, *counts)).claims if claim.text == f"{counts[1]:,}"]
    assert claim.verdict == "unknown"
