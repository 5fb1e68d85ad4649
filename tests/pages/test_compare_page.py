"""The Compare page: its amounts add up to the difference of the real models, and impossible models are explained."""

import json
import re
from dataclasses import replace
from itertools import pairwise, product
from urllib.parse import parse_qsl

import pandas as pd
import pytest
import torch
from streamlit.testing.v1 import AppTest
from transformers import LlamaConfig, LlamaForCausalLM, T5Config, T5EncoderModel

from bertcalc import ARCHITECTURES, BertConfig, BitsAndBytesConfig, Config, Lora, build, forward_flops, load
from bertcalc.discover.results.result import NOT_ASKED
from bertcalc.discover.results.shipped import shipped
from bertcalc.explore.compare import PAIRS, WELL_KNOWN
from bertcalc.explore.model_values import model_of_preset
from bertcalc.explore.quantities import EVERY_QUANTITY, QUANTITIES
from bertcalc.explore.quantities import Case as Quantified
from bertcalc.families.presets import PRESETS
from bertcalc.model_ref import LONGEST, MOST
from bertcalc.text.digits import figure
from bertcalc.text.problem import InputError, Problem
from pages.ui.compare.comparison import VIEW
from tests.adapters import Adapter
from tests.examples import sampled
from tests.oracle import Case
from tests.pages.apptest import button, frame_of, move, open_app, tables, texts, total_formula

WIDE = "bert-base-uncased~num_hidden_layers-39~num_attention_heads-6~hidden_size-384~intermediate_size-1664"


def real(config: Config, architecture: str = "BertModel") -> int:
    return sum(tensor.numel() for tensor in Case(config, architecture).real().parameters())


def number(text: str) -> int:
    return int(text.strip("*").replace(",", "").replace("−", "-") or 0)


def models(app: AppTest) -> str:
    return str(app.text_input(key="models").value)


def sum_of(app: AppTest) -> dict[str, str]:
    """The terms of the difference: each amount, keyed by the words below it."""
    _letters, terms = total_formula(app)["lines"]
    parts = [part for unit in terms["parts"][1]["parts"] if isinstance(unit, dict) for part in unit["parts"]]
    return {part["brace"]: part["parts"][0][1] for part in parts if isinstance(part, dict) and part["brace"]}


def press(app: AppTest, label: str) -> None:
    button(app, label).click().run()
    assert not app.exception


def pinned(app: AppTest) -> bool:
    return not button(app, "Pin the current model").disabled


def test_the_first_screen_explains_base_and_large() -> None:
    app = open_app("compare.py")
    base, large = real(BertConfig()), real(PRESETS["bert-large-uncased"].config)
    assert app.metric[0].value == f"{large - base:+,}" == "+225,659,648"
    assert app.metric[0].delta == "× 3.06"
    terms = sum_of(app)
    assert terms["12 more layers"] == f"{real(BertConfig(num_hidden_layers=24)) - base:,}"
    assert "256 more hidden units" in terms
    assert "4 more heads" not in terms
    steps = tables(app)[0]
    assert list(steps["Step"])[1:-1] == [
        "12 more layers",
        "4 more heads",
        "256 more hidden units",
        "1,024 more feed-forward units",
    ]
    assert steps["Changed"][1] == "`num_hidden_layers` 12 → 24"
    assert [number(text) for text in steps["Running total"]][:2] == [base, real(BertConfig(num_hidden_layers=24))]


@pytest.mark.parametrize("measure", QUANTITIES)
def test_every_line_of_the_sum_can_be_checked(measure: str) -> None:
    app = open_app("compare.py", models=PAIRS["shape"].models, compare_by=measure)
    steps = tables(app)[0]
    totals = [number(text) for text in steps["Running total"]]
    differences = [number(text) for text in steps["Difference"]]
    assert [later - earlier for earlier, later in pairwise(totals[:-1])] == differences[1:-1]
    assert totals[-1] == totals[-2]
    assert sum(differences[1:-1]) == differences[-1] == number(str(app.metric[0].value))


def test_the_first_comparison_stays_when_a_size_changes_and_a_press_compares_with_the_preset() -> None:
    app = open_app("compare.py", preset="bert-base-chinese")
    assert app.multiselect[0].value == ["present", "bert-large-uncased"]
    move(app, num_hidden_layers=10)
    assert app.multiselect[0].value == ["present", "bert-large-uncased"]
    config = PRESETS["bert-base-chinese"].config
    present = replace(config, num_hidden_layers=10)
    assert number(app.metric[0].value) == real(PRESETS["bert-large-uncased"].config) - real(present)
    assert models(app) == ""  # the default follows the model and is not in the link
    press(app, "Compare with the preset")
    assert models(app) == "bert-base-chinese present"
    assert number(app.metric[0].value) == real(present) - real(config)
    assert open_app("compare.py", preset="bert-large-uncased").multiselect[0].value == ["present", "bert-base-uncased"]


