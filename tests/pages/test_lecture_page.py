"""The Lecture page: every screen of the shipped lectures, lecturers' own files, links, notes."""

import re
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from bertcalc import BertConfig, build
from bertcalc.diagnosis.count_lines import read
from bertcalc.diagnosis.hand_count import check
from bertcalc.explore.compare import WELL_KNOWN
from bertcalc.explore.model_values import model_of_preset
from bertcalc.families.presets import PRESETS
from bertcalc.model.model import Model
from bertcalc.proof.real_model import empty_model
from bertcalc.teach.lecture_screens import Lecture
from bertcalc.teach.lecture_screens import read as read_lecture
from pages.ui.lecture import screen_files, screen_parts
from pages.ui.lecture.screen_parts import PARTS, PATHS, VOCABULARY
from pages.ui.shell.i18n import LANGUAGES, catalogue
from tests.examples import sampled
from tests.pages.apptest import button, component, move, open_app, showing, tables, texts, total_formula, without_marks

PAGE = "lecture.py"
SECOND = "same-layers"
LECTURES = {
    name: read_lecture((screen_files.FOLDER / f"{name}.toml").read_bytes(), VOCABULARY)
    for name in (screen_files.DEFAULT, SECOND)
}
LECTURE = LECTURES[screen_files.DEFAULT]
NAMES = [screen.name for screen in LECTURE.screens]
# A small model, and its parameters in a link.
SMALL = BertConfig(vocab_size=1000, hidden_size=64, num_hidden_layers=3, num_attention_heads=4)
LINK = {field: str(size) for field, size in vars(SMALL).items() if size != getattr(BertConfig, field)}


def words(app: AppTest) -> str:
    return without_marks("\n".join(str(one.value) for one in app.markdown))


def numbers(app: AppTest) -> list[str]:
    return [str(one.value) for one in app.metric]


