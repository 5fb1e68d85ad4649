"""Labels that mean a part, and numbers near its count in transformers: only the right number is not marked."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from bertcalc.families.presets import PRESETS
from bertcalc.proofreading.claims import CheckedClaim
from bertcalc.proofreading.proofread import proofread
from tests.oracle import Case
from tests.proofreading.real_models import LARGE, ROBERTA, count, real

MODELS = {
    "BERT-base": real(),
    "BERT-large": real(**LARGE),
    "roberta-base": real("RobertaModel", **ROBERTA),
    "gpt2": real("GPT2Model"),
}
LABELS = {
    "embeddings": ("Embedding layer", "The embeddings of {model} hold", "{model} 的嵌入层"),
    "layer": ("Each transformer layer has", "one encoder layer of {model}", "每层"),
    "layers": ("all {layers} layers together", "{layers} encoder layers of {model}", "{layers} 层"),
    "attention": ("Multi-head attention, one layer", "每层的注意力"),
    "feed-forward": ("The feed-forward network of one layer takes", "每层的前馈网络"),
    "model": ("total", "{model} has a total of", "总参数量"),
}


@cache
def counts(name: str) -> Mapping[str, int]:
    """The parameter counts of a real model's parts."""
    model = MODELS[name]
    if name == "gpt2":
        layer, layers, embeddings = model.h[0], model.h, [model.wte, model.wpe]
        attention, feed_forward = [layer.attn], [layer.mlp]
    else:
        layer, layers, embeddings = model.encoder.layer[0], model.encoder.layer, [model.embeddings]
        attention = [layer.attention.self, layer.attention.output.dense]
        feed_forward = [layer.intermediate, layer.output.dense]
    return {
        "embeddings": count(*embeddings),
        "layer": count(layer),
        "layers": count(layers),
        "attention": count(*attention),
        "feed-forward": count(*feed_forward),
        "model": count(model),
    }


def labelled() -> Iterator[tuple[str, str, str]]:
    for name, model in MODELS.items():
        for part, labels in LABELS.items():
            for label in labels:
                yield name, part, label.format(model=name, layers=model.config.num_hidden_layers)


CASES = [*labelled()]


def judged(name: str, label: str, value: str) -> CheckedClaim:
    claims = proofread(f"# {name}\n\n- {label}: {value} parameters\n").claims
    return next(claim for claim in claims if claim.text.startswith(value.split()[0]))


@pytest.mark.parametrize(("name", "part", "label"), CASES)
def test_the_right_number_is_right(name: str, part: str, label: str) -> None:
    assert judged(name, label, f"{counts(name)[part]:,}").verdict == "right"


@given(st.sampled_from(CASES), st.sampled_from([0.957, 1.009, 1.037, 1.1]), st.integers(1, 500))
def test_a_number_near_the_right_one_is_wrong(case: tuple[str, str, str], factor: float, more: int) -> None:
    name, part, label = case
    right = counts(name)[part]
    claim = judged(name, label, f"{int(right * factor) + 2 * more + 1:,}")
    if claim.verdict != "unknown":  # by chance, the number may be the count of two parts together
        assert claim.verdict == "wrong"
        assert claim.right_value is not None
        assert abs(claim.right_value - right) <= right // 50  # the nearest meaning, such as the part with LayerNorm


@pytest.mark.parametrize(("name", "part", "label"), CASES)
def test_a_number_that_counts_nothing_is_marked(name: str, part: str, label: str) -> None:
    assert judged(name, label, f"{counts(name)[part] * 1041 // 1000 | 1:,}").verdict == "wrong"


@pytest.mark.parametrize(
    ("text", "right"),
    [
        ("In half precision the weights take 247 MB.", 2 * count(real())),
        ("模型权重（fp32）: 495 MB", 4 * count(real())),
    ],
)
def test_a_size_near_the_bytes_of_the_weights_is_wrong(text: str, right: int) -> None:
    [claim] = proofread(f"# BERT-base\n\n{text}\n").of("wrong")
    assert claim.right_value == right


@pytest.mark.parametrize("labels", [2, 10, 42])
def test_a_classifier_is_judged_by_the_labels_beside_it(labels: int) -> None:
    right = count(nn.Linear(768, labels))
    text = f"# BERT-base\n\nThe classification head for {labels} classes has {{value}} parameters.\n"
    assert [claim.verdict for claim in proofread(text.format(value=f"{right:,}")).claims][-1] == "right"
    [claim] = proofread(text.format(value=f"{right - labels:,}")).of("wrong")
    assert claim.right_value == right


@cache
def real_count(cls: str, checkpoint: str, labels: int) -> int:
    config = replace(PRESETS[checkpoint].config, num_labels=labels)
    return count(Case(config, cls).real())


@pytest.mark.parametrize(
    ("text", "cls", "checkpoint", "labels"),
    [
        ("roberta-large with 3 labels: {count:,}", "RobertaForSequenceClassification", "roberta-large", 3),
        ("bert-base-cased NER model with 9 labels: {count:,}", "BertForTokenClassification", "bert-base-cased", 9),
        ("bert-base-chinese 用于 10 分类，共 {count:,} 个", "BertForSequenceClassification", "bert-base-chinese", 10),
        ("GPT2ForSequenceClassification with 4 labels has {count:,}.", "GPT2ForSequenceClassification", "gpt2", 4),
        ("deberta-v3-base on MNLI (3 labels): {count:,}", "DebertaV2ForSequenceClassification", "deberta-v3-base", 3),
    ],
)
def test_a_class_with_another_number_of_labels_is_right(text: str, cls: str, checkpoint: str, labels: int) -> None:
    right = real_count(cls, checkpoint, labels)
    claim = next(claim for claim in proofread(text.format(count=right)).claims if claim.value == right)
    assert (claim.verdict, str(claim.counts)) == ("right", f"This is the count of {cls}, with {labels} labels.")
    [unstated] = proofread(f"{checkpoint} has {right:,} parameters.").claims
    assert unstated.verdict == "conditional"
    assert cls in unstated.reason


def test_a_classifier_on_the_count_of_a_model_needs_its_bias() -> None:
    right = real_count("BertForSequenceClassification", "bert-base-uncased", 3)
    [wrong] = proofread("BERT-base with three labels: 109,482,240 + 768 * 3 = 109,484,544").claims
    assert (wrong.verdict, int(wrong.right_value or 0)) == ("wrong", right)
    assert proofread(f"BERT-base with three labels: 109,482,240 + 768 * 3 + 3 = {right:,}").claims[0].verdict == "right"


def test_words_that_exclude_the_pooler_count() -> None:
    [wrong] = proofread("BERT-base without pooler: 109,482,240 parameters.").claims
    assert (wrong.verdict, int(wrong.right_value or 0)) == ("wrong", 108_891_648)
    both = proofread("BERT-base with pooler: 109,482,240, without pooler: 108,891,648.").claims
    assert [claim.verdict for claim in both] == ["right", "right"]


@pytest.mark.parametrize("line", ["分类层: hidden_size * num_labels = 768 * 18", "# 分类层参数 = 768 * 18"])
def test_a_classifier_by_its_labels_alone_needs_its_bias(line: str) -> None:
    [wrong] = proofread(f"bert-base-chinese 的参数量\n{line}").claims
    assert wrong.verdict == "wrong"
    assert wrong.right_value == count(nn.Linear(768, 18))
    assert not proofread("BERT-base: logits: batch * num_labels = 768 * 9 = 6,912").of("wrong")
