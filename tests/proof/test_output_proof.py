"""The proof of a forward pass detects errors. The tests make the outputs differ on purpose."""

from collections.abc import Callable
from typing import Any

import pytest
import torch

from bertcalc import ARCHITECTURES, BertConfig
from bertcalc.forward.outputs import Call, Entry, TensorCopies, possible
from bertcalc.model.model import Model
from bertcalc.proof import output_proof
from pages.ui.widgets import verdict
from tests.pages.apptest import open_app, tables

CROSS = BertConfig(
    vocab_size=11,
    hidden_size=6,
    num_hidden_layers=2,
    num_attention_heads=2,
    intermediate_size=5,
    is_decoder=True,
    add_cross_attention=True,
)
ALL = Call(3, 4, 5, 7, output_hidden_states=True, output_attentions=True)
RETURNED = {"logits": torch.zeros(2, 3), "hidden_states": (torch.zeros(2, 4), torch.zeros(2, 4))}
ENTRIES = [
    Entry("logits", "float32", (TensorCopies(1, (2, 3)),)),
    Entry("hidden_states", "float32", (TensorCopies(2, (2, 4)),), "tuple"),
]


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_every_class_agrees(architecture: str) -> None:
    for call in (ALL, ALL._replace(labels=True, return_dict=False, use_cache=False)):
        compared = output_proof.prove(Model(CROSS, architecture), possible(Model(CROSS, architecture), call))
        assert compared
        assert all(comparison.agrees for comparison in compared)


def test_equal_outputs_agree() -> None:
    assert [comparison.agrees for comparison in output_proof.compare(ENTRIES, RETURNED)] == [True, True]


@pytest.mark.parametrize(
    ("entries", "agree"),
    [
        ([ENTRIES[0]._replace(name="loss"), ENTRIES[1]], [False, True]),
        ([ENTRIES[0]._replace(dtype="int64"), ENTRIES[1]], [False, True]),
        ([ENTRIES[0]._replace(tensors=(TensorCopies(1, (3, 2)),)), ENTRIES[1]], [False, True]),
        ([ENTRIES[0], ENTRIES[1]._replace(tensors=(TensorCopies(3, (2, 4)),))], [True, False]),
        ([ENTRIES[0], ENTRIES[1]._replace(container="DynamicCache")], [True, False]),
        (ENTRIES[:1], [True, False]),
        ([*ENTRIES, ENTRIES[0]], [True, True, False]),
        (ENTRIES[::-1], [False, False]),
    ],
)
def test_what_differs_is_found(entries: list[Entry], agree: list[bool]) -> None:
    assert [comparison.agrees for comparison in output_proof.compare(entries, RETURNED)] == agree


def test_in_a_tuple_the_places_are_compared() -> None:
    placed = [entry._replace(position=at) for at, entry in enumerate(ENTRIES)]
    assert all(comparison.agrees for comparison in output_proof.compare(placed, tuple(RETURNED.values())))
    assert not any(comparison.agrees for comparison in output_proof.compare(ENTRIES, tuple(RETURNED.values())))


def test_what_pytorch_cannot_count_is_not_run() -> None:
    config = BertConfig(hidden_size=65_536, num_attention_heads=65_536, max_position_embeddings=1_000_000)
    assert output_proof.countable(Model(config), Call(1_000_000, 512))
    assert not output_proof.countable(Model(config), Call(1_000_000, 1_000_000))
    app = open_app(
        "outputs.py",
        hidden_size="65536",
        num_attention_heads="65536",
        num_hidden_layers="1",
        max_position_embeddings="1000000",
        sequence_length="1000000",
        batch_size="1000000",
    )
    app.switch_page("verify.py")
    app.query_params["returned"] = "true"
    app.run()
    assert "too large for PyTorch" in app.error[-1].value


def test_the_page_shows_the_verdicts(monkeypatch: pytest.MonkeyPatch) -> None:
    link = {"output_attentions": "true", "is_decoder": "true", "num_hidden_layers": "2", "return_dict": "false"}
    app = open_app("outputs.py", **link)
    app.switch_page("verify.py")
    app.query_params["returned"] = "true"
    app.run()
    assert app.caption[-1].value.endswith(
        "Batch size = 1, Sequence length = 128, output_attentions = True, return_dict = False"
    )
    assert app.success[-1].value == "The real BertModel returns the same 5 outputs."
    compared = tables(app)[-2]
    assert list(compared["bertcalc"]) == list(compared["transformers"])
    assert compared["bertcalc"][3].replace("\N{NO-BREAK SPACE}", " ") == "[3]: tuple, 2 × [1 × 12 × 128 × 128] float32"

    def wrong(_doing: str, function: Callable[..., Any], *arguments: Any) -> Any:
        is_forward = function is output_proof.prove
        return output_proof.compare(ENTRIES[:1], RETURNED) if is_forward else function(*arguments)

    monkeypatch.setattr(verdict, "ask", wrong)
    app = open_app("verify.py", num_hidden_layers="3", returned="true")
    assert "returns different outputs" in app.error[-1].value


def test_a_call_that_does_not_run_is_explained() -> None:
    app = open_app("verify.py", architecture="BertForQuestionAnswering", num_labels="3", returned="true")
    assert "needs num_labels 2" in app.error[-1].value
    assert "returns the same" not in app.success[-1].value


def test_relative_positions_are_checked_as_absolute_ones() -> None:
    app = open_app("outputs.py", position_embedding_type="relative_key", output_attentions="true")
    app.switch_page("verify.py")
    app.query_params["returned"] = "true"
    app.run()
    assert app.success[-1].value == "The real BertModel returns the same 4 outputs."


def test_a_sequence_that_the_next_model_cannot_take_is_cut() -> None:
    app = open_app("outputs.py", sequence_length="400")
    app.switch_page("verify.py")
    app.query_params["returned"] = "true"
    app.run()
    app.session_state["track"].change({"max_position_embeddings": 100})
    app.run()
    assert "Sequence length = 100" in app.caption[-1].value
    assert "returns the same" in app.success[-1].value
