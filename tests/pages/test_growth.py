"""The growth factor of a total is the ratio of PyTorch's counts of both models."""

from dataclasses import replace
from fractions import Fraction

import pytest
import torch
from streamlit.testing.v1 import AppTest
from transformers import GPTNeoXConfig, GPTNeoXForCausalLM

from bertcalc import BertConfig
from bertcalc.charts.labels import ems
from bertcalc.forward.outputs import Call
from bertcalc.memory.plan import Plan
from bertcalc.text.digits import multiple
from pages.ui.widgets.bars import _BESIDE, _LINE, _LONGEST
from tests.compute.test_flops import real_flops
from tests.memory.live import peak, training_moments
from tests.memory.test_saved import seen_bytes
from tests.oracle import Case, arguments, unmasked
from tests.pages.apptest import open_app, without_marks
from tests.pages.test_bars import chart

BASE = Case(BertConfig(), "BertModel")
DEEPER = BASE._replace(config=replace(BASE.config, num_hidden_layers=18))
LINK = {"num_hidden_layers": "18"}


def times(before: int, after: int) -> str:
    return f"× {multiple(after, before)}"


def captions(app: AppTest) -> str:
    return without_marks("\n".join(str(caption.value) for caption in app.caption))


def links(app: AppTest) -> list[str]:
    return [element.proto.page for element in app.get("page_link")]


@pytest.mark.parametrize("page", ["layers.py", "structure.py"])
def test_step_by_step_and_modules_say_how_the_parameters_grew(page: str) -> None:
    before, after = (sum(one.numel() for one in case.real().parameters()) for case in (BASE, DEEPER))
    app = open_app(page, **LINK)
    assert f"Parameters {times(before, after)}, mostly L, vs. bert-base-uncased" in captions(app)
    assert "sweep" in links(app)
    assert "vs. bert-base-uncased" not in captions(open_app(page))


def test_compute_says_how_a_pass_and_a_step_grew() -> None:
    counts = [real_flops(case, Call(1, 128))[1:] for case in (BASE, DEEPER)]
    app = open_app("compute.py", **LINK)
    for at, metric in ((0, 0), (1, 2)):
        assert str(app.metric[metric].delta).endswith(f" · {times(*(count[at] for count in counts))} with L")
    more = chart(app, "Share of each part")["more"]
    assert [text.partition(" · ")[2] for text in more] == ["× 1.50 with L"] * 3 + [""]
    assert "sweep" in links(app)
    wider = chart(open_app("compute.py", hidden_size="1536"), "Share of each part")["more"]
    assert [text.partition(" with ")[2] for text in wider] == ["H²", "H", "H, I fixed", "H²"]


def test_where_the_formula_is_another_one_the_factor_stands_alone() -> None:
    decoder = BertConfig(is_decoder=True, add_cross_attention=True)
    cases = [Case(config, "BertLMHeadModel") for config in (BASE.config, decoder)]
    before, after = (sum(one.numel() for one in case.real().parameters()) for case in cases)
    link = {"architecture": "BertLMHeadModel", "is_decoder": "true", "add_cross_attention": "true"}
    assert f"Parameters {times(before, after)}, vs. bert-base-uncased" in captions(open_app("structure.py", **link))


def test_memory_says_how_the_peak_grew() -> None:
    peaks = []
    for case in (BASE, DEEPER):
        real = case.real()
        real.set_attn_implementation("eager")
        peaks.append(peak(training_moments(real, unmasked(case, Call(1, 128)), Plan())).live)
    for view in ("training", "fit"):
        app = open_app("memory.py", memory=view, **LINK)
        assert f"Memory {times(*peaks)}, mostly L, vs. bert-base-uncased" in captions(app)
        assert "sweep" in links(app)


def test_activations_say_how_each_module_grew() -> None:
    seen = []
    for case in (BASE, DEEPER):
        real = case.real().train()
        real.set_attn_implementation("eager")
        seen.append(seen_bytes(real, arguments(case, Call(1, 128))))
    data = chart(open_app("memory.py", memory="activations", fused_dropout="false", **LINK), "Bytes saved")
    assert sum(data["figure"]) - sum(data["preset"]) == seen[1] - seen[0]
    assert [text.partition(" · ")[2] for text in data["more"]] == ["", *["× 1.50 with L"] * 3, ""]


def test_any_model_says_how_it_grew() -> None:
    app = open_app("any_model.py", model_type="gpt_neox", sizes="num_hidden_layers-22")
    counts = []
    for layers in (44, 22):
        with torch.device("meta"):
            counts.append(GPTNeoXForCausalLM(GPTNeoXConfig(num_hidden_layers=layers)).num_parameters())
    assert str(app.metric[0].delta).endswith(f" · {times(*counts)} with L")
    assert str(app.metric[-1].delta).endswith(" with L")  # the FLOPs


@pytest.mark.parametrize(
    ("page", "link"),
    [
        ("parameters.py", {"hidden_size": "1536"}),
        ("parameters.py", {"preset": "deberta-v2-xxlarge", "hidden_size": "3072"}),
        ("compute.py", {"hidden_size": "1536", "batch_size": "64"}),
        ("memory.py", {"memory": "activations", "hidden_size": "1536"}),
    ],
)
def test_labels_stand_beside_their_bars(page: str, link: dict[str, str]) -> None:
    """On a laptop, the longest bar leaves 16.8 em for text."""
    title = {"compute.py": "Share of each part", "memory.py": "Bytes saved"}.get(page, "Parameters of each part")
    data = chart(open_app(page, **link), title)
    for label, more, far, limit in zip(
        data["label_width"], data["more_width"], data["far"], data["limit"], strict=True
    ):
        assert label + more <= _BESIDE + _LONGEST * (1 - Fraction(far) / Fraction(limit))


@pytest.mark.parametrize(
    ("page", "title", "last"),
    [("parameters.py", "Parameters of each part", " with L"), ("compute.py", "Share of each part", "FLOPs")],
)
def test_on_a_phone_a_change_without_room_for_its_factor_fits_into_a_line(page: str, title: str, last: str) -> None:
    data = chart(open_app(page, num_hidden_layers="6"), title)
    changes = [change for change in data["more_brief"] if change]
    assert len(changes) == 3
    assert all(change.endswith(last) for change in changes)
    assert max(ems(f"{part} {change}") for part, change in zip(data["brief"], data["more_brief"], strict=True)) <= _LINE