def test_the_present_model_follows_the_sidebar() -> None:
    app = open_app("compare.py", models="present bert-large-uncased")
    move(app, num_hidden_layers=24)
    assert (
        app.metric[0].value
        == f"{real(PRESETS['bert-large-uncased'].config) - real(BertConfig(num_hidden_layers=24)):+,}"
    )
    assert not any("more layers" in words for words in sum_of(app))


def test_a_pinned_model_stays_while_the_sidebar_changes() -> None:
    app = open_app("compare.py", models="present", vocab_size="21128")
    assert "two models" in app.info[0].value
    press(app, "Pin the current model")
    assert models(app) == "present bert-base-uncased~vocab_size-21128"
    assert app.metric[0].value == "0"
    assert not pinned(app)
    move(app, num_hidden_layers=11)
    assert models(app) == "present bert-base-uncased~vocab_size-21128"
    layer = real(BertConfig()) - real(BertConfig(num_hidden_layers=11))
    assert app.metric[0].value == f"{layer:+,}"
    assert pinned(app)


def test_models_are_chosen_by_name() -> None:
    app = open_app("compare.py")
    chosen = app.multiselect[0]
    assert chosen.value == ["present", "bert-large-uncased"]
    app.multiselect[0].set_value(["bert-large-uncased", "all-MiniLM-L6-v2"]).run()
    assert models(app) == "bert-large-uncased all-MiniLM-L6-v2"
    app.multiselect[0].set_value([]).run()
    assert app.multiselect[0].value == ["present", "bert-large-uncased"]


def test_a_pasted_config_joins_the_comparison() -> None:
    app = open_app("compare.py")
    config = {"model_type": "bert", "architectures": ["BertForTokenClassification"], "pad_token_id": 5, "x": 1}
    app.text_area(key="config_json").set_value(json.dumps({**config, "vocab_size": 21128})).run()
    said = texts(app)
    assert "Unknown keys, ignored: x. If they change the model, its count differs." in said
    count = real(BertConfig(vocab_size=21128), "BertForTokenClassification")
    assert f"BertForTokenClassification: {count:,} parameters" in said
    press(app, "Add to the comparison")
    assert models(app).endswith(" bert-base-chinese~pad_token_id-5~architecture-BertForTokenClassification")
    app.selectbox(key="explained").set_value(models(app).split()[-1]).run()
    assert f"{count:,}" in [text.strip("*") for text in tables(app)[0]["Running total"]]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("{", "This is not JSON: line 1"),
        ('{"model_type": "no_such"}', "bertcalc's model families are bert"),
        ('{"hidden_size": 770, "use_cache": true}', "use 768 or 780"),
        ('{"![x](http://x)": 1, "![x](http://x)": 2}', "![x](http://x) appears twice"),
    ],
)
def test_what_is_wrong_with_a_pasted_config_is_said_and_the_comparison_stays(text: str, why: str) -> None:
    app = open_app("compare.py")
    app.text_area(key="config_json").set_value(text).run()
    assert not app.exception
    assert why in texts(app)[0]
    assert "Add to the comparison" not in [button.label for button in app.button]
    assert app.metric[0].value == "+225,659,648"


@pytest.mark.parametrize("pair", PAIRS)
def test_a_pair_is_one_press_away_and_says_what_it_teaches(pair: str) -> None:
    app = open_app("compare.py", explained="bert-large-uncased", compare=PAIRS[pair].view or "differences")
    assert PAIRS[pair].lesson not in [text.value for text in app.markdown]
    press(app, PAIRS[pair].name)
    assert models(app) == PAIRS[pair].models
    assert PAIRS[pair].lesson in [text.value for text in app.markdown]
    assert not app.error


@pytest.mark.parametrize(("view", "pair"), sampled(product(VIEW.options, PAIRS), 4))
def test_every_view_of_every_pair_comes_up(view: str, pair: str) -> None:
    app = open_app("compare.py", compare=view, models=PAIRS[pair].models, compare_by="training_memory")
    assert not app.error
    assert not app.info


LORA = "lora,r=16,target_modules=query+value"
NF4 = "bitsandbytes,load_in_4bit=true,bnb_4bit_quant_type=nf4"


