"""The page that explains why a number is different."""

from itertools import chain
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from streamlit.testing.v1 import AppTest

from bertcalc import BertConfig, Lora, load
from bertcalc.change_steps.effects import with_steps
from bertcalc.change_steps.step_texts import read_steps
from bertcalc.diagnosis.diagnose import diagnose
from bertcalc.diagnosis.known_counts import KnownCount
from bertcalc.families import family_of
from bertcalc.families.presets import PRESETS
from bertcalc.families.published import PUBLISHED
from bertcalc.memory.peak.peak_formulas import peak_bytes
from bertcalc.memory.plan import Plan
from bertcalc.model.model import Model
from bertcalc.text.amounts import typed
from pages.ui.change.step_words import brief
from pages.ui.diagnosis.terms_view import EXAMPLES, TERMS
from pages.ui.diagnosis.your_number import numbers_to_try
from tests.examples import examples, sampled
from tests.markdown import read
from tests.oracle import Case
from tests.pages.apptest import button, open_app, present, showing, tables


def cells(app: AppTest) -> list[list[str]]:
    """The rows of all tables, as the page writes them."""
    return [[str(cell) for cell in row] for table in tables(app) for row in table.to_numpy().tolist()]


def click(app: AppTest, label: str) -> AppTest:
    button(app, label).click().run()
    assert not app.exception
    return app


def test_a_link_can_switch_off_the_pooler_of_a_class_that_has_no_such_option() -> None:
    open_app("explain.py", architecture="BertForMaskedLM", add_pooling_layer="false", number="110,000,123")


def test_an_empty_field_is_no_wrong_number() -> None:
    app = open_app("explain.py")
    app.text_input(key="number").set_value("  ").run()
    assert not app.error
    assert not tables(app)
    assert not app.exception


def test_what_rounds_to_110_million() -> None:
    rows = [[row[0], row[-1]] for row in cells(open_app("explain.py"))]
    assert ["BertForMaskedLM, decoder tied  \nBertLMHeadModel, decoder tied", "109,514,298"] in rows
    assert ["BertForPreTraining, decoder tied", "110,106,428"] in rows
    assert ["BertModel with pooler", "**109,482,240**"] in rows


LORA = "lora,r=13,target_modules=query+value"
SKIPPED = "bitsandbytes,load_in_4bit=true,llm_int8_skip_modules=pooler.dense+encoder.layer.0.output.dense"


def stepped(changes: str, number: str) -> str:
    """The Explain page's answer about a number, for the base model with steps."""
    app = open_app("explain.py", changes=changes, number=number)
    assert not app.error
    assert brief(read_steps(changes)[0]) in next(iter(app.get("page_link"))).proto.label
    said = [box.value for box in [*app.success, *app.info, *app.warning]]
    return " ".join([*said, *chain(*cells(app))]).replace("`", "")


def test_a_number_is_explained_against_the_model_with_the_steps_of_the_link() -> None:
    adapted = load("bert-base-uncased").adapted(Lora(r=13, target_modules=["query", "value"]))
    trained = f"{adapted.trainable_parameters:,}"
    assert "trains with Lora(r=13, target_modules=['query', 'value'])" in stepped(LORA, trained)
    assert stepped(LORA, "109,961,472").endswith(" 109,961,472")  # 109,482,240 + 479,232, with its formula
    file = stepped(LORA, f"{adapted.file_bytes('adapter'):,} bytes")
    assert "adapter_model.safetensors, as peft writes it" in file.replace("\\", "")
    assert not any("trains with" in box.value for box in open_app("explain.py", number=trained).success)


@pytest.mark.parametrize("adapter", ["", ";lora,r=13"])
def test_the_bytes_of_the_steps_of_the_link_are_explained(adapter: str) -> None:
    """Weights with unquantized layers have no common format. tests/storage checks the sizes."""
    changed = with_steps(load("bert-base-uncased"), read_steps(SKIPPED + adapter))
    for size, words in ((changed.file_bytes, "is the size of a file of"), (changed.memory_bytes, "in memory as")):
        said = stepped(SKIPPED + adapter, f"{size:,} bytes")
        assert words in said
        assert "bitsandbytes FP4" in said
        assert "in float32 by a factor of" in said
        assert ("Lora" in said) == bool(adapter)
        plain = open_app("explain.py", number=f"{size:,} bytes")
        assert not any(words in box.value for box in plain.success)


