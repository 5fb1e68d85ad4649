"""The answer of the first page: its numbers are those of the real models, for every change and in every language."""

import re
from dataclasses import replace
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bertcalc import ARCHITECTURES, BertConfig
from bertcalc.controls.chosen_model import ChosenModel
from bertcalc.diagnosis.known_counts import readings
from bertcalc.families.presets import PRESETS
from bertcalc.text.amounts import typed
from pages.ui.parameters import answer
from pages.ui.shell.i18n import LANGUAGES, catalogue
from pages.ui.shell.sidebar import Choice
from pages.ui.widgets.bars import preset_in_class
from tests.examples import examples
from tests.oracle import Case
from tests.pages.apptest import open_app, without_marks

BASE, LARGE = "bert-base-uncased", "bert-large-uncased"
changes = st.fixed_dictionaries(
    {},
    optional={
        "num_hidden_layers": st.integers(1, 30),
        "vocab_size": st.integers(1, 40_000),
        "intermediate_size": st.integers(1, 5_000),
        "max_position_embeddings": st.integers(1, 600),
        "num_labels": st.integers(1, 4),
        "hidden_act": st.sampled_from(["gelu", "relu", "prelu"]),
        "is_decoder": st.booleans(),
        "tie_word_embeddings": st.booleans(),
    },
)
widths = st.sampled_from(
    [{}, {}, {"hidden_size": 768, "num_attention_heads": 8}, *({"hidden_size": 48 * n} for n in (10, 20))]
)


def choice(preset: str = BASE, architecture: str = "BertModel", pooler: bool = True, **fields: Any) -> Choice:
    config = replace(PRESETS[preset].config, **fields)
    return Choice(ChosenModel(preset, config, architecture, pooler).model(), preset)


def said(chosen: Choice, language: str = "en") -> str:
    with patch.object(answer, "_", catalogue(language).gettext):
        return answer.yours(chosen)


def real(chosen: Choice) -> int:
    total: int = Case.of(chosen.model).real().num_parameters()
    return total


def numbers(text: str) -> list[int]:
    return [int(number.replace(",", "")) for number in re.findall(r"(?<![\w-])[+-]?\d[\d,]*(?![\w-])", text)]


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_papers_number_is_the_one_in_two_digits_and_the_other_rounded(language: str) -> None:
    with patch.object(answer, "_", catalogue(language).gettext):
        text = answer.published()
    base, pretraining = (real(choice(architecture=name)) for name in ("BertModel", "BertForPreTraining"))
    assert f"{base:,}" in text
    assert f"{pretraining:,}" in text
    (papers,) = re.findall(r"\d+M", text)
    rounded, two_digits = (reading for reading in readings(typed(papers)) if reading.key == "parameters")
    assert (rounded.means(base), rounded.means(pretraining)) == (False, True)
    assert two_digits.means(base)
    assert f"{base:.1e}" == f"{float(typed(papers).value):.1e}"


@pytest.mark.parametrize(
    ("chosen", "text"),
    [
        (choice(), ""),
        (choice(num_hidden_layers=18), "Yours has 6 more layers, 7,087,872 each."),
        (choice(num_hidden_layers=11), "Yours has 1 fewer layer, −7,087,872."),
        (choice(vocab_size=21128), "Yours has 9,394 fewer word pieces, 768 each."),
        (choice(num_attention_heads=16), "Yours has 4 more heads, with the same count."),
        (choice(pooler=False), "Yours: without a pooler, −590,592."),
        # 12 heads do not divide 832, so both sizes change. Only the hidden size changes the count.
        (choice(hidden_size=832, num_attention_heads=13), "Yours has 64 more hidden units, +11,729,600."),
        (
            choice(hidden_size=1024, num_attention_heads=16, intermediate_size=4096),
            "Yours has 256 more hidden units, 1,024 more feed-forward units, +74,504,960 in all.",
        ),
        (choice(architecture="BertForMaskedLM"), "As BertForMaskedLM, it has 109,514,298."),
        (
            choice(architecture="BertForMaskedLM", tie_word_embeddings=False),
            "As BertForMaskedLM, it has 109,514,298. Yours: decoder with its own matrix, +23,471,418.",
        ),
        (
            choice(LARGE),
            "bert-large-uncased has 335,141,888: 256 more hidden units, 12 more layers, 1,024 more feed-forward units, "
            "+225,659,648 in all.",
        ),
        (
            choice("bert-large-cased"),
            "bert-large-cased has 333,579,264: 256 more hidden units, 12 more layers, 1,024 more feed-forward units "
            "and other changes, +224,097,024 in all.",
        ),
        (
            choice(LARGE, vocab_size=1),
            "bert-large-uncased has 335,141,888: 256 more hidden units, 12 more layers, 1,024 more feed-forward units, "
            "+225,659,648 in all. Yours has 30,521 fewer word pieces, 1,024 each.",
        ),
        (
            choice("bert-base-chinese", "BertForSequenceClassification"),
            "As BertForSequenceClassification, bert-base-uncased has 109,483,778, and bert-base-chinese has "
            "102,269,186: 9,394 fewer word pieces, 768 each.",
        ),
        (choice("bert_uncased_L-12_H-768_A-12"), "bert_uncased_L-12_H-768_A-12 has 109,482,240."),
        (
            choice("gpt2", "GPT2Model", num_hidden_layers=11),
            "gpt2 has 124,439,808. Yours has 1 fewer layer, −7,087,872.",
        ),
    ],
)
def test_what_is_said_of_a_model(chosen: Choice, text: str) -> None:
    assert said(chosen) == text