def test_the_present_model_is_compared_with_itself_without_its_steps() -> None:
    app = open_app("compare.py", changes=LORA)
    adapter = Adapter(Lora, {"r": 16, "target_modules": ["query", "value"]})
    trained, _every = adapter.added(Case(BertConfig(), "BertModel").real()).get_nb_trainable_parameters()
    assert app.multiselect[0].value == ["present~changes-none", "present"]
    assert app.metric[0].value == f"{trained:+,}"
    assert sum_of(app) == {"with LoRA: r=16": f"{trained:,}"}
    assert tables(app)[0]["Changed"][1] == f"`changes` – → {LORA}"
    assert not [link for link in app.get("page_link") if link.proto.page == "change"]


def test_a_table_of_models_with_steps_has_what_is_trained_and_the_bytes() -> None:
    models = f"present~changes-none present bert-base-uncased~changes-{LORA} distilbert-base-uncased"
    app = open_app("compare.py", compare="table", changes=f"{NF4};{LORA}", models=models, architecture="BertModel")
    table = tables(app)[0].set_index("")
    bert, lora = load("bert-base-uncased"), Lora(r=16, target_modules=["query", "value"])
    quantized = bert.quantized(BitsAndBytesConfig(load_in_4bit=True, bnb_4bit_quant_type="nf4")).adapted(lora)
    adapted, distil = bert.adapted(lora), load("distilbert-base-uncased")
    trained = [f"{count:,}" for count in (bert.num_parameters(), 589_824, 589_824, distil.num_parameters())]
    assert list(table.loc["trained parameters"]) == trained
    files = (bert.file_bytes(), quantized.file_bytes, adapted.file_bytes(), distil.file_bytes())
    weights = (
        4 * bert.num_parameters(),
        quantized.memory_bytes,
        4 * adapted.num_parameters(),
        4 * distil.num_parameters(),
    )
    for row, sizes in (("size of the file", files), ("memory of the weights", weights)):
        assert [figure(size, "bytes") for size in sizes] == list(table.loc[row])
    assert list(table.loc["`changes`"])[::3] == ["–", "–"]
    assert list(table.columns)[2:] == ["bert-base-uncased, LoRA: r=16", "distilbert-base-uncased"]


@pytest.mark.parametrize(("view", "measure"), sampled(product(VIEW.options, EVERY_QUANTITY), 12))
def test_every_view_shows_models_with_steps(view: str, measure: str) -> None:
    models = f"present gpt2~changes-gguf albert-base-v2~changes-{LORA}"
    if view == "glance":
        measure = "parameters"
    app = open_app("compare.py", compare=view, compare_by=measure, models=models, changes="layers,layers=0+;bitfit")
    assert not app.exception
    assert "current model, Drop layers: layers=0+" in names_shown(app)


def names_shown(app: AppTest) -> str:
    """The names of the models that the controls show."""
    return " ".join(app.multiselect[0].options)


def test_a_pinned_model_keeps_its_steps() -> None:
    app = open_app("compare.py", models="present", changes=LORA, vocab_size="21128")
    press(app, "Pin the current model")
    assert models(app) == f"present bert-base-uncased~vocab_size-21128~changes-{LORA}"
    assert app.metric[0].value == "0"
    move(app, num_hidden_layers=11)
    assert number(app.metric[0].value) == 7_087_872 + 4 * 16 * 768


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ("lorra", "There is no step 'lorra': did you mean lora?"),
        ("lora,target_modules=no+", "No module of BertModel matches target_modules no"),
        ("layers,layers=40", "layers 40 is invalid"),
    ],
)
def test_a_step_that_is_not_possible_leaves_the_model_out_with_the_reason(changes: str, why: str) -> None:
    app = open_app("compare.py", changes=changes)
    [said] = texts(app)
    assert why in said
    assert models(app) == ""
    assert "A difference needs two models" in app.info[0].value


def test_all_architectures_stand_in_the_table() -> None:
    app = open_app("compare.py", compare="table", models=PAIRS["tasks"].models)
    table = tables(app)[0]
    assert list(table["Model"]) == ["bert-base-uncased", *list(ARCHITECTURES)[1:]]
    assert [number(text) for text in table["**parameters in total**"]] == [
        real(BertConfig(), name) for name in ARCHITECTURES
    ]
    assert "embeddings" not in table  # equal in all of them
    assert list(table["pooler"])[:3] == ["590,592", "590,592", "–"]


