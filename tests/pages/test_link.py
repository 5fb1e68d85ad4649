"""Links: the page opens with any parameters, reports invalid ones, and uses the rest."""

import re
import subprocess
import sys
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pages.ui.exercises.sheet_words import ChosenSheet, printable
from pages.ui.opening.link import KNOWN
from pages.ui.session.address import for_others
from pages.ui.shell.controls import Control
from tests.pages.apptest import button, open_app, present, texts, total

ROOT = Path(__file__).parents[2]


def test_every_control_has_a_name_of_its_own() -> None:
    """Two controls with the same name would check each other's links."""

    def controls(value: object) -> Iterator[Control[Any]]:
        if isinstance(value, Control):
            yield value
        elif isinstance(value, dict | list | tuple):
            yield from chain.from_iterable(map(controls, value.values() if isinstance(value, dict) else value))

    modules = [vars(module) for name, module in sys.modules.items() if name.startswith("pages.ui.")]
    declared = {id(control): control.name for control in controls(modules)}
    assert sorted(declared.values()) == KNOWN


@pytest.mark.parametrize("host", ["localhost:8501", "127.8.8.8:80", "[::1]:8501", "0.0.0.0", "a.localhost"])
def test_files_have_no_link_to_the_computer_that_made_them(host: str) -> None:
    assert for_others(f"http://{host}/compute?batch_size=2") == ""
    assert for_others("") == ""


@pytest.mark.parametrize("host", ["bertcalc.streamlit.app", "192.168.1.7:8501", "gpu-7", "[2001:db8::1]"])
def test_files_have_the_link_to_a_host_that_others_can_reach(host: str) -> None:
    url = f"http://{host}/exercises"
    assert for_others(url) == url
    sheet = printable(ChosenSheet("easy", 3, solutions=False, page=url), str)
    assert f"`{url}?level=easy&seed=3`" in sheet.note  # in full, for readers of a printed sheet


PROGRAM = """
from importlib import import_module
from pathlib import Path
from pages.ui.opening.link import KNOWN
from pages.ui.shell.controls import CONTROLS
for file in Path("pages/ui").rglob("*.py"):
    import_module(".".join(file.with_suffix("").parts).removesuffix(".__init__"))
print(*CONTROLS.keys() - {*KNOWN})
"""


def test_the_controls_of_all_pages_are_known_from_the_first_run_on() -> None:
    """link.py misses an import if importing every module declares more controls."""
    run = subprocess.run([sys.executable, "-c", PROGRAM], cwd=ROOT, capture_output=True, text=True, check=True)
    assert run.stdout.split() == []


@pytest.mark.parametrize(
    ("name", "text", "why"),
    [
        ("hidden_size", "abc", "whole number"),
        ("hidden_size", "768.5", "whole number"),
        ("hidden_size", "1.5e0", "whole number"),
        ("hidden_size", "inf", "whole number"),
        ("hidden_size", "9" * 400, "at most 15 digits"),
        ("hidden_size", "99999999999999999999", "at most 15 digits"),
        ("seed", "-99999999999999999999999", "at most 15 digits"),
        ("hidden_size", "", "whole number"),
        ("hidden_size", "1e15", "at most 15 digits"),
        ("hidden_dropout_prob", "nan", "number"),
        ("tie_word_embeddings", "maybe", "true or false"),
        ("architecture", "BertForMaskedLm", "BertForMaskedLM"),
        ("preset", "bert-base", "bert-base"),
        ("preset", "google/electra-bas", "such as electra-base"),
        ("lang", "fr", "such as"),
        ("preset", "nope", "such as bert-base-uncased"),
        ("open", "encoder.layer.99", "encoder.layer"),
        ("view", "trees", "such as tree"),
        ("freeze_layers", "three", "whole number"),
        ("hiden_size", "768", "did you mean hidden_size?"),
    ],
)
def test_a_wrong_value_is_named_and_the_rest_counts(name: str, text: str, why: str) -> None:
    app = open_app(vocab_size="21128", **{name: text})
    [message] = texts(app)
    assert message.startswith((f"{name}={text[:30]}", f"{name} in the link"))
    assert why in message
    assert total(app) == "102,267,648"


