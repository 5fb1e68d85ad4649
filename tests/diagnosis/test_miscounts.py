"""What each miscount changes, against the same miscount written out as an expression of the dimensions."""

from typing import Any

import pytest
from hypothesis import given

from bertcalc import BertConfig, ModernBertConfig, build
from bertcalc.diagnosis.miscounts import MISCOUNTS, MiscountSizes, counted, total
from tests.oracle import Case
from tests.strategies import bert_cases


def up(number: int, multiple: int) -> int:
    return next(number + more for more in range(multiple) if (number + more) % multiple == 0)


def by_hand(c: Any, case: Case) -> dict[str, int]:
    """What each miscount adds to the total."""
    v, h, i, n, p, t, labels = (
        c.vocab_size,
        c.hidden_size,
        c.intermediate_size,
        c.num_hidden_layers,
        c.max_position_embeddings,
        c.type_vocab_size,
        c.num_labels,
    )
    size = h // c.num_attention_heads
    cross = n * c.add_cross_attention
    attentions = n + cross
    kind = case.architecture
    pooler = case.add_pooling_layer if kind == "BertModel" else kind in POOLED
    lm = kind in ("BertForPreTraining", "BertForMaskedLM", "BertLMHeadModel")
    nsp = kind in ("BertForPreTraining", "BertForNextSentencePrediction")
    classes = {"BertForMultipleChoice": 1}.get(kind, labels) if kind in CLASSIFY else 0
    untied = lm and not c.tie_word_embeddings
    act = (
        case.ours()
        .get_submodule(
            "encoder.layer.0.intermediate.intermediate_act_fn"
            if kind == "BertModel"
            else "bert.encoder.layer.0.intermediate.intermediate_act_fn"
        )
        .num_parameters()
    )
    head_norm = 2 * h * lm
    head_biases = lm * (h + v) + untied * v + 2 * nsp + classes
    head = lm * (h * h + act) + head_norm + untied * v * h + 2 * h * nsp + classes * h + head_biases
    one = 4 * (h * h + h) * (1 + c.add_cross_attention) + 2 * h * i + i + h + act
    norms = 2 * h * (2 + c.add_cross_attention)
    attention, forward = 4 * (h * h + h), 2 * h * i + i + h
    return {
        "pooler added": 0 if pooler else h * h + h,
        "decoder again": v * h,
        "biases": -(attentions * 4 * h + n * (i + h) + pooler * h + head_biases),
        "layer biases": -(attentions * 4 * h + n * (i + h)),
        "attention biases": -attentions * 4 * h,
        "feed-forward biases": -n * (i + h),
        "pooler bias": -pooler * h,
        "head biases": -head_biases,
        "LayerNorm half": -(2 * h + n * norms + head_norm) // 2,
        "LayerNorm": -(2 * h + n * norms + head_norm),
        "embedding LayerNorm": -2 * h,
        "layer LayerNorms": -n * norms,
        "second LayerNorm": -n * 2 * h,
        "embeddings": -(v + p + t + 2) * h,
        "words": -v * h,
        "positions": -p * h,
        "token types": -t * h,
        "cross attention": -cross * (attention + 2 * h),
        "output projection": -attentions * (h * h + h),
        "second matrix": -n * (i * h + h),
        "pooler": -pooler * (h * h + h),
        "head": -head,
        "one of three": -attentions * 2 * (h * h + h),
        "one head": -attentions * 3 * (h + 1) * (h - size),
        "heads times": attentions * 3 * (h + 1) * h * (c.num_attention_heads - 1),
        "gated": n * i * h,
        "four times": n * (2 * h + 1) * (4 * h - i),
        **{
            f"padded to {multiple}": (up(v, multiple) - v) * (h * (1 + untied) + lm + untied)
            for multiple in (8, 64, 128)
        },
        "attention once": -(attentions - 1 - c.add_cross_attention) * attention,
        "feed-forward once": -(n - 1) * forward,
        "encoder once": -(n - 1) * (one + norms),
        "layer less": -(n > 1) * (one + norms),
    }


POOLED = (
    "BertForPreTraining",
    "BertForNextSentencePrediction",
    "BertForSequenceClassification",
    "BertForMultipleChoice",
)
CLASSIFY = (
    "BertForSequenceClassification",
    "BertForMultipleChoice",
    "BertForTokenClassification",
    "BertForQuestionAnswering",
)


@given(bert_cases())
def test_a_miscount_changes_the_total_by_what_it_says(case: Case) -> None:
    tensors, sizes = counted(case.ours()), MiscountSizes.of(case.config)
    real = sum(tensor.numel() for tensor in case.real().parameters())
    assert total(tensors) == real
    expected = by_hand(case.config, case)
    assert {name: total(MISCOUNTS[name].make(tensors, sizes)) - real for name in expected} == expected


def test_every_miscount_is_tried() -> None:
    others = {"distances", "gate"}
    assert set(by_hand(BertConfig(), Case(BertConfig(), "BertModel", True))) == set(MISCOUNTS) - others


@pytest.mark.parametrize("layers", [1, 2, 22])
def test_modernberts_fused_matrices_and_first_layer(layers: int) -> None:
    config = ModernBertConfig(num_hidden_layers=layers)
    h, i, sizes = config.hidden_size, config.intermediate_size, MiscountSizes.of(config)
    tensors = counted(build(config))
    whole = Case(config, "ModernBertModel").real().num_parameters()
    attention, feed_forward = 4 * h * h, 3 * h * i
    one = attention + feed_forward + (1 if layers == 1 else 2) * h
    expected = {
        "gate": -layers * h * i,
        "one of three": -layers * 2 * h * h,
        "heads times": layers * 3 * h * h * (config.num_attention_heads - 1),
        "attention once": -(layers - 1) * attention,
        "feed-forward once": -(layers - 1) * feed_forward,
        "encoder once": one + h - (layers * (attention + feed_forward + 2 * h) - h) - h,
    }
    assert {name: total(MISCOUNTS[name].make(tensors, sizes)) - whole for name in expected} == expected


def test_relative_distances() -> None:
    config = BertConfig(position_embedding_type="relative_key")
    tensors = counted(build(config))
    assert (
        total(tensors) - total(MISCOUNTS["distances"].make(tensors, MiscountSizes.of(config)))
        == 110_267_904 - 109_482_240
    )


@pytest.mark.parametrize("name", MISCOUNTS)
def test_a_miscount_is_said_in_words(name: str) -> None:
    assert MISCOUNTS[name].said[0].islower()
    assert not MISCOUNTS[name].said.endswith(".")
