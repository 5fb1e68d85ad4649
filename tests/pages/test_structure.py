"""The Modules page: its text and figures equal the real model's."""

from collections import defaultdict
from html.parser import HTMLParser
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from bertcalc import ARCHITECTURES, BertConfig, build
from bertcalc.model.totals import totals_by_component
from pages.ui.widgets import module_tree
from pages.ui.widgets.numbers import percent
from tests.oracle import Case
from tests.pages.apptest import button, move, open_app, tables, without_marks
from tests.proofreading.real_models import LARGE


class Tree(HTMLParser):
    """The lines of a tree in HTML, and the texts in its elements."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.found: dict[str, list[str]] = {"summary": [], "code": [], "span": [], "b": []}
        self.inside: list[str] = []
        self.feed(html)
        self.close()
        assert not self.inside  # every element is closed

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.inside.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.inside.pop() == tag

    def handle_data(self, data: str) -> None:
        self.found[self.inside[-1]].append(data)
        if "summary" in self.inside and self.inside[-1] == "code":
            self.found["summary"].append(data)

    @property
    def text(self) -> str:
        return "\n".join(self.found["code"])


def test_a_module_whose_name_begins_like_that_of_a_new_one_is_not_marked(monkeypatch: pytest.MonkeyPatch) -> None:
    """ModernBERT has attn_norm and attn."""
    monkeypatch.setattr(module_tree, "appearance", lambda: "light")
    monkeypatch.setattr(module_tree, "colors", lambda: defaultdict(str))
    model = build("ModernBERT-base")
    html = module_tree.tree_html(model, {"layers.*.attn": "+"}, counts=False)
    inside = str(model.get_submodule("layers.*.attn")).splitlines()
    assert Tree(html).found["b"] == ["+"] * len(inside)


def structure(**link: str) -> AppTest:
    return open_app("structure.py", **link)


def trees(app: AppTest) -> list[Tree]:
    bodies = [element.proto.body for element in app.get("html")]
    return [Tree(body) for body in bodies if 'class="tree"' in body]


def real_counts(case: Case) -> dict[str, int]:
    """The parameter count of each real module, keyed by path. A tied tensor counts only in the module that owns it."""
    real = case.real()
    return {
        path: sum(
            each.numel()
            for name, each in real.named_parameters()
            if f".{name}".startswith(f".{path}." if path else ".")
        )
        for path, _ in real.named_modules()
    }


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_the_tree_is_what_print_gives(architecture: str) -> None:
    [tree] = trees(structure(architecture=architecture))
    assert tree.text == str(Case(BertConfig(), architecture).real())
    assert tree.found["summary"] == [line for line in tree.found["code"] if line.endswith("(")]


def test_a_configuration_of_the_sidebar_is_printed_as_the_real_model_prints_it() -> None:
    [tree] = trees(structure(num_hidden_layers="1", hidden_act="leaky_relu", hidden_dropout_prob="0.25"))
    config = BertConfig(num_hidden_layers=1, hidden_act="leaky_relu", hidden_dropout_prob=0.25)
    assert tree.text == str(Case(config).real())


@pytest.mark.parametrize("architecture", ["BertModel", "BertForPreTraining"])
def test_every_line_has_the_real_modules_count_on_request(architecture: str) -> None:
    case = Case(BertConfig(), architecture)
    [tree] = trees(structure(architecture=architecture, counts="true"))
    counts = real_counts(case)
    lines = [line for line in case.ours().printed_lines() if not line.closes]
    assert len(tree.found["span"]) == len(lines)
    for line, text in zip(lines, tree.found["span"], strict=True):
        one = counts[line.path.replace("*", "0")]
        shown = f"{12 * one:,} = 12 × {one:,}" if line.path.endswith("*") else f"{one:,}"
        assert text.split(" (")[0] == shown
    assert tree.text == str(case.real())


def test_copies_and_tied_tensors_are_told_from_what_is_owned() -> None:
    [tree] = trees(structure(architecture="BertForMaskedLM", counts="true"))
    assert "85,054,464 = 12 × 7,087,872" in tree.found["span"]
    assert "0 (tied: weight, bias)" in tree.found["span"]


def test_without_a_request_there_are_no_counts_and_no_text_to_copy() -> None:
    app = structure()
    [tree] = trees(app)
    assert not tree.found["span"]
    assert not app.code


def test_a_second_architecture_shows_what_it_adds_and_what_it_lacks() -> None:
    app = structure(beside="BertForQuestionAnswering")
    here, there = trees(app)
    assert here.text == str(Case(BertConfig()).real())
    assert there.text == str(Case(BertConfig(), "BertForQuestionAnswering").real())
    table = tables(app)[0]
    assert list(table.iloc[:, 0]) == ["−\N{NO-BREAK SPACE}missing", "+\N{NO-BREAK SPACE}added"]
    assert list(table["Module"]) == ["`pooler`", "`qa_outputs`"]
    assert list(table["Parameters"]) == ["−590,592", "+1,538"]
    assert here.found["b"] == ["+"] * 4  # the pooler, its two modules and its last bracket
    assert there.found["b"] == ["+"]
    assert without_marks(app.markdown[1].value) == "From BertModel to BertForQuestionAnswering: −589,054 parameters"


def test_a_module_of_another_shape_is_marked_on_both_sides() -> None:
    app = structure(architecture="BertForSequenceClassification", beside="BertForMultipleChoice")
    assert [tree.found["b"] for tree in trees(app)] == [["≠"], ["≠"]]
    assert list(tables(app)[0]["Parameters"]) == ["−769"]  # one label has 768 weights and a bias


def test_what_is_alike_inside_a_module_of_another_kind_is_not_marked() -> None:
    here, there = trees(structure(architecture="BertForMaskedLM", beside="BertForPreTraining"))
    assert here.found["b"] == ["≠", "≠"]  # the head's first and last line
    # The pooler; in the head, the next-sentence classifier.
    assert there.found["b"] == ["+", "+", "+", "+", "≠", "+", "≠"]


def test_an_architecture_does_not_differ_from_itself() -> None:
    app = structure(architecture="BertForMaskedLM", beside="BertForMaskedLM")
    assert app.markdown[1].value.endswith(": ±0 parameters")
    assert not tables(app)


def test_the_parts_of_bert_base_are_counted_by_formulas() -> None:
    table = tables(structure(view="parts"))[0]
    shown = dict(zip(table["Modules"], zip(table["How many"], table["In numbers"], strict=True), strict=True))
    assert shown["Dropout"] == ("$3 L + 1$", "3 · 12 + 1 = 37")
    assert shown["LayerNorm"] == ("$2 L + 1$", "2 · 12 + 1 = 25")
    assert shown["Linear"] == ("$6 L + 1$", "6 · 12 + 1 = 73")
    assert shown["named dense"] == ("$3 L + 1$", "3 · 12 + 1 = 37")
    assert shown["GELUActivation"] == ("$L$", "12")
    assert shown["Tanh"] == ("$1$", "1")


def test_the_parts_say_where_they_are() -> None:
    places = tables(structure(view="parts"))[1]
    where = dict(zip(places["Modules"], places["Where"], strict=True))
    assert where["Linear"].split("  \n")[0] == "`encoder.layer.*.attention.self.query`"
    assert len(where["Linear"].split("  \n")) == 7


@pytest.mark.parametrize("architecture", ["BertModel", "BertForPreTraining"])
def test_the_notebook_is_the_real_models(architecture: str) -> None:
    real = Case(BertConfig(), architecture).real()
    app = structure(view="notebook", architecture=architecture)
    frame = app.dataframe[0].value
    assert list(frame["name"]) == [name for name, _ in real.named_parameters()]
    assert list(frame["shape"]) == [str(tuple(tensor.shape)) for tensor in real.parameters()]
    assert list(frame["numel"]) == [tensor.numel() for tensor in real.parameters()]
    body = getattr(real, "bert", real)
    parts = {"embeddings": body.embeddings, "encoder": body.encoder, "pooler": body.pooler}
    counts = {name: sum(tensor.numel() for tensor in part.parameters()) for name, part in parts.items()}
    total = sum(tensor.numel() for tensor in real.parameters())
    if head := total - sum(counts.values()):
        counts["head"] = head
    sums = tables(app)[0]
    assert list(sums["Component"])[: len(counts)] == list(counts)
    assert list(sums["Parameters"]) == [*(f"{count:,}" for count in counts.values()), *[f"**{total:,}**"] * 2]
    for share, count in zip(sums["Share"], counts.values(), strict=False):
        assert share == percent(count, total)


def test_the_shares_are_readable() -> None:
    assert list(tables(structure(view="notebook"))[0]["Share"])[:3] == ["21.8 %", "77.7 %", "0.5 %"]


def freezing(**link: str) -> AppTest:
    return structure(view="freezing", **link)


def shown(app: AppTest) -> list[str]:
    return [metric.value for metric in app.metric]


def test_freezing_shows_what_is_trained_of_the_whole() -> None:
    app = freezing()
    assert shown(app) == ["109,482,240", "0", "109,482,240"]
    app.toggle(key="freeze_embeddings").set_value(True).run()
    app.number_input(key="freeze_layers").set_value(11).run()
    real = Case(BertConfig()).real()
    real.embeddings.requires_grad_(False)
    real.encoder.layer[:11].requires_grad_(False)
    trained = sum(tensor.numel() for tensor in real.parameters() if tensor.requires_grad)
    assert shown(app) == [f"{trained:,}", f"{109_482_240 - trained:,}", "109,482,240"]
    assert [metric.delta for metric in app.metric] == ["7.0 %", "93.0 %", "100.0 %"]


def test_a_model_without_a_head_trains_nothing_and_the_page_says_so() -> None:
    app = freezing(train="head")
    assert app.info[0].value == "BertModel has no head: nothing is trained."
    assert shown(app)[0] == "0"
    assert app.metric[0].delta == "0.0 %"
    app.selectbox(key="architecture").select("BertForSequenceClassification").run()
    assert not app.info
    assert shown(app)[0] == "1,538"


def test_more_layers_than_there_are_is_explained_and_the_nearest_is_shown() -> None:
    app = freezing(freeze_layers="24", preset="bert-large-uncased")
    all_layers = shown(app)
    assert not app.error
    move(app, num_hidden_layers=12)
    assert "Frozen layers 24 is invalid" in app.error[0].value
    wide = Case(BertConfig(**LARGE | {"num_hidden_layers": 12})).ours()
    assert shown(app)[1] == f"{totals_by_component(wide)['encoder']:,}"
    assert shown(app) != all_layers
    button(app, "Frozen layers = 12").click().run()
    assert not app.error


def test_only_the_view_that_is_chosen_is_drawn() -> None:
    drawn = {
        view: (len(trees(app)), len(tables(app)), len(app.dataframe), len(app.metric))
        for view in ("tree", "parts", "notebook", "freezing")
        for app in [structure(view=view)]
    }
    assert drawn == {"tree": (1, 0, 0, 0), "parts": (0, 2, 0, 0), "notebook": (0, 1, 1, 0), "freezing": (0, 0, 0, 3)}


def test_what_is_frozen_survives_another_view_and_another_page() -> None:
    app: Any = freezing(freeze_layers="3", train="bias+LayerNorm", freeze_embeddings="true")
    before = shown(app)
    app.segmented_control(key="view").set_value("tree").run()
    app.segmented_control(key="view").set_value("freezing").run()
    assert shown(app) == before
    app.switch_page("verify.py").run()
    app.switch_page("structure.py").run()
    assert shown(app) == before
