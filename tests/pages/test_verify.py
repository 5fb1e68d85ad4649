"""The Verify page: proofs against the real classes, published counts, and runs with real weights."""

from types import SimpleNamespace

import pytest

from bertcalc import ARCHITECTURES, BertConfig
from bertcalc.families.published import PUBLISHED
from bertcalc.model.model import Model
from bertcalc.proof import real_model, tensor_proof
from bertcalc.text.digits import signed_count
from pages.ui.widgets import real_answers, verdict
from tests.pages.apptest import button, open_app, tables


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_every_architecture_agrees_with_the_real_class(architecture: str) -> None:
    app = open_app("verify.py", architecture=architecture, tie_word_embeddings="false")
    assert app.success[0].value.startswith(f"The real {architecture} agrees")
    assert set(tables(app)[0]["Verdict"]) == {"✓\N{NO-BREAK SPACE}agrees"}
    assert "transformers 5." in app.caption[0].value
    assert "torch 2." in app.caption[0].value


def test_published_counts_are_all_there_and_agree() -> None:
    frame = tables(open_app("verify.py"))[-1]
    assert len(frame) == len(PUBLISHED)
    for published, said, theirs, ours in zip(
        PUBLISHED, frame["Verdict"], frame["Published"], frame["bertcalc"], strict=True
    ):
        assert int(ours.replace(",", "")) - int(theirs.replace(",", "")) == published.surplus
        assert said == ("✓\N{NO-BREAK SPACE}agrees" if not published.surplus else signed_count(published.surplus))


def test_relative_positions_say_what_was_checked_instead() -> None:
    app = open_app("verify.py", position_embedding_type="relative_key")
    assert "transformers 5 no longer supports position_embedding_type relative_key" in app.warning[0].value
    assert "785,664 parameters" in app.warning[0].value  # 12 x (2 x 512 - 1) x 64
    assert "109,482,240" in app.success[0].value


def test_what_was_not_checked_is_the_relative_positions_alone() -> None:
    """An untied head differs between transformers 4 and 5 by a bias, which is not counted here."""
    config = BertConfig(position_embedding_type="relative_key", tie_word_embeddings=False, num_attention_heads=64)
    assert real_model.not_checked(Model(config, "BertForMaskedLM")) == 12 * (2 * 512 - 1) * (768 // 64)


def test_a_difference_is_shown_tensor_by_tensor(monkeypatch: pytest.MonkeyPatch) -> None:
    difference = tensor_proof.Difference(("a.weight", (3, 4)), None)
    wrong = tensor_proof.Proof(
        [tensor_proof.Check("Tensors", "1", "0", agrees=False)] * 4, [difference], 1.0, 1.0, {"torch": "2"}
    )
    monkeypatch.setattr(verdict, "ask", lambda *_: wrong)
    app = open_app("verify.py", vocab_size="999")
    assert "differs" in app.error[0].value
    assert tables(app)[0].iloc[0, 0] == "a.weight  [3 × 4]"


def test_real_weights_run_on_request() -> None:
    app = open_app("verify.py", preset="bert_uncased_L-2_H-128_A-2")
    assert "21.9 MB (20.9 MiB)" in app.markdown[1].value  # 4,385,920 x 4 bytes, and a quarter
    button(app, "Build and run it").click().run()
    assert "4,385,920 parameters in 17.5 MB (16.7 MiB)" in app.success[1].value
    assert list(tables(app)[1]["Shape"]) == ["1 × 8 × 128", "1 × 128"]


def test_real_weights_are_refused_where_they_do_not_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verdict, "available_bytes", lambda: 1_000_000)
    app = open_app("verify.py")
    assert "does not fit" in app.error[0].value
    assert not [button for button in app.button if button.label == "Build and run it"]


def test_without_torch_the_page_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(real_model, "installed", lambda: False)
    app = open_app("verify.py")
    assert "pip install -r requirements.txt" in app.info[0].value
    assert len(tables(app)[0]) == len(PUBLISHED)


def test_an_answer_is_kept_for_its_own_question(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, int]] = []

    def number(text: str, base: int = 10) -> int:
        asked.append((text, base))
        return int(text, base)

    monkeypatch.setattr(
        real_answers, "WORKER", SimpleNamespace(run=lambda function, *given, **named: function(*given, **named))
    )
    for _time in range(2):
        assert [
            real_answers.answer(number, "11"),
            real_answers.answer(number, "12"),
            real_answers.answer(number, "12", base=8),
        ] == [
            11,
            12,
            10,
        ]
    assert asked == [("11", 10), ("12", 10), ("12", 8)]