def test_a_step_of_the_link_that_is_not_possible_is_named() -> None:
    parameters = f"{Case(BertConfig(num_hidden_layers=11)).real().num_parameters():,}"
    app = open_app("explain.py", changes="layers,layers=3+;lorra", number=parameters)
    assert "did you mean lora?" in app.error[0].value
    assert parameters in chain(*cells(app))


@pytest.mark.parametrize("published", sampled([one for one in PUBLISHED if not one.surplus], 16))
def test_a_published_total_is_recognised(published: Any) -> None:
    app = open_app("explain.py", preset=published.preset, number=f"{published.parameters:,}")
    assert "Exact match with a known count" in app.success[0].value
    assert any(published.architecture in row[0] for row in cells(app))


def test_a_miscount_is_said_with_its_formula_and_comes_out() -> None:
    app = open_app("explain.py", number="109,089,024")  # without the 512 positions of 768
    assert app.info[0].value.startswith("One miscount explains your number exactly. About 1 in ")
    rows = cells(app)
    assert rows[0][2] == "109,482,240"
    assert rows[1] == ["the position embeddings are left out", r"$- H P = - 768 \cdot 512$", "−393,216"]
    assert rows[2][2] == "**109,089,024**"


def test_sizes_of_another_model_are_said_with_their_letters() -> None:
    app = open_app("explain.py", preset="bert-large-uncased", number="157.759.488")  # 12 layers of 3,072, no pooler
    assert cells(app)[:4] == [
        ["right: BertModel with pooler", "", "335,141,888"],
        ["`num_hidden_layers`, `intermediate_size` of bert-base-uncased", r"$L = 12$, $I = 3{,}072$", "−176,332,800"],
        [
            "the pooler is left out",
            r"$- H \left(H + 1\right) = - 1{,}024 \cdot \left(1{,}024 + 1\right)$",
            "−1,049,600",
        ],
        ["**your number**", "", "**157,759,488**"],
    ]


@pytest.mark.parametrize("by_button", [True, False])
def test_write_up_004_says_whose_it_is_by_its_button_and_typed(by_button: bool) -> None:
    app = click(open_app("explain.py"), "75,641,856") if by_button else open_app("explain.py", number="75641856")
    assert "an article's hand count for bert-base-chinese" in app.info[0].value
    rows = cells(app)
    assert rows[0][2] == "102,267,648"
    assert [row[2] for row in rows[1:-1]] == ["−82,944", "−590,592", "−25,952,256"]
    assert rows[-1][2] == "**75,641,856**"
    click(app, "Use bert-base-chinese")
    assert showing(app.selectbox, "preset").value == "bert-base-chinese"
    assert cells(app) == rows


@pytest.mark.parametrize(
    "text", ["12*7087872", "7,087,872 * 12", "12 × 7 087 872", "１２＊７０８７８７２", "L*(4H²+2HI+9H+I)"]
)
def test_a_product_is_worked_out(text: str) -> None:
    app = open_app("explain.py", number=text)
    assert ["all 12 layers", "85,054,464"] in [[row[0], row[2]] for row in cells(app)]


def test_a_bar_of_the_first_page_is_said_to_be_that_and_no_miscount() -> None:
    app = open_app("explain.py", number="28,348,416")
    assert "Exact match with a part of this model" in app.success[0].value
    rows = cells(app)
    assert [row[0] for row in rows] == [
        "attention of all 12 layers",
        "first matrix of the feed-forward network of all 12 layers",
    ]
    assert rows[0][1] == r"$4 H L \left(H + 1\right) = 4 \cdot 768 \cdot 12 \cdot \left(768 + 1\right)$"
    assert not app.info


def test_write_up_004_term_by_term() -> None:
    app = click(open_app("explain.py", explain="terms"), "formulas with the values of a config.json")
    rows = cells(app)
    assert "= −36,864" in rows[1][3]
    assert "= −25,952,256" in rows[1][3]
    assert "= −46,080" in rows[2][3]
    assert ["the sum of the terms", "75,641,856"] in rows
    assert any(row[1] == "+590,592" for row in rows)
    assert rows[-1][1] == "**102,267,648**"


@pytest.mark.parametrize("name", ["a layer-by-layer count", "tensor-by-tensor notes"])
def test_examples_that_come_out_right(name: str) -> None:
    app = click(open_app("explain.py", explain="terms"), name)
    assert app.success[0].value.startswith("Every term is right")
    assert all(":material/check_circle:" in row[2] for row in cells(app))