def test_fields_that_differ_and_shapes_stand_in_the_table() -> None:
    table = tables(open_app("compare.py", compare="table"))[0].set_index("")
    assert list(table.columns) == ["current model", "bert-large-uncased"]
    assert list(table.loc["`hidden_size`"]) == ["768", "1,024"]
    assert list(table.loc["`intermediate.dense.weight`"]) == ["3,072 × 768", "4,096 × 1,024"]
    assert "`vocab_size`" not in table.index
    assert list(table.loc["encoder"]) == ["85,054,464", "302,309,376"]


def test_a_class_says_whether_it_has_a_pooler() -> None:
    base = "bert-base-uncased"
    models = f"{base} {base}~add_pooling_layer-false {base}~architecture-BertForMaskedLM"
    rows = set(tables(open_app("compare.py", compare="table", models=models))[0][""])
    assert "`add_pooling_layer`" not in rows


def test_a_wrong_model_is_named_and_left_out() -> None:
    link = "bert-base-uncased bert-base-uncased~hidden_size-770 bert-bse-cased bert-base-chinese"
    app = open_app("compare.py", models=link)
    said = texts(app)
    assert said[0] == "bert-bse-cased is left out: there is no preset bert-bse-cased: did you mean bert-base-cased?"
    assert said[1].startswith("bert-base-uncased, H 770 is left out: hidden_size 770 is not a multiple")
    assert app.metric[0].value == "−7,214,592"
    press(app, "Remove it from the link")
    assert models(app) == "bert-base-uncased bert-base-chinese"
    assert not texts(app)


def test_nothing_where_a_model_should_be_is_named_in_every_language() -> None:
    [said] = texts(open_app("compare.py", models="~ present bert-base-cased", lang="zh"))
    assert len(said) < 100


def test_a_present_model_with_changes_can_become_impossible_and_possible_again() -> None:
    app = open_app("compare.py", models="bert-base-uncased present~num_attention_heads-16")
    assert app.metric[0].value == "0"
    move(app, hidden_size=780)
    assert "current model, A 16 is left out: hidden_size 780" in texts(app)[0]
    move(app, hidden_size=768)
    assert not texts(app)


def test_limits_are_said() -> None:
    app = open_app("compare.py", models="x" * (LONGEST + 1))
    assert "too long: at most 8,000 characters" in texts(app)[0]
    assert app.metric[0].value == "+225,659,648"
    app = open_app("compare.py", models=" ".join(list(PRESETS)[: MOST + 2]))
    assert f"at most {MOST} models" in texts(app)[0]
    assert not pinned(app)


def test_another_model_can_be_the_first() -> None:
    app = open_app("compare.py")
    press(app, "Use as baseline")
    assert models(app) == "bert-large-uncased present"
    assert app.metric[0].value == "−225,659,648"
    app = open_app("compare.py", models="present bert-base-cased bert-base-chinese", explained="bert-base-chinese")
    assert app.metric[0].value == "−7,214,592"
    press(app, "Use as baseline")
    assert models(app) == "bert-base-chinese present bert-base-cased"


def test_too_long_a_sequence_gives_way_to_the_shortest_model() -> None:
    app = open_app("compare.py", models="present bert-base-uncased~max_position_embeddings-64", sequence_length="100")
    assert "exceeds max_position_embeddings 64" in app.error[0].value
    assert [button.label for button in app.button if " = " in button.label] == ["Sequence length = 64"]
    press(app, "Sequence length = 64")
    assert not app.error


def test_names_tell_models_apart() -> None:
    fields = "".join(f"~{field}-7" for field in ("vocab_size", "type_vocab_size", "num_labels", "bos_token_id"))
    long = f"bert-base-uncased~num_hidden_layers-3{fields}"
    app = open_app("compare.py", models=f"{long} {long}~eos_token_id-6 present", compare="table")
    assert list(tables(app)[0].columns)[1:] == [
        "bert-base-uncased, L 3, V 7, T 7, C 7, bos_token_id 7",
        "bert-base-uncased, L 3, V 7, T 7, C 7, bos_token_id 7, ...",
        "current model",
    ]
    app = open_app("compare.py", models=f"{long}~eos_token_id-6 {long}~eos_token_id-5", compare="table")
    assert list(tables(app)[0].columns)[2].endswith("... (2)")


def chart_rows(app: AppTest, title: str) -> pd.DataFrame:
    [chart] = [one for one in app.session_state["shown"] if one.title == title]
    return frame_of(chart)