@examples(12)
@given(
    st.sampled_from([BASE, LARGE, "bert-base-chinese"]),
    st.sampled_from(list(ARCHITECTURES)),
    st.booleans(),
    changes,
    widths,
)
def test_the_numbers_are_the_real_models(
    preset: str, architecture: str, pooler: bool, changed: dict[str, Any], width: dict[str, int]
) -> None:
    chosen = choice(preset, architecture, pooler, **(changed | width if preset != LARGE else changed))
    start = choice(preset, architecture)
    *openings, last = re.split(r"(?<=\.) ", said(chosen)) if said(chosen) else [""]
    difference = real(chosen) - real(start)
    if not last.startswith("Yours"):
        assert difference == 0
        openings = [last]
    elif last.endswith(" each."):
        *_before, count, each = numbers(last)
        assert count * each == abs(difference)
    elif last.endswith("with the same count."):
        assert difference == 0
    else:
        assert f", {difference:+,}".replace("-", "−") in last or (difference == 0 and ", 0 in all" in last)
    for opening in filter(None, openings):
        assert f"{real(start):,}" in opening
        if ": " in opening:
            *_count, more, each = numbers(opening)
            assert real(start) - real(choice(architecture=architecture)) in (each, more * each, -more * each)
    assert numbers(said(chosen, "zh")) == numbers(said(chosen))


@pytest.mark.parametrize(
    ("preset", "body", "parts"),
    [
        ("gpt2", "GPT2Model", {"Word embeddings": ("wte.", ".word_"), "Pooler": ("pooler", "pooler")}),
        ("roberta-base", "RobertaModel", {"Word embeddings": (".word_", ".word_"), "Token types": ("_type_",) * 2}),
        (
            "albert-base-v2",
            "AlbertModel",
            {"Feed-forward": (".ffn", r"r\.\d+\.(intermediate|output)\.dense"), "Word embeddings": (".word_",) * 2},
        ),
    ],
)
def test_another_family_differs_by_parts_that_the_real_models_have(
    preset: str, body: str, parts: dict[str, tuple[str, str]]
) -> None:
    """In both models, a pattern of tensor names selects each part."""
    there, here = choice(preset, body), choice()
    text, difference = said(there), real(there) - real(here)
    assert text.startswith(
        f"{preset} has {real(there):,}, {abs(difference):,} {'more' if difference > 0 else 'fewer'} than {BASE}"
    )
    for part, patterns in parts.items():
        more, less = (
            sum(tensor.numel() for name, tensor in Case.of(one.model).real().named_parameters() if re.search(at, name))
            for one, at in zip((there, here), patterns, strict=True)
        )
        amount = f"{more - less:+,}".replace("-", "−")
        assert f"{part} {amount}" in text
    assert numbers(said(there, "zh")) == numbers(text)


@pytest.mark.parametrize("preset", {type(one.config): name for name, one in PRESETS.items()}.values())
def test_the_named_parts_of_another_family_are_all_of_the_difference_or_smaller_ones_are_said_to_be_left(
    preset: str,
) -> None:
    chosen = Choice(preset_in_class(preset, "BertModel"), preset)
    if isinstance(chosen.config, BertConfig):
        return
    count, difference, *parts = numbers(said(chosen).replace(preset, "").replace("−", "-"))
    assert count == real(chosen)
    assert ("and smaller ones" in said(chosen)) == (
        sum(parts) != (difference if " more " in said(chosen) else -difference)
    )


def test_a_class_of_another_family_is_compared_with_the_class_that_is_named() -> None:
    chosen = choice("distilbert-base-uncased", "DistilBertForMaskedLM")
    bert, distilbert = real(choice(architecture="BertForMaskedLM")), real(chosen)
    text = said(chosen)
    assert f"{bert - distilbert:,} fewer than bert-base-uncased as BertForMaskedLM ({bert:,})" in text
    assert "Decoder" not in text  # both have the decoder's bias, in modules of different names


def test_every_sentence_is_translated() -> None:
    for chosen in (
        choice(num_hidden_layers=18),
        choice(LARGE),
        choice(architecture="BertForMaskedLM", pooler=False),
        choice("albert-base-v2", "AlbertModel"),
    ):
        text = said(chosen, "zh")
        assert text.endswith("。")
        assert not re.search(r"[a-z] [a-z]", text), text


def test_the_page_says_it_under_its_heading_and_the_projector_does_not() -> None:
    app = open_app(num_hidden_layers="18")
    assert "**Yours has 6 more layers, 7,087,872 each.**" in without_marks(app.markdown[0].value)
    assert app.metric[0].delta == "+42,527,232 · × 1.39"
    assert app.metric[0].proto.delta_description == "vs. bert-base-uncased"
    assert "Yours" not in str([text.value for text in open_app(num_hidden_layers="18", present="1").markdown])