def test_the_inventory_comes_out_right() -> None:
    app = click(open_app("explain.py", explain="terms"), "an inventory of modules")
    assert [row[2] for row in cells(app)] == [":material/check_circle: a count of modules"] * 4


def test_the_count_that_people_write_first_fits_any_model() -> None:
    app = open_app("explain.py", explain="terms", preset="bert-large-cased")
    rows = cells(app)
    assert rows[-1][1] == "**333,579,264**"
    assert app.text_area[0].value == TERMS


@pytest.mark.parametrize("text", ["a lot", "12*", "3 - 5", "10^40"])
def test_what_cannot_be_read_is_said_and_nothing_else_is_shown(text: str) -> None:
    app = open_app("explain.py", number="109,514,298")
    app.text_input(key="number").set_value(text).run()
    assert not app.exception
    assert len(app.error) == 1
    assert not cells(app)
    assert not [*app.success, *app.info, *app.warning, *app.caption]


def test_bytes_are_no_miscount_where_a_known_count_rounds_to_them() -> None:
    app = open_app("explain.py", number="437.9 MB")
    assert any(row[-1] == "**109,482,240**" for row in cells(app))
    assert not app.info


def test_what_a_rounded_number_may_mean_is_said_where_nothing_rounds_to_it() -> None:
    app = open_app("explain.py", number="72.1 MB", preset="bert-base-chinese")
    ranges = [row[1].replace(",", "").split(" – ") for row in cells(app) if "1,024" in row[0]]
    assert any(int(low) <= 75_641_856 <= int(high) for low, high in ranges)


def test_another_published_model_is_named_and_can_be_taken() -> None:
    app = open_app("explain.py", number="335,141,888")
    assert "bert-large-uncased" in app.success[0].value
    click(app, "Use bert-large-uncased")
    assert "Exact match with a known count (" in app.success[0].value
    assert present(app).hidden_size == 1024


def test_what_nothing_explains_is_said_honestly() -> None:
    app = open_app("explain.py", number="123,456,789")
    assert app.warning[0].value.startswith("123,456,789 has no simple explanation")


def test_equals_are_shown_with_what_tells_them_apart() -> None:
    app = open_app("explain.py", number="109,454,592")
    assert app.info[0].value.startswith("2 explanations lead to exactly this number; the most likely one comes first.")
    rows = cells(app)
    assert [row[0] for row in rows if row[-1] == "−27,648"] == [
        "**1.** the biases of query, key and value are left out",
        "**2.** both biases of the feed-forward network are counted as if their size were the hidden size",
    ]
    assert ["attention", "28,320,768", "28,348,416"] in rows


def test_a_habit_is_said_as_one() -> None:
    app = open_app("explain.py", number="108,495,360")
    assert (
        "One way of counting explains your number exactly: only the word embeddings and the layers" in app.info[0].value
    )
    assert "**108,495,360**" in cells(app)[-1]


def test_a_weak_explanation_is_said_to_be_a_hint_and_several_mistakes_are_folded() -> None:
    known = KnownCount(Model(BertConfig()), 109_482_240)
    numbers = [109_482_240 + 768 * step for step in range(17, 75)]  # smaller differences may be added tokens
    found = {number: diagnose(known, typed(f"{number}")) for number in numbers}
    weak = next(number for number, one in found.items() if one.miscounted and not (one.confident or one.slips))
    assert "treat this as a hint" in open_app("explain.py", number=f"{weak}").info[0].value
    folded = next(number for number, one in found.items() if one.possible and not (one.miscounted or one.slips))
    app = open_app("explain.py", number=f"{folded}")
    assert not [*app.info, *cells(app)]
    assert app.warning
    assert app.expander


def test_a_rounded_number_with_a_miscount_is_said_before_another_models_count() -> None:
    app = open_app("explain.py", number="470.3M", preset="xlm-roberta-base", architecture="XLMRobertaForMaskedLM")
    said, elsewhere = [info.value for info in app.info]
    assert said.startswith("Counted this way, the total rounds to your number. About 1 in")
    assert "LaBSE" in elsewhere
    assert [row[-1] for row in cells(app)][-2:] == ["470,296,722", "**470,300,000**"]


