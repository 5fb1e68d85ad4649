"""Other tools' formulas: they give the figures that their sources print, and their reasons lead to the real count."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bertcalc import BertConfig, Config, build
from bertcalc.config import POSITION_EMBEDDING_TYPES
from bertcalc.diagnosis.cause_formulas import tool_formulas
from bertcalc.diagnosis.miscounts import MiscountSizes, counted, total
from bertcalc.diagnosis.other_tools import REASONS, TOOLS, Tool, corrections, padded_vocab_size, tool_counts
from bertcalc.families import CLASSES
from bertcalc.model.formula import ALL_SYMBOLS, Formula
from bertcalc.model.model import Model
from tests.oracle import Case
from tests.strategies import cases, configs

tools = st.sampled_from(list(TOOLS.values()))

# For bert-base-uncased, the values that the functions named as sources return. Narayanan's formula omits only the
# pooler, the token types and the LayerNorm of the embeddings.
BERT_BASE = {
    "EleutherAI tied": 108_844_032,
    "EleutherAI": 132_284_928,
    "llm-analysis": 108_394_752,
    "Megatron": 108_467_712,
    "gpu_poor": 160_128_000,
    "Narayanan": 109_482_240 - 590_592 - 3_072,
}

LIKE_BERT = [name for name, family in CLASSES.items() if family.like_bert]


@pytest.mark.parametrize("name", BERT_BASE)
def test_bert_base(name: str) -> None:
    assert dict(tool_counts(BertConfig()))[name] == BERT_BASE[name]


def test_nanogpts_notebook() -> None:
    """The notebook prints PyTorch's count for GPT-2 small without biases."""
    assert TOOLS["nanoGPT"].count(BertConfig(vocab_size=50257, max_position_embeddings=1024)) == 124_337_664


@pytest.mark.parametrize(
    ("layers", "hidden", "billions"),
    [
        (24, 2304, "1.7"),
        (30, 3072, "3.6"),
        (36, 4096, "7.5"),
        (40, 6144, "18.4"),
        (48, 8192, "39.1"),
        (60, 10240, "76.1"),
        (80, 12288, "145.6"),
        (96, 16384, "310.1"),
        (105, 20480, "529.6"),
        (128, 25600, "1008.0"),
    ],
)
def test_narayanans_table(layers: int, hidden: int, billions: str) -> None:
    """Table 1 of the paper: a vocabulary of 51,200 and 2,048 positions."""
    config = BertConfig(
        vocab_size=51200,
        hidden_size=hidden,
        num_hidden_layers=layers,
        num_attention_heads=hidden // 128,
        intermediate_size=4 * hidden,
        max_position_embeddings=2048,
    )
    assert f"{TOOLS['Narayanan'].count(config) / 10**9:.1f}" == billions


@given(configs(), tools)
def test_no_formula_depends_on_what_it_does_not_know(config: Config, tool: Tool) -> None:
    known = {"vocab_size", "hidden_size", "num_hidden_layers", "intermediate_size", "max_position_embeddings"}
    other = BertConfig(pad_token_id=None, **{field: getattr(config, field) for field in known}, num_attention_heads=1)
    assert tool.count(other) == tool.count(config)


@given(cases(classes=LIKE_BERT), tools)
def test_the_reasons_lead_to_the_real_count(case: Case, tool: Tool) -> None:
    right = sum(tensor.numel() for tensor in case.real().parameters())
    found = corrections(tool, case.ours(), MiscountSizes.of(case.config))
    assert tool.count(case.config) + sum(one.amount for one in found) == right
    assert all(one.amount for one in found)


@given(cases(POSITION_EMBEDDING_TYPES, LIKE_BERT), tools)
def test_a_right_count_with_the_miscounts_of_a_tool_is_its_count(case: Case, tool: Tool) -> None:
    tensors, sizes = counted(case.ours()), MiscountSizes.of(case.config)
    for one in corrections(tool, case.ours(), sizes):
        after = REASONS[one.miscount].make(tensors, sizes)
        assert total(tensors) - total(after) == one.amount
        tensors = after
    assert total(tensors) == tool.count(case.config)


@given(cases(POSITION_EMBEDDING_TYPES, LIKE_BERT), tools)
def test_formulas_give_the_numbers(case: Case, tool: Tool) -> None:
    numbers: dict[str, Any] = {**case.config.shared(), "padded_vocab_size": padded_vocab_size(case.config)}
    values = {symbol: numbers[field] for field, symbol in ALL_SYMBOLS.items() if field in numbers}

    def value(formula: Formula) -> Any:
        return formula.expression.subs(values)

    formulas = tool_formulas(case.model, tool.name)
    assert sum(map(value, formulas.terms)) == tool.count(case.config)
    found = {one.miscount: one.amount for one in corrections(tool, case.ours(), MiscountSizes.of(case.config))}
    assert list(found) == [miscount for miscount in formulas.corrections if miscount in found]
    assert {miscount: value(formula) for miscount, formula in formulas.corrections.items()} == {
        miscount: found.get(miscount, 0) for miscount in formulas.corrections
    }


def test_formulas_are_written_as_their_sources_have_them() -> None:
    formulas = {name: tool_formulas(Model(BertConfig()), name) for name in TOOLS}
    latex = {name: [term.latex() for term in one.terms] for name, one in formulas.items()}
    assert latex["EleutherAI"] == ["2 H V", "4 H^{2} L", "8 H^{2} L", "H P", "8 H L + 2 H"]
    assert latex["12LH2"] == ["12 H^{2} L"]
    assert latex["Narayanan"] == [r"12 H^{2} L \left(1 + \frac{13}{12 H} + \frac{P + V}{12 H L}\right)"]
    assert latex["Megatron"][-1] == "H V'"


def reasons(tool: str, case: Case) -> set[str]:
    return {one.miscount for one in corrections(TOOLS[tool], case.ours(), MiscountSizes.of(case.config))}


@pytest.mark.parametrize("tool", TOOLS)
def test_what_no_tool_knows_is_named(tool: str) -> None:
    assert {"pooler", "head"} <= reasons(tool, Case(BertConfig(), "BertForPreTraining"))
    assert "pooler" not in reasons(tool, Case(BertConfig(), "BertForMaskedLM"))
    assert "head" not in reasons(tool, Case(BertConfig(), "BertModel"))
    decoder = BertConfig(is_decoder=True, add_cross_attention=True, hidden_act="prelu")
    assert {"cross attention", "activation"} <= reasons(tool, Case(decoder))
    assert "distances" in reasons(tool, Case(BertConfig(position_embedding_type="relative_key")))


@pytest.mark.parametrize("tool", ["EleutherAI", "gpu_poor"])
def test_an_output_matrix_is_right_where_the_decoder_is_not_tied(tool: str) -> None:
    tied, untied = (Case(BertConfig(tie_word_embeddings=tie), "BertForMaskedLM") for tie in (True, False))
    assert {"head", "output matrix"} <= reasons(tool, tied)
    assert reasons(tool, tied) - reasons(tool, untied) == {"head", "output matrix"}
    assert reasons(tool, untied) - reasons(tool, tied) == {"head but decoder"}


def test_only_what_is_wrong_here_is_a_reason() -> None:
    right, wrong = BertConfig(), BertConfig(intermediate_size=3000)
    assert "four times" not in {
        one.miscount for one in corrections(TOOLS["nanoGPT"], build(right), MiscountSizes.of(right))
    }
    assert "four times" in {
        one.miscount for one in corrections(TOOLS["nanoGPT"], build(wrong), MiscountSizes.of(wrong))
    }