def test_bars_of_a_difference_begin_where_the_last_one_ends() -> None:
    app = open_app("compare.py", models="bert-base-uncased bert-base-uncased~num_hidden_layers-13~vocab_size-100")
    rows = chart_rows(app, "The parts of the difference")
    layer, words = 7_087_872, -(30_522 - 100) * 768
    pieces = rows[rows["kind"].notna()]
    assert list(zip(pieces["start"], pieces["end"], pieces["kind"], strict=True)) == [
        (0, layer, "more"),
        (layer, layer + words, "fewer"),
        (0, layer + words, "together"),
    ]
    ends = rows[rows["label"].notna()]
    assert list(ends["at"]) == [layer, layer, 0]
    assert (ends["room"] > ends["at"]).all()
    assert list(ends["difference"]) == [layer, words, layer + words]


def test_of_many_changes_the_chart_shows_those_that_change_something() -> None:
    app = open_app("compare.py", models="bert-base-uncased gpt2")
    *parts, whole = chart_rows(app, "The parts of the difference")["difference"].dropna()
    assert 0 not in parts
    assert sum(parts) == whole
    assert "pad_token_id" not in str(tables(app)[0])
    [without_effect] = [caption.value for caption in app.caption if "differ but have no effect" in caption.value]
    assert "pad_token_id" in without_effect
    [inside] = [text.value for text in app.markdown if text.value.startswith("**without token types, as GPT2Model**")]
    assert "Token types −1,536 · LayerNorm (embeddings) −1,536 · Final LayerNorm +1,536" in inside
    few = open_app("compare.py", models="bert-base-uncased bert-large-uncased")
    assert 0 in list(chart_rows(few, "The parts of the difference")["difference"])


def test_another_class_says_which_parts_shrink_and_which_grow() -> None:
    """ModernBERT's feed-forward network is gated. DeBERTa has a separate table of relative positions."""
    app = open_app("compare.py", models="answerdotai/ModernBERT-base microsoft/deberta-v3-base")
    [inside] = [text.value for text in app.markdown if text.value.startswith("**as DebertaV2Model**: ")]
    amounts = {
        amount.rpartition(" ")[0]: int(amount.rpartition(" ")[2].replace(",", "").replace("−", "-"))
        for amount in inside.removeprefix("**as DebertaV2Model**: ").split(" · ")
    }
    assert amounts["Feed-forward"] < 0 < amounts["Relative positions"]
    [difference] = [
        row["Difference"] for row in tables(app)[0].to_dict("records") if row["Step"] == "as DebertaV2Model"
    ]
    assert sum(amounts.values()) == int(str(difference).replace(",", "").replace("−", "-"))


def test_bars_are_as_long_as_their_components_together() -> None:
    app = open_app("compare.py", compare="bars", models="bert-base-uncased bert_uncased_L-2_H-128_A-2")
    rows = chart_rows(app, "The models side by side as bars")
    pieces = rows[rows["kind"].notna()]
    assert list(pieces["end"] - pieces["start"]) == list(pieces["figure"])
    totals = [real(PRESETS[name].config) for name in ("bert-base-uncased", "bert_uncased_L-2_H-128_A-2")]
    assert list(rows[rows["label"].notna()]["at"]) == totals
    assert [pieces[pieces["order"] == order]["figure"].sum() for order in (0, 1)] == totals
    # Labels only where they fit into the bar.
    assert list(pieces["inside"]) == ["embeddings", "encoder", "", "", "", ""]


def test_every_model_has_a_bar() -> None:
    names = list(PRESETS)[:MOST]
    app = open_app("compare.py", compare="bars", models=" ".join(names))
    rows = chart_rows(app, "The models side by side as bars")
    assert list(rows[rows["label"].notna()]["at"]) == [build(PRESETS[name].config).num_parameters() for name in names]


def test_a_bar_that_is_much_shorter_than_the_first_has_a_ratio() -> None:
    app = open_app("compare.py", compare="bars", models="gpt2-xl bert_uncased_L-2_H-128_A-2")
    labels = chart_rows(app, "The models side by side as bars")["label"].dropna()
    assert list(labels) == ["1,557,611,200", "4,385,920  ·  × 0.00282"]


def glance(app: AppTest) -> pd.DataFrame:
    return tables(app)[0]


def test_at_a_glance_the_well_known_models_are_sorted_as_one_likes() -> None:
    app = open_app("compare.py", compare="glance")
    press(app, PAIRS["well-known"].name)
    shown = [name.split("]")[0].lstrip("[") for name in glance(app)["Model"]]
    assert sorted(shown) == sorted(WELL_KNOWN)
    counts = [real(PRESETS[name].config, model_of_preset(name).architecture) for name in shown]
    assert [number(text) for text in glance(app)["Parameters"]] == counts == sorted(counts, reverse=True)
    assert len(counts) == 12
    app.selectbox(key="compare_by").set_value("training_memory").run()
    memory = list(glance(app).iloc[:, -1])
    known = memory[: memory.index("–")] if "–" in memory else memory
    assert set(memory[len(known) :]) <= {"–"}  # models that are not simulated come last
    app.selectbox(key="order").set_value("ascending").run()
    assert list(glance(app).iloc[:, -1])[: len(known)] == known[::-1]
    app.selectbox(key="order").set_value("chosen").run()
    assert [name.split("]")[0].lstrip("[") for name in glance(app)["Model"]] == list(WELL_KNOWN)