def test_a_slip_is_said_first() -> None:
    app = open_app("explain.py", number="109,482,241")
    assert app.info[0].value.startswith("Probably a typo")
    assert "109,482,240 (BertModel with pooler)" in app.info[0].value


@pytest.mark.parametrize(
    ("number", "said"),
    [
        ("85M", "Read as a range: 84,500,000 to 85,500,000."),
        ("85,054,464", "Read as 85,054,464, exactly."),
        ("12*7087872", "Read as 85,054,464, exactly."),
        ("437.9 MB", "Read as 437,850,000 to 437,950,000 bytes."),
        ("437928960 bytes", "Read as 437,928,960 bytes."),
    ],
)
def test_how_a_text_was_read_is_said(number: str, said: str) -> None:
    assert said in [one.value for one in open_app("explain.py", number=number).caption]


def test_a_part_of_another_model_is_known() -> None:
    app = open_app("explain.py", number="12,596,224")  # a layer of bert-large
    assert "one layer of bert-large-uncased" in app.success[0].value


def test_what_only_rounds_in_other_units_has_no_tick() -> None:
    assert not open_app("explain.py", number="85M", preset="bert_uncased_L-4_H-512_A-8").success


def test_a_long_text_in_the_link_is_refused() -> None:
    app = open_app("explain.py", number="1" * 201, terms="a\n" * 3000)
    assert {text.value.split(" ")[0] for text in app.text} == {"number", "The"}


@examples(8)
@given(st.text(max_size=60) | st.text("0123456789*+-/^×(), HLMe", max_size=20), st.text(max_size=200))
def test_no_text_ends_in_a_traceback(number: str, lines: str) -> None:
    for view in ("total", "terms"):
        app = open_app("explain.py", explain=view)
        if view == "total":
            app.text_input(key="number").set_value(number).run()
        else:
            app.text_area(key="terms").set_value(lines).run()
        assert not app.exception


def test_examples_are_of_presets() -> None:
    assert {example.preset for example in EXAMPLES.values()} <= set(PRESETS)


@pytest.mark.parametrize("number", ["417.6 MB", "417.6 MiB", "208.8 MB"])  # 109,482,240 x 4 or 2, over 1,024^2
def test_bytes_that_were_divided_by_powers_of_two_are_recognised(number: str) -> None:
    assert any(row[-1] == "**109,482,240**" for row in cells(open_app("explain.py", number=number)))


def test_a_usual_mistake_comes_before_another_models_count() -> None:
    """The decoder counted twice gives the count of an ELECTRA model."""
    app = open_app("explain.py", architecture="BertForMaskedLM", number="132,955,194")
    main: Any = app.main
    said = [one.value for one in main if one.type in ("info", "success")]
    assert app.info[0].value.startswith("One miscount explains your number exactly.")
    assert "electra-base-discriminator" in app.success[0].value
    assert said.index(app.info[0].value) < said.index(app.success[0].value)


def test_a_number_that_was_published_is_said_to_be_no_count() -> None:
    app = open_app("explain.py", preset="gpt2", number="117M")
    [said] = [info.value for info in app.info if "OpenAI" in info.value]
    assert "124,439,808" in said


def test_a_model_that_never_has_a_pooler_is_not_said_to_have_none() -> None:
    rows = cells(open_app("explain.py", preset="distilbert-base-uncased", number="66,362,880"))
    assert "DistilBertModel" in [row[0] for row in rows]


def test_a_published_model_that_rounds_to_the_number_is_named_and_can_be_taken() -> None:
    app = open_app("explain.py", number="340M")
    assert "bert-large-uncased" in app.info[0].value
    app = click(app, "Use bert-large-uncased")
    assert any("335,141,888" in row[-1] for row in cells(app))


def test_what_was_typed_is_quoted_as_it_is() -> None:
    said = open_app("explain.py", number="[click](https://example.org)").error[0].value
    assert read(said).code == ["[click](https://example.org)"]


def test_an_example_is_of_bert_model_whatever_class_was_there() -> None:
    app = open_app("explain.py", explain="terms", architecture="BertForMaskedLM")
    name = next(iter(EXAMPLES))
    next(one for one in app.button if one.label == name).click().run()
    model = app.session_state["track"].present
    assert (model.architecture, model.preset) == ("BertModel", EXAMPLES[name].preset)


