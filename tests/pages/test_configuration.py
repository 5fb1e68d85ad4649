"""The Configuration page: every field with its values and effects."""

from bertcalc.config.fields import MEANINGS
from bertcalc.controls.stops import SLIDERS
from tests.pages.apptest import open_app, tables


def test_every_field_has_a_row_and_its_effects() -> None:
    table = tables(open_app("configuration.py", hidden_size="1024", num_attention_heads="16"))[0]
    assert [cell.split("**")[1] for cell in table.iloc[:, 0]] == list(MEANINGS)
    rows = {name: table.iloc[number] for number, name in enumerate(MEANINGS)}
    assert list(rows["vocab_size"][["Default", "Now", "Changed", "Parameters"]]) == [
        "30,522",
        "30,522",
        "30,522 → 30,523",
        "+1,024",
    ]
    assert list(rows["hidden_size"][["Default", "Now"]]) == ["768", "1,024"]
    assert set(rows["initializer_range"][["Parameters", "Compute, FLOPs", "Memory, bytes"]]) == {"–"}
    assert rows["num_attention_heads"]["Parameters"] == "–"


def test_effects_are_those_of_the_chosen_architecture() -> None:
    def parameters(architecture: str) -> str:
        table = tables(open_app("configuration.py", architecture=architecture))[0]
        return str(table["Parameters"][list(MEANINGS).index("num_labels")])

    assert parameters("BertModel") == "–"
    assert parameters("BertForSequenceClassification") == "+769"


def test_chinese() -> None:
    app = open_app("configuration.py", lang="zh")
    assert "词" in str(tables(app)[0].iloc[0, 0])


def test_it_says_where_each_value_is_changed() -> None:
    app = open_app("configuration.py")
    [said] = [text for text in app.markdown if "read-only" in text.value]
    without = {name for name in MEANINGS if f"`{name}`" in said.help}
    app.session_state["more"] = True
    app.run()
    controls = {one.key for kind in (app.number_input, app.selectbox, app.checkbox) for one in kind}
    assert controls.isdisjoint(without)
    assert controls | set(SLIDERS) | without >= set(MEANINGS)
    [link] = app.get("page_link")
    assert link.proto.page == "bring"