def test_the_link_says_no_order_where_there_is_none_to_choose() -> None:
    app = open_app("compare.py", compare="glance", order="ascending")
    assert app.query_params["order"] == "ascending"
    app.session_state["compare"] = "bars"
    app.run()
    assert "order" not in app.query_params


def test_at_a_glance_embeddings_and_tokens_are_the_real_models() -> None:
    app = open_app(
        "compare.py",
        compare="glance",
        models="albert-base-v2 present",
        batch_size="2",
        sequence_length="64",
        order="chosen",
    )
    table = glance(app).set_index("Family")
    albert = Case(PRESETS["albert-base-v2"].config, "AlbertModel").real()
    embeddings = sum(tensor.numel() for tensor in albert.embeddings.parameters())
    assert str(table.loc["Albert", "Embeddings"]).startswith(f"{embeddings:,} (")
    tokens = forward_flops(build(BertConfig(), "BertModel"), batch_size=2, sequence_length=64) / (2 * 64)
    assert table.loc["Bert", "FLOPs per token"] == f"{tokens:,.0f}"


def test_a_name_at_a_glance_is_the_link_of_the_model() -> None:
    models = "present bert-base-uncased~architecture-BertForMaskedLM~vocab_size-21128 albert-large-v2"
    app = open_app("compare.py", compare="glance", models=models, order="chosen", num_hidden_layers="13", lang="zh")
    counts = [number(text) for text in glance(app)["参数量"]]
    for text, count in zip(glance(app)["模型"], counts, strict=True):
        link = dict(parse_qsl(text.split("(./?")[1].rstrip(")")))
        assert link["lang"] == "zh"
        opened = open_app("parameters.py", **link)
        assert f"{count:,}" in [str(one.value) for one in opened.metric]


def test_numbers_at_a_glance_are_written_by_one_formatter() -> None:
    app = open_app("compare.py", compare="glance", models="bert-large-uncased xlm-roberta-base")
    [chart] = [one for one in app.session_state["shown"] if "link" in one.data]
    columns = zip(chart.data["column"], chart.data["head"], chart.data["label"], strict=True)
    labels = [label for column, head, label in columns if head is False and column in (0, 2)]
    assert len(labels) == 4
    assert all(re.fullmatch(r"[0-9.]+M", label) for label in labels), labels


def test_a_small_share_at_a_glance_is_not_nothing() -> None:
    app = open_app(
        "compare.py", compare="glance", models="bert-base-uncased~vocab_size-100~max_position_embeddings-100"
    )
    [chart] = [one for one in app.session_state["shown"] if "link" in one.data]
    columns = zip(chart.data["column"], chart.data["head"], chart.data["label"], strict=True)
    assert [label for column, head, label in columns if head is False and column == 1] == ["156.7k · <1 %"]


def test_a_click_on_a_row_opens_its_model() -> None:
    app = open_app("compare.py", compare="glance", models="bert-base-uncased albert-base-v2")
    [chart] = [one for one in app.session_state["shown"] if "link" in one.data]
    links = {row: link for row, link in zip(chart.data["row"], chart.data["link"], strict=True) if link}
    assert links == {name: f"./?preset={name}" for name in ("bert-base-uncased", "albert-base-v2")}


def test_the_model_to_explain_has_the_name_that_the_page_shows() -> None:
    chosen = "bert-base-uncased~changes-lora"
    app = open_app("compare.py", models=f"bert-large-uncased present {chosen}", explained=chosen)
    explain = app.selectbox(key="explained")
    assert explain.options == ["current model", "bert-base-uncased, LoRA: r=8"]
    assert explain.value == chosen
    explain.select("present").run()
    assert dict(app.query_params) == {"models": f"bert-large-uncased present {chosen}"}


def test_a_scatter_plot_offers_what_it_can_have_above_the_parameters() -> None:
    app = open_app("compare.py", compare="scatter")
    assert "compare_by" not in {control.key for control in app.selectbox}
    vertical = app.selectbox(key="vertical")
    assert vertical.value == "forward"
    assert not set(vertical.options) & {"Parameters", "Trained"}
    vertical.select("weights").run()
    assert dict(app.query_params) == {"compare": "scatter", "vertical": "weights"}
    assert chart_rows(app, "Parameters and FLOPs of every preset")["flops"][0] == 4 * real(BertConfig())
    app.session_state["compare"] = "differences"
    app.run()
    assert app.selectbox(key="compare_by").value == "parameters"