def test_bytes_can_be_a_peak_of_memory() -> None:
    model = Model(BertConfig(), "BertForMaskedLM")
    count = peak_bytes(model, Plan(), 32, 128)
    app = open_app("explain.py", number=f"{count} bytes", architecture="BertForMaskedLM", batch_size="32")
    assert "**peak memory of a training step with AdamW**" in str(app.info[0].value)
    app = open_app("explain.py", number="443.0 MB")
    assert "**peak memory of inference** is 443.0 MB" in " ".join(str(one.value) for one in app.info)
    assert not open_app("explain.py", number=f"{count}").exception


@pytest.mark.parametrize("preset", ["bert-base-uncased", "gpt2", "albert-base-v2", "ModernBERT-base"])
def test_the_examples_are_of_the_present_model(preset: str) -> None:
    app = open_app("explain.py", preset=preset)
    config = PRESETS[preset].config
    rounded, power, size, wrong = numbers_to_try(Model(config, family_of(config).base.name))
    right = Case(config, family_of(config).base.name).real().num_parameters()
    assert size == f"{4 * right / 10**6:,.1f} MB"  # in float32
    for text in (rounded, power, size):
        click(app, text)
        assert f"**{right:,}**" in [row[-1] for row in cells(app)]
    click(app, wrong)
    assert cells(app)[-1][2] == f"**{wrong}**"


@pytest.mark.parametrize(
    ("number", "row"), [("22.35G", "22,348,431,360 FLOPs"), ("11.17 GMACs", "11,174,215,680 MACs")]
)
def test_operations_of_the_model_are_recognised(number: str, row: str) -> None:
    app = open_app("explain.py", number=number)
    assert "the model takes this number of operations" in app.success[0].value
    assert [cell for line in cells(app) for cell in line if cell == row]


def test_a_sum_of_parts_is_shown_with_both_formulas() -> None:
    rows = cells(open_app("explain.py", number="24,427,776"))
    assert ["embeddings + pooler", "24,427,776"] in [[row[0], row[2]] for row in rows]


def test_a_total_is_compared_with_the_lines_above_it() -> None:
    app = open_app("explain.py", explain="terms", terms="embeddings = (V+P+T+2)*H\nSoftmax: 0\ntotal = 23,837,184")
    rows = cells(app)
    assert rows[1][2] == ":material/check_circle: no parameters"
    assert rows[2][2] == ":material/cancel: the whole model:  \nshould be 109,482,240"
    assert rows[2][3] == "The lines above add up to this."
    assert ["the sum of the terms", "23,837,184"] in rows


def test_one_head_is_named() -> None:
    rows = cells(open_app("explain.py", number="147,648"))
    assert "query, key and value of one head of one layer" in [row[0] for row in rows]


def test_a_part_stands_before_adapters_with_as_many_parameters() -> None:
    """The number counts the weights of one head's query, key and value. LoRA of rank 4 trains as many parameters."""
    app = open_app("explain.py", number="147,456")
    assert cells(app)[0][0] == "weights of query, key and value of one head of one layer"
    assert "Lora(r=4, " in app.success[1].value


def test_a_cost_that_nothing_has_is_answered_with_a_cost() -> None:
    app = open_app("explain.py", number="5 GFLOPs")
    [warning] = [warning.value for warning in app.warning]
    assert "22.35 GFLOPs" in warning  # PyTorch's counter gives 22,348,431,360
    assert "parameters" not in warning


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("440,473,133", "PyTorch file (.bin) of BertForPreTraining"),
        ("1,610,612,736 bytes", "The attention scores of one layer"),
        ("which vocabulary gives 102,267,648?", "With vocab_size = 21,128"),
    ],
)
def test_what_else_a_number_may_mean_is_said_where_nothing_explains_it(text: str, words: str) -> None:
    app = open_app("explain.py", number=text)
    assert any(words in info.value.replace("\\", "") for info in app.info)
    assert not app.warning


def test_the_line_that_peft_prints_is_compared_with_the_model_and_its_steps() -> None:
    line = "trainable params: 296,450 || all params: 109,780,228 || trainable%: 0.2700"
    link = {"architecture": "BertForSequenceClassification", "number": line}
    app = open_app("explain.py", changes="lora,target_modules=query+value,task_type=SEQ_CLS", **link)
    assert not app.error
    whose, whole = (info.value for info in app.info)
    assert whose.startswith("peft prints this line for BertForSequenceClassification with `Lora(r=8, ")
    assert "1,538 to a trained copy of classifier" in whole