def own(folder: Path, text: str, name: str = "mine") -> None:
    (folder / f"{name}.toml").write_text(text, encoding="utf-8")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the shipped lecture, to which a test adds others."""
    own(
        tmp_path,
        (screen_files.FOLDER / f"{screen_files.DEFAULT}.toml").read_text(encoding="utf-8"),
        screen_files.DEFAULT,
    )
    monkeypatch.setattr(screen_files, "FOLDER", tmp_path)
    return tmp_path


@pytest.fixture(scope="module")
def real() -> Any:
    return empty_model(Model(SMALL))


@pytest.mark.parametrize("lecture", LECTURES.values(), ids=LECTURES)
def test_a_lecture_has_12_to_15_screens_of_few_words(lecture: Lecture) -> None:
    assert 12 <= len(lecture.screens) <= 15
    for screen in lecture.screens:
        assert screen.notes
        assert screen.sliders
        assert sum(screen.text.count(end) for end in (". ", "? ", ".\n")) <= 1, screen.name


@pytest.mark.parametrize(("name", "language"), sampled(product(LECTURES, LANGUAGES), 3))
def test_every_screen_is_drawn(name: str, language: str) -> None:
    link = LINK if name == screen_files.DEFAULT else {}
    screens = LECTURES[name].screens
    app = open_app(PAGE, lecture=name, lang=language, **link)
    for number, screen in enumerate(screens, 1):
        assert not [*app.exception, *app.error, *app.warning, *app.info], screen.name
        assert "{" not in words(app), screen.name
        jump = app.selectbox(key="jump")
        assert jump.value == screen.name
        assert jump.options[number - 1].startswith(f"{number} / {len(screens)} · ")
        assert app.metric or tables(app) or app.success or app.session_state["shown"], screen.name
        if number < len(screens):
            app.button(key="forward screen").click().run()


@pytest.mark.parametrize(
    ("screen", "path"),
    [
        ("word-table", "embeddings.word_embeddings"),
        ("embeddings", "embeddings"),
        ("attention", "encoder.layer.0.attention"),
        ("feed-forward", "encoder.layer.0.intermediate"),
        ("one-layer", "encoder.layer.0"),
        ("all-layers", "encoder"),
        ("pooler", "pooler"),
        ("whole-model", ""),
    ],
)
def test_numbers_are_those_of_the_real_model(screen: str, path: str, real: Any) -> None:
    count = sum(tensor.numel() for tensor in real.get_submodule(path).parameters())
    app = open_app(PAGE, screen=screen, **LINK)
    assert numbers(app)[0] == f"{count:,}"
    if path:
        assert f" = {count:,}" in words(app)
    else:
        assert total_formula(app)["label"].endswith(f" = {count:,}")
    if path:
        assert f" of {sum(tensor.numel() for tensor in real.parameters()):,}" in str(app.metric[0].delta)


def test_a_row_is_a_row_of_the_real_table_and_a_slider_moves_it(real: Any) -> None:
    app = open_app(PAGE, screen="one-row", **LINK)
    assert numbers(app) == [f"{real.embeddings.word_embeddings.weight.shape[1]}"]
    move(app, hidden_size=128)
    assert numbers(app) == ["128"]
    assert "H}" in str(app.latex[0].value)
    assert "= 128" in words(app)
    assert "a row with 128 entries" in words(app)


def test_a_row_has_a_square_for_each_element() -> None:
    link = LINK | {"hidden_size": "100"}
    squares = component(open_app(PAGE, screen="one-row", **link), "bertcalc_drawing")["drawing"]
    lines, rest = (int(number["text"]) for part in squares["parts"] for number in part["style"].values())
    assert 64 * lines + rest == 100
    assert 0 <= rest < 64


def test_what_is_counted_so_far_grows_to_the_whole_model(real: Any) -> None:
    drawings = [component(open_app(PAGE, screen=name, **LINK), "bertcalc_drawing") for name in ("embeddings", "pooler")]
    said = [drawing["drawing"]["parts"][0]["text"]["text"] for drawing in drawings]
    first = sum(tensor.numel() for tensor in real.embeddings.parameters())
    whole = sum(tensor.numel() for tensor in real.parameters())
    assert said == [f"So far {first:,} of {whole:,}", f"So far {whole:,} of {whole:,}"]


def test_only_the_pre_training_model_rounds_to_110_million() -> None:
    table = tables(open_app(PAGE, screen="110-million"))[0]
    assert list(table["Parameters"]) == ["**108,891,648**", "**109,482,240**", "**110,106,428**"]
    assert list(table["Rounds to 110M"]) == ["✗ no", "✗ no", "✓ yes"]
    assert list(table["Or to two significant digits"]) == ["✓ yes"] * 3
    other = tables(open_app(PAGE, screen="110-million", vocab_size="31100"))[0]
    assert list(other["Rounds to 110M"]) == ["✗ no", "✓ yes", "✗ no"]


def test_base_and_large_differ_by_what_the_bars_say() -> None:
    app = open_app(PAGE, screen="base-and-large")
    assert numbers(app) == ["109,482,240", "335,141,888"]
    assert [one.label for one in app.metric] == ["bert-base-uncased", "bert-large-uncased"]
    moved = open_app(PAGE, screen="base-and-large", num_hidden_layers="24")
    assert numbers(moved)[0] == f"{build(BertConfig(num_hidden_layers=24)).num_parameters():,}"


def test_the_hand_count_is_that_of_the_write_up_and_lacks_what_it_says() -> None:
    [show] = next(screen for screen in LECTURE.screens if screen.name == "hand-count").show
    app = open_app(PAGE, screen="hand-count", preset="bert-base-chinese")
    lines, sums = tables(app)
    assert sums["Parameters"].iloc[0] == "75,641,856"  # from write-up 004
    assert sums["Parameters"].iloc[-1] == "**102,267,648**"
    assert len(lines) == 4
    amounts = [int(text.strip("*").replace(",", "")) for text in sums["Parameters"]]
    assert sum(amounts[:-1]) == amounts[-1]
    typed = check(build(SMALL), SMALL, read(show.arguments["terms"], SMALL)).typed
    assert tables(open_app(PAGE, screen="hand-count", **LINK))[1]["Parameters"].iloc[0] == f"{int(typed):,}"


def test_the_proof_is_of_the_present_model_and_needs_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    app = open_app(PAGE, screen="proof", **LINK)
    count = build(SMALL).num_parameters()
    assert f"{count:,} parameters" in str(app.success[0].value)
    assert set(tables(app)[0]["Verdict"]) == {"✓\N{NO-BREAK SPACE}agrees"}
    monkeypatch.setattr(screen_parts, "installed", lambda: False)
    app = open_app(PAGE, screen="proof", **LINK)
    assert not tables(app)
    assert "requires torch and transformers" in str(app.info[0].value)


def test_buttons_and_the_list_go_from_screen_to_screen() -> None:
    app = open_app(PAGE)
    assert app.selectbox(key="jump").value == NAMES[0]
    assert button(app, "Previous").disabled
    button(app, "Next").click().run()
    assert "## The word embeddings" in words(app)
    app.selectbox(key="jump").set_value(NAMES[-1]).run()
    assert "## The proof" in words(app)
    assert button(app, "Next").disabled
    button(app, "Previous").click().run()
    assert app.text_input(key="screen").value == NAMES[-2]


def test_a_screen_that_is_not_there_is_named_and_the_nearest_or_the_first_is_shown() -> None:
    app = open_app(PAGE, screen="pooller[x](y)")
    assert app.warning[0].value == "This lecture has no screen “`pooller[x](y)`”. Showing “pooler”."
    assert "## The pooler" in words(app)
    button(app, "Next").click().run()
    assert not app.warning
    assert "## The whole model" in words(app)
    app = open_app(PAGE, screen="zzz")
    assert app.warning[0].value == "This lecture has no screen “zzz”. Showing the first screen."
    assert "## A word is a vector" in words(app)
    assert "screen in the link is too long" in texts(open_app(PAGE, screen="x" * 61))[0]
    assert "there is no such lecture. Did you mean why-110-million?" in texts(open_app(PAGE, lecture="why"))[0]


def test_notes_are_a_page_of_their_own_and_never_on_the_screen() -> None:
    said = component(open_app(PAGE, screen=NAMES[1]), "bertcalc_notes_button")["screen"]
    assert "a fifth of the model" in said["notes"]
    assert said["title"] == "2 / 15 · The word embeddings: one row for each word piece"
    assert said["after"] == "Next: 3 / 15 · The position of a word"
    app = open_app(PAGE, screen=NAMES[1], notes="true")
    assert component(app, "bertcalc_notes")["screen"] == said
    assert not app.metric
    button(app, "Show the screen").click().run()
    assert "## The word embeddings" in words(app)


@pytest.mark.parametrize(
    ("screen", "marked"),
    [
        ("word-table", ["embeddings.word_embeddings"]),
        ("feed-forward", ["encoder.layer.*.intermediate.dense", "encoder.layer.*.output.dense"]),
        ("pooler", ["pooler.dense"]),
        ("whole-model", []),
    ],
)
def test_the_picture_marks_what_a_screen_is_about(screen: str, marked: list[str]) -> None:
    app = open_app(PAGE, screen=screen)
    pictures = [one for one in app.session_state["shown"] if "weight" in one.data]
    boxes = [
        step
        for picture in pictures
        for step, weight in zip(picture.data["step"], picture.data["weight"], strict=True)
        if weight == 1 and "LayerNorm" not in step
    ]
    assert boxes == marked


def preset(app: AppTest) -> str:
    return str(showing(app.selectbox, "preset").value)


def real_count(name: str) -> str:
    return f"{sum(tensor.numel() for tensor in empty_model(model_of_preset(name)).parameters()):,}"


def test_a_screen_begins_with_its_model_which_its_sliders_change() -> None:
    app = open_app(PAGE, lecture=SECOND, screen="roberta")
    assert preset(app) == "roberta-base"
    assert numbers(app) == [real_count("bert-base-uncased"), real_count("roberta-base")]
    move(app, vocab_size=30522)
    rows = 768 * (50265 - 30522)
    assert numbers(app)[1] == f"{int(real_count('roberta-base').replace(',', '')) - rows:,}"
    button(app, "Next").click().run()  # the next screen is about the same model
    assert preset(app) == "changed"
    button(app, "Next").click().run()
    assert preset(app) == "xlm-roberta-base"
    button(app, "Previous").click().run()
    assert preset(app) == "roberta-base"


def open_page(app: AppTest, page: str, **link: str) -> None:
    app.query_params.clear()
    app.query_params.update(link)
    app.switch_page(page).run()


def test_leaving_a_lecture_brings_back_the_model_from_before_it() -> None:
    app = open_app(num_hidden_layers="18")
    before = app.metric[0].value
    open_page(app, PAGE, lecture=SECOND, screen="roberta")
    assert preset(app) == "roberta-base"
    move(app, vocab_size=30522)  # even if the lecturer has changed the model there
    open_page(app, "parameters.py")
    assert app.metric[0].value == before
    assert preset(app) == "changed"
    move(app, num_hidden_layers=6)
    smaller = app.metric[0].value
    open_page(app, PAGE, lecture=SECOND, screen="albert-layers")
    assert preset(app) == "albert-base-v2"
    app.selectbox(key="choose-lecture").set_value(screen_files.DEFAULT).run()
    assert preset(app) == "changed"
    open_page(app, "compute.py")
    open_page(app, "parameters.py")
    assert app.metric[0].value == smaller


def test_a_model_that_is_changed_in_a_lecture_without_models_of_its_own_stays() -> None:
    app = open_app()
    open_page(app, PAGE)
    move(app, num_hidden_layers=6)
    open_page(app, "parameters.py")
    assert app.metric[0].value == f"{build(BertConfig(num_hidden_layers=6)).num_parameters():,}"


def test_before_a_link_to_a_screen_there_was_bert() -> None:
    app = open_app(PAGE, lecture=SECOND, screen="albert-layers", num_hidden_layers="24")
    open_page(app, "parameters.py")
    assert app.metric[0].value == real_count("bert-base-uncased")


def test_a_link_can_say_another_model_than_the_screens_and_says_it_where_it_is_bert() -> None:
    app = open_app(PAGE, lecture=SECOND, screen="albert-layers", preset="albert-large-v2")
    assert preset(app) == "albert-large-v2"
    showing(app.selectbox, "preset").set_value("bert-base-uncased").run()
    assert preset(app) == "bert-base-uncased"
    assert app.query_params["preset"] == "bert-base-uncased"
    changed = open_app(PAGE, lecture=SECOND, screen="albert-layers", num_hidden_layers="24")
    assert numbers(changed)[0] == "7,087,872"
    assert "one layer, 24 times" in words(changed)
    masked = open_app(PAGE, lecture=SECOND, screen="albert-layers", architecture="AlbertForMaskedLM")
    assert preset(masked) == "albert-base-v2"


def test_another_lecture_begins_with_its_first_screen() -> None:
    app = open_app(PAGE, screen="pooler")
    assert app.selectbox(key="choose-lecture").options == [one.title for one in LECTURES.values()]
    app.selectbox(key="choose-lecture").set_value(SECOND).run()
    assert app.selectbox(key="jump").value == "all"
    assert not app.warning
    app = open_app(PAGE, lecture=SECOND, screen="distilbert", lang="zh")
    assert app.selectbox(key="choose-lecture").options[1] not in ("", LECTURES[SECOND].title)


def test_relatives_are_the_well_known_models_and_the_present_one() -> None:
    app = open_app(PAGE, lecture=SECOND)
    [chart] = app.session_state["shown"]
    assert set(filter(None, chart.data["name"])) == {name for name in chart.data["row"] if name}
    assert len(set(filter(None, chart.data["row"]))) == len(WELL_KNOWN) == 12
    assert set(WELL_KNOWN) <= PRESETS.keys()
    move(app, num_hidden_layers=13)
    [chart] = app.session_state["shown"]
    assert "bert-base-uncased, L 13" in chart.data["row"]


def test_a_part_that_the_model_does_not_have_is_said(folder: Path) -> None:
    app = open_app(PAGE, screen="pooler", architecture="BertForMaskedLM")
    assert [str(one.value) for one in app.info] == ["BertForMaskedLM has no `pooler`."] * 2


def test_a_file_of_the_folder_is_a_lecture(folder: Path) -> None:
    assert [box.key for box in open_app(PAGE).selectbox if box.key == "choose-lecture"] == []
    own(folder, 'title="M"\n[[screen]]\nname="a"\ntitle="Only *{vocab_size}*"\ntext="x"\nshow=[{part="total"}]')
    app = open_app(PAGE, lecture="mine")
    assert app.selectbox(key="choose-lecture").options == ["Why 110 million?", "M"]
    assert "## Only *30,522*\n\nx" in words(app)
    assert numbers(app) == ["109,482,240"]
    own(folder, 'title="M"\n[[screen]]\nname="b"\ntitle="Changed"\ntext="x"\nshow=[]')
    assert "## Changed" in words(app.run())
    app.selectbox(key="choose-lecture").set_value(screen_files.DEFAULT).run()
    assert "## A word is a vector" in words(app)


def test_what_is_wrong_with_a_file_is_said_on_the_page(folder: Path) -> None:
    own(folder, 'title="M"\n[[screen]]\nname="a"\ntitle="t"\ntext="x"\nshow=[{part="tota"}]')
    app = open_app(PAGE, lecture="mine")
    assert [str(one.value) for one in app.error] == [
        "`mine.toml`: `[[screen]] a, show`: part tota is invalid: did you mean total?"
    ]
    assert not app.metric
    app.selectbox(key="choose-lecture").set_value(screen_files.DEFAULT).run()
    assert not app.error
    (folder / f"{screen_files.DEFAULT}.toml").unlink()
    (folder / "mine.toml").unlink()
    assert [str(one.value) for one in open_app(PAGE).error] == ["There is no lecture in the folder `pages/lectures`."]


@pytest.mark.parametrize("part", PARTS)
def test_every_part_can_be_shown_of_every_path(folder: Path, part: str) -> None:
    """Each option of a part is shown for a decoder with all components, all options on one screen."""
    arguments = {name: list(options or ["L * H"]) for name, options in PARTS[part].arguments.items()}
    name, options = next(iter(arguments.items()), ("", [""]))
    others = "".join(f", {other}={values[0]!r}" for other, values in arguments.items() if other != name)
    shown = [f'{{part="{part}"{f", {name}={option!r}" if name else ""}{others}}}' for option in options[:40]]
    own(folder, f'title="M"\n[[screen]]\nname="a"\ntitle="t"\ntext="x"\nshow=[{", ".join(shown)}]')
    app = open_app(PAGE, lecture="mine", architecture="BertForPreTraining", is_decoder="true", num_hidden_layers="2")
    assert not app.exception
    assert not app.error


def test_paths_are_those_of_the_tree() -> None:
    assert {"pooler", "encoder.layer.*", "embeddings.word_embeddings", "cls.predictions.decoder"} <= PATHS.keys()


@pytest.mark.parametrize("language", ["en", "zh"])
def test_notes_call_a_bar_by_its_name(language: str) -> None:
    app = open_app("lecture.py", lecture="same-layers", screen="albert-difference", lang=language)
    [chart] = [chart for chart in app.session_state["shown"] if chart.spec and "difference" in chart.data]
    names = {name.replace("\n", " ") for name in chart.data["name"]}
    [screen] = [screen for screen in LECTURES[SECOND].screens if screen.name == "albert-difference"]
    notes = catalogue(language).gettext(screen.notes)
    [quoted] = re.findall("“(.*?)”", notes)
    assert quoted in names


def test_the_steps_of_distilbert_are_a_sentence_in_chinese() -> None:
    app = open_app("lecture.py", lecture="same-layers", screen="distilbert", lang="zh")
    [chart] = [chart for chart in app.session_state["shown"] if chart.spec and "difference" in chart.data]
    assert "去掉句子编号、改用 DistilBertModel" in [name.replace("\n", " ") for name in chart.data["name"]]


def test_another_preset_than_the_lectures_is_named_and_can_be_replaced() -> None:
    app = open_app("lecture.py", lecture="why-110-million", preset="bert-large-uncased")
    offer = "The texts describe bert-base-uncased; the numbers are for bert-large-uncased."
    assert offer in [text.value for text in app.markdown]
    button(app, "Start with bert-base-uncased").click().run()
    assert offer not in [text.value for text in app.markdown]
    app = open_app("lecture.py", lecture="same-layers", screen="roberta")
    assert not [text.value for text in app.markdown if text.value.startswith("The texts describe")]
