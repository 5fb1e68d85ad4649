"""Factorized embeddings and narrow feed-forward networks equal classes of transformers that have these sizes."""

from itertools import product

import pytest

from bertcalc import InputError, load
from bertcalc.changes.factorized import FactorizeEmbeddings
from bertcalc.changes.feed_forward import NarrowFeedForward
from bertcalc.families import CLASSES
from tests.changes.resized import Changed, optional, own_class, small
from tests.oracle import facts

WITH_FIELD = [name for name, family in CLASSES.items() if family.config.has("embedding_size")]


@pytest.mark.parametrize("architecture", WITH_FIELD)
def test_albert_and_electra_have_a_field_for_it(architecture: str) -> None:
    for fields, width in product(optional(CLASSES[architecture].config), (12, 24)):
        case = small(architecture, **fields, embedding_size=width)
        model = Changed.of(case, FactorizeEmbeddings(6)).ours()
        assert facts(model) == facts(own_class(case, embedding_size=6))


@pytest.mark.parametrize("architecture", CLASSES)
def test_a_narrow_feed_forward_is_that_of_the_configuration(architecture: str) -> None:
    case = small(architecture)
    assert facts(Changed.of(case, NarrowFeedForward(7)).ours()) == facts(own_class(case, intermediate_size=7))


def test_embeddings_must_become_narrower_and_only_once() -> None:
    bert = load("bert-base-uncased")
    for width in (0, 768, 800):
        with pytest.raises(InputError):
            bert.adapted(FactorizeEmbeddings(width))
    with pytest.raises(InputError, match="appears twice"):
        bert.adapted(FactorizeEmbeddings(9)).adapted(FactorizeEmbeddings(8))
    with pytest.raises(InputError):
        bert.adapted(NarrowFeedForward(3073))


@pytest.mark.parametrize("architecture", ["BertForSequenceClassification", "BertForMaskedLM"])
def test_an_onnx_file_has_the_narrow_table(architecture: str) -> None:
    """The file of a language model contains the tied table twice: the second is transposed for the matrix product."""
    model = load("bert-base-uncased", architecture).adapted(FactorizeEmbeddings(16))
    table = 30522 * 16 if architecture == "BertForMaskedLM" else 0
    assert model.file_bytes("onnx") == pytest.approx(4 * (model.num_parameters() + table), rel=0.01)


@pytest.mark.parametrize("architecture", ["DebertaForMaskedLM", "DebertaV2ForMaskedLM"])
def test_a_head_that_multiplies_by_the_table_is_refused(architecture: str) -> None:
    with pytest.raises(InputError, match="uses the word embeddings as its output matrix"):
        Changed.of(small(architecture, legacy=False), FactorizeEmbeddings(6)).ours()