def test_a_link_of_a_scatter_plot_with_the_quantity_of_the_other_views_shows_it() -> None:
    app = open_app("compare.py", compare="scatter", compare_by="training_memory")
    assert app.selectbox(key="vertical").value == "training_memory"


def test_a_model_whose_memory_is_not_known_is_named_in_every_view(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(case: Quantified) -> int:
        if case.model.architecture == "AlbertModel":
            raise InputError(Problem("architecture", "", "not simulated", {}))
        return 10**9

    unknown = QUANTITIES["training_memory"]._replace(of=refuse)
    monkeypatch.setitem(EVERY_QUANTITY, "training_memory", unknown)
    for view in VIEW.options:
        app = open_app(
            "compare.py",
            compare=view,
            models="bert-base-uncased bert-base-cased albert-base-v2",
            compare_by="training_memory",
        )
        assert not app.error, view
        assert view == "scatter" or "–" in str(tables(app)) + str(app.session_state["shown"])
        reasons = [caption.value for caption in app.caption if caption.value.startswith("–")]
        assert reasons == ([] if view == "scatter" else ["– for albert-base-v2: not simulated"])


@pytest.mark.parametrize("view", VIEW.options)
@pytest.mark.parametrize("measure", ["parameters", "forward", "training_memory"])
def test_a_discovered_model_stands_beside_ours_in_every_view(view: str, measure: str) -> None:
    models = "bert-base-uncased llama.LlamaForCausalLM~num_hidden_layers-2 t5.T5Model"
    app = open_app("compare.py", compare=view, compare_by=measure, models=models)
    assert not app.text
    assert [one.value for one in app.error] == (
        ["bertcalc does not compute this for LlamaForCausalLM, because its formula was derived automatically."]
        if (view, measure) == ("differences", "training_memory")
        else []
    )
    assert any("For LlamaForCausalLM, T5Model, only the parameter count" in one.value for one in app.caption)
    ways = [link.proto.label for link in app.get("page_link")]
    found = shipped("t5", "T5Model")
    assert found is not None
    assert ways == (["Find the FLOPs of T5Model →"] if measure == "forward" and found.no_flops == NOT_ASKED else [])
    if view == "table":
        with torch.device("meta"):
            model = LlamaForCausalLM(LlamaConfig(num_hidden_layers=2))
        count = sum(tensor.numel() for tensor in model.parameters())
        [table] = tables(app)
        column = dict(zip(table[""], table["LlamaForCausalLM, L 2"], strict=True))
        assert number(column["**parameters in total**"]) == count
        assert sum(number(column[name]) for name in ("embeddings", "layers", "pooler, other parts", "head")) == count
        assert column["`num_hidden_layers`"] == "2"


def test_sizes_of_one_class_differ_by_fields() -> None:
    app = open_app("compare.py", models="llama.LlamaForCausalLM llama.LlamaForCausalLM~num_hidden_layers-16")
    assert "16 fewer layers" in sum_of(app)
    assert app.metric[0].value == "−3,238,133,760"


def test_any_model_is_chosen_and_can_be_the_baseline() -> None:
    app = open_app("compare.py", models="bert-base-uncased")
    app.selectbox(key="compared type").set_value("qwen3").run()
    press(app, "Add Qwen3ForCausalLM")
    assert models(app) == "bert-base-uncased qwen3.Qwen3ForCausalLM"
    press(app, "Use as baseline")
    assert models(app) == "qwen3.Qwen3ForCausalLM bert-base-uncased"


def test_sizes_that_no_formula_holds_for_are_left_out_in_the_readers_language() -> None:
    app = open_app("compare.py", models="bert-base-uncased llama.LlamaForCausalLM~hidden_size-4097", lang="zh")
    [said] = [one.value for one in app.text]
    assert "hidden_size = 4,097" in said
    assert "The formula" not in said


@pytest.mark.usefixtures("discovering_here")
def test_a_config_of_another_type_joins_the_comparison_and_is_discovered() -> None:
    app = open_app("compare.py", models="bert-base-uncased")
    fields = {"d_model": 32, "d_kv": 8, "d_ff": 64, "num_layers": 2, "num_heads": 4}
    text = json.dumps({"model_type": "t5", "architectures": ["T5EncoderModel"], **fields})
    app.text_area(key="config_json").set_value(text).run()
    press(app, "Add to the comparison")
    with torch.device("meta"):
        model = T5EncoderModel(T5Config(**fields))
    count = sum(tensor.numel() for tensor in model.parameters())
    assert number(app.metric[0].value) == count - real(BertConfig())
    assert "T5EncoderModel" in " ".join(one.value for one in app.markdown)


@pytest.mark.parametrize("view", VIEW.options)
def test_more_flops_than_a_chart_can_take_are_refused_in_a_sentence(view: str) -> None:
    app = open_app(
        "compare.py",
        compare=view,
        compare_by="forward",
        models="llama.LlamaForCausalLM qwen3.Qwen3ForCausalLM",
        batch_size="1000000",
        sequence_length="999999",
    )
    assert not app.exception
    assert view != "differences" or "would take more than" in app.error[0].value


def test_what_has_no_formula_keeps_its_sizes() -> None:
    app = open_app(
        "compare.py", models="bert-base-uncased jamba.JambaForCausalLM jamba.JambaForCausalLM~hidden_size-64"
    )
    assert ["its sizes cannot be changed" in one.value for one in app.text] == [True]
    assert app.metric[0].value == f"+{51_570_323_328 - 109_482_240:,}"


def test_without_pytorch_what_is_not_shipped_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bertcalc.proof.real_model.installed", lambda: False)
    app = open_app("compare.py", models="bert-base-uncased t5.T5ForTokenClassification")
    assert ["requires torch and transformers" in one.value for one in app.text] == [True]


@pytest.mark.parametrize(
    ("language", "said"), [("en", "−394,752 and +394,752 cancel out"), ("zh", "−394,752 与 +394,752 相互抵消")]
)
def test_a_step_in_which_changes_cancel_does_not_say_that_nothing_changed(language: str, said: str) -> None:
    app = open_app("compare.py", models="bert-base-uncased deberta-v3-base", lang=language)
    [waterfall] = [one for one in app.session_state["shown"] if one.spec]
    labels = [label for label in waterfall.data["label"] if label]
    assert f"0  ·  {said}" in labels


@pytest.mark.parametrize("other", ["deberta-base", "deberta-v3-base", "gpt2", "ModernBERT-base"])
def test_no_cell_of_a_table_is_blank_but_the_baselines_difference_from_itself(other: str) -> None:
    app = open_app("compare.py", compare="table", models=f"bert-base-uncased {other}")
    table = tables(app)[0]
    blank = [(row[""], name) for _at, row in table.iterrows() for name in table.columns if not str(row[name]).strip()]
    assert blank == [("relative to the baseline: parameters in total", "bert-base-uncased")]
    shapes = {str(row[""]).strip("`"): row[other] for _at, row in table.iterrows() if ".weight" in row[""]}
    real = {
        name.removeprefix("transformer."): " × ".join(f"{side:,}" for side in tensor.shape)
        for name, tensor in Case.of(model_of_preset(other)).real().named_parameters()
    }
    for name, shape in shapes.items():
        there = {text for path, text in real.items() if path.endswith(name)}
        assert {shape} == (there or {"–"})


def test_a_wrong_step_is_named_as_in_the_library() -> None:
    """Another page has a control that is called heads, too."""
    app = open_app("compare.py", models="bert-base-uncased~changes-heads,heads=20")
    assert any("heads 20 is invalid" in text.value for text in app.text)


def test_a_preset_is_added_with_one_choice_and_its_difference_is_explained() -> None:
    app = open_app("compare.py")
    for preset, architecture in (("albert-base-v2", "AlbertModel"), ("roberta-base", "RobertaModel")):
        adding = app.selectbox(key="add preset")
        assert preset in adding.options
        adding.set_value(preset).run()
        adding = app.selectbox(key="add preset")
        assert adding.value is None
        assert preset not in adding.options
        assert app.selectbox(key="explained").value == preset
        difference = real(PRESETS[preset].config, architecture) - real(BertConfig())
        assert number(str(app.metric[0].value)) == difference
    assert models(app) == "present bert-large-uncased albert-base-v2 roberta-base"


def test_the_first_other_type_is_a_well_known_one() -> None:
    app = open_app("compare.py")
    assert app.selectbox(key="compared type").value == "llama"


@pytest.mark.parametrize("count", [5, 6])
def test_up_to_five_models_are_columns(count: int) -> None:
    names = list(PRESETS)[:count]
    table = tables(open_app("compare.py", compare="table", models=" ".join(names)))[0]
    assert {*names} <= {*(table.columns if count == 5 else table["Model"])}