@pytest.mark.parametrize(
    ("page", "name", "text"),
    [
        ("compute.py", "unit", "flop"),
        ("compute.py", "device", "B100"),
        ("compute.py", "utilisation", "x"),
        ("compute.py", "price", "nan"),
        ("memory.py", "memory", "weight"),
        ("memory.py", "recompute", "some"),
        ("memory.py", "optimizer", "adam"),
        ("memory.py", "device_gib", "x"),
        ("memory.py", "device_memory", "16GB"),
        ("memory.py", "kept_free", "inf"),
        ("memory.py", "dtype", "float64"),
        ("memory.py", "fused_dropout", "1"),
        ("sweep.py", "x", "hidden"),
        ("sweep.py", "measure", "flops"),
        ("sweep.py", "sweep", "two"),
        ("sweep.py", "x_to", "1,3e"),
        ("outputs.py", "use_cache", "maybe"),
        ("outputs.py", "encoder_sequence_length", "inf"),
        ("outputs.py", "labels", "1"),
        ("outputs.py", "label", "x"),
        ("outputs.py", "num_choices", "2.5"),
    ],
)
def test_a_wrong_value_in_a_link_is_named(page: str, name: str, text: str) -> None:
    [message] = texts(open_app(page, **{name: text}))
    assert message.startswith(f"{name}={text}")


@pytest.mark.parametrize(
    ("repository", "count"),
    [
        ("google/electra-base-discriminator", "108,891,648"),
        ("microsoft/deberta-v3-base", "183,831,552"),
        ("answerdotai/ModernBERT-base", "149,014,272"),
    ],
)
def test_a_preset_can_be_said_as_its_repository(repository: str, count: str) -> None:
    app = open_app(preset=repository)
    assert not texts(app)
    assert total(app) == count
    assert app.sidebar.selectbox(key="preset").value == repository.partition("/")[2]


@pytest.mark.parametrize("preset", ["bert-base-uncased", "gpt2"])
@pytest.mark.parametrize(
    ("page", "name", "text"),
    [
        ("layers.py", "step", "zzz"),
        ("layers.py", "step", "multiple_choice_head.squeeze"),
        ("parameters.py", "open", "multiple_choice"),
        ("sweep.py", "x", "foo"),
        ("sweep.py", "x", "task_type_vocab_size"),
        ("memory.py", "recompute", "fully"),
    ],
)
def test_the_option_that_is_named_is_one_that_the_model_has(page: str, name: str, text: str, preset: str) -> None:
    [message] = texts(open_app(page, preset=preset, memory="training", **{name: text}))
    assert message.startswith(f"{name}={text} in the link is invalid")
    without_label = re.sub(r" \([^()]*\)", "", message)
    named = without_label.rstrip(".").split()[-1]
    app = open_app(page, preset=preset, memory="training", **{name: named})
    assert not texts(app)
    assert app.session_state[name] == named


def test_an_option_is_looked_for_in_the_model_and_the_layer_of_the_link() -> None:
    for link in (
        {"layer": "3", "step": "encoder.layer.before"},
        {"preset": "deberta-v3-base", "x": "position_buckets"},
    ):
        assert not texts(open_app("layers.py" if "step" in link else "sweep.py", **link))
    [message] = texts(open_app("layers.py", step="encoder.layer.before"))
    assert "invalid for this model" in message


def test_a_whole_number_can_have_an_exponent() -> None:
    """This holds for a size of the model and for a number that Streamlit itself reads."""
    app = open_app("compute.py", vocab_size="2.1e4", batch_size="1e1", sequence_length="64")
    assert not texts(app)
    assert (present(app).vocab_size, app.session_state["batch_size"]) == (21_000, 10)


def test_a_field_of_other_families_is_named_and_the_preset_stays() -> None:
    """The test covers a field with a replacement value to show, and a field without."""
    app = open_app(preset="albert-base-v2", position_embedding_type="relative_key")
    [message] = texts(app)
    assert "AlbertConfig supports only absolute positions" in message
    assert total(app) == "11,683,584"
    [message] = texts(open_app(embedding_size="128"))
    assert message == "BertConfig has no embedding_size, so it cannot be 128."


def test_parameters_of_other_tools_are_none_of_our_business() -> None:
    assert not texts(open_app(utm_source="newsletter", fbclid="x"))


def test_the_message_stays_until_it_was_read() -> None:
    app = open_app(hidden_size="abc")
    app.run()
    assert texts(app)
    button(app, "Got it").click().run()
    assert not texts(app)


@given(st.dictionaries(st.sampled_from([*KNOWN, "x", "EMBED"]), st.text(max_size=60), max_size=6))
def test_no_link_ends_in_a_traceback(link: dict[str, str]) -> None:
    app = open_app(**link)
    assert total(app)


def test_an_option_has_the_familys_name_in_a_link() -> None:
    app = open_app(preset="distilbert-base-uncased", activation="relu")
    assert app.session_state["rejected"] == []
    assert app.query_params["activation"] == "relu"


@pytest.mark.parametrize(("language", "label"), [("en", "Module types"), ("zh", "模块类型")])
def test_an_option_of_a_notice_is_called_as_on_its_button(language: str, label: str) -> None:
    app = open_app("structure.py", view="part", lang=language)
    [notice] = texts(app)
    assert notice.startswith("view=part " if language == "en" else "链接中的 view=part ")
    assert f"parts ({label})" in notice or f"parts（{label}）" in notice
