"""Vocabularies for which resize_token_embeddings makes other tensors than a configuration of that size."""

import pytest

from bertcalc import InputError, load
from bertcalc.changes.factorized import FactorizeEmbeddings
from bertcalc.changes.vocabulary import ResizeVocabulary
from tests.changes.resized import Changed, small
from tests.oracle import facts

UNTIED = ["BertForMaskedLM", "RobertaForMaskedLM", "AlbertForMaskedLM", "AlbertForPreTraining", "GPT2LMHeadModel"]


@pytest.mark.parametrize("architecture", UNTIED)
@pytest.mark.parametrize("tokens", [1, 50, 60, 70])
def test_biases_of_untied_decoders(architecture: str, tokens: int) -> None:
    """After resizing, BERT's head and its decoder share a bias. RoBERTa's head keeps its own bias unchanged."""
    case = small(architecture, tie_word_embeddings=False)
    twice = Changed.of(case, ResizeVocabulary(40), ResizeVocabulary(tokens))
    for model in (Changed.of(case, ResizeVocabulary(tokens)), twice):
        assert facts(model.ours()) == facts(model.real())


@pytest.mark.parametrize("architecture", ["DebertaForMaskedLM", "DebertaV2ForMaskedLM"])
def test_what_transformers_breaks_is_refused(architecture: str) -> None:
    """transformers resizes the dense layer before the product with the table, instead of the product."""
    model = Changed.of(small(architecture, legacy=False), ResizeVocabulary(50))
    with pytest.raises(InputError, match="mistakes another matrix of"):
        model.ours()
    real = model.real()
    assert tuple(real.lm_predictions.lm_head.dense.weight.shape) == (50, 24)


def test_impossible_vocabularies_are_refused() -> None:
    bert = load("bert-base-uncased")
    for change in (ResizeVocabulary(0), ResizeVocabulary(100, 0)):
        with pytest.raises(InputError):
            bert.adapted(change)
    with pytest.raises(InputError, match="change the vocabulary first"):
        bert.adapted(FactorizeEmbeddings(9)).adapted(ResizeVocabulary(9))
    assert bert.adapted(ResizeVocabulary()).num_parameters() == bert.num_parameters()
