"""Every known count is the real model's, and typed numbers match all counts that they may mean."""

from dataclasses import replace
from typing import Any

import pytest
import transformers
from hypothesis import given
from hypothesis import strategies as st

from bertcalc import BertConfig, Config, build
from bertcalc.diagnosis.known_counts import (
    PUBLISHED_CONFIGS,
    KnownCount,
    known_counts,
    mixes,
    more_counts,
    other_labels,
    published_counts,
    published_otherwise,
    published_parts,
    readings,
)
from bertcalc.families import family_of
from bertcalc.families.presets import PRESETS
from bertcalc.families.published import PUBLISHED, PublishedCount
from bertcalc.model.model import Model
from bertcalc.proof.real_model import empty_model
from bertcalc.text.amounts import typed
from tests.examples import examples
from tests.oracle import Case
from tests.strategies import configs


@examples(10)
@given(configs())
def test_a_known_count_is_the_real_models(config: Config) -> None:
    for known in known_counts(config):
        real = Case.of(known.model).real()
        positions = [buffer.numel() for name, buffer in real.named_buffers() if name.endswith("position_ids")]
        assert known.parameters == sum(tensor.numel() for tensor in real.parameters())
        assert known.buffers in (0, sum(positions))


@examples(4)
@given(configs())
def test_counts_by_other_conventions_are_the_real_models(config: Config) -> None:
    for known in more_counts(config):
        real = Case.of(known.model).real()
        parameters = sum(tensor.numel() for tensor in real.parameters())
        if known.convention == "no embeddings":
            assert known.total == real.num_parameters(exclude_embeddings=True)
        elif known.convention == "both buffers":
            buffers = [
                buffer.numel() for name, buffer in real.named_buffers() if name.endswith(("position_ids", "type_ids"))
            ]
            assert known.total == parameters + sum(buffers)
        else:
            pooler = transformers.models.bert.modeling_bert.BertPooler(real.config)
            assert known.parameters == parameters + sum(tensor.numel() for tensor in pooler.parameters())


@pytest.mark.parametrize("preset", ["deberta-base", "deberta-v3-base", "mpnet-base", "gpt2", "ernie-3.0-base-zh"])
def test_a_count_without_embeddings_leaves_out_every_table(preset: str) -> None:
    config = PRESETS[preset].config
    model = Model(config, family_of(config).base.name)
    real = Case.of(model).real().num_parameters(exclude_embeddings=True)
    found = [known for known in more_counts(config) if known.model == model and known.convention == "no embeddings"]
    assert [known.total for known in found] == [real]


def test_another_number_of_labels_is_known() -> None:
    config = replace(BertConfig(), num_labels=7)
    real = sum(tensor.numel() for tensor in Case(config, "BertForTokenClassification").real().parameters())
    found = {(known.model.architecture, known.model.config.num_labels) for known in other_labels(BertConfig(), real)}
    assert ("BertForTokenClassification", 7) in found
    assert not list(other_labels(BertConfig(), real + 1))


@pytest.mark.parametrize("preset", ["bert-large-uncased", "albert-base-v2", "roberta-large", "EuroBERT-610m", "gpt2"])
def test_a_model_with_some_sizes_of_another_is_the_real_one(preset: str) -> None:
    config = PRESETS[preset].config
    model = Model(config, family_of(config).base.name)
    found = mixes(model)
    assert len({known.model.config for known in found}) == len(found) > 3
    for known in found[:: len(found) // 3]:
        assert known.mix
        other = PUBLISHED_CONFIGS.get(known.mix.preset, config)
        changes: dict[str, Any] = {field: getattr(other, field) for field in known.mix.fields}
        if not known.mix.preset:  # embeddings as wide as the layers
            changes = {"embedding_size": config.hidden_size}
        if "hidden_size" in changes:
            changes["num_attention_heads"] = other.num_attention_heads
        real = Case(replace(config, **changes), model.architecture).real()
        assert known.parameters == real.num_parameters()
        assert known.mix.right == model.num_parameters()


def test_models_that_are_no_presets_are_known() -> None:
    """Counts from keras-hub. 168,054,423 is from a thread of google-research/bert, with the head and a pooler."""
    assert published_counts()[23_953_920][0] == "bge-small-zh-v1.5"
    assert published_counts()[117_653_760][0] == "multilingual-e5-small"
    assert published_otherwise()[168_054_423][0] == "bert-base-multilingual-uncased"


def test_all_that_the_presets_have_is_known() -> None:
    for name, path in (("bert-large-uncased", "encoder.layer.0"), ("roberta-base", "embeddings")):
        real = Case(PRESETS[name].config, family_of(PRESETS[name].config).base.name).real()
        count = sum(tensor.numel() for tensor in real.get_submodule(path).parameters())
        assert count in published_parts()


@pytest.mark.parametrize("published", PUBLISHED)
def test_a_published_count_is_known(published: PublishedCount) -> None:
    known = known_counts(PRESETS[published.preset].config)
    found = [one.model for one in known if one.total == published.parameters + published.surplus]
    assert (published.architecture, published.add_pooling_layer) in [
        (model.architecture, model.add_pooling_layer) for model in found
    ]


def counts(text: str) -> set[int]:
    """The counts of bert-base without buffers that a text may mean, read as parameters."""
    number = typed(text)
    return {
        known.parameters
        for known in known_counts(BertConfig())
        if not known.buffers
        for reading in readings(number)
        if reading.key == "parameters" and reading.means(known.total)
    }


def test_which_counts_round_to_110_million() -> None:
    every = {known.parameters for known in known_counts(BertConfig()) if not known.buffers}
    assert {count for count in every if 109_500_000 <= count <= 110_500_000} == {109_514_298, 110_106_428}
    assert {109_482_240, 109_514_298, 110_106_428} <= counts("110M") == counts("1.1e8") == counts("110,000,000")
    assert counts("109.5M") == {109_482_240, 109_483_009, 109_483_778, 109_514_298}


def test_the_published_checkpoint_with_its_buffer() -> None:
    [found] = [known for known in known_counts(BertConfig()) if known.total == 110_106_940]
    assert (found.model.architecture, found.buffers) == ("BertForPreTraining", 512)


def test_an_untied_decoder() -> None:
    untied = replace(BertConfig(), tie_word_embeddings=False)
    real = sum(tensor.numel() for tensor in Case(untied, "BertForMaskedLM").real().parameters())
    assert [known.model.architecture for known in known_counts(BertConfig()) if known.total == real] == [
        "BertForMaskedLM",
        "BertLMHeadModel",
    ]


def test_bytes_and_mebi() -> None:
    def meanings(text: str, count: int) -> list[tuple[str, bool]]:
        return [(reading.key, reading.rounded) for reading in readings(typed(text)) if reading.means(count)]

    assert meanings("437,928,960", 109_482_240) == [("float32", False)]
    assert meanings("437.9 MB", 109_482_240) == [("float32", False)]
    assert meanings("219 MB", 109_482_240) == [("16-bit", False)]
    assert meanings("72.1 MB", 75_641_856) == [("mebi", False)]
    assert meanings("104.4M", 109_482_240) == [("mebi", False)]
    assert meanings("340M", 335_141_888) == [("parameters", True)]
    assert meanings("335,000,000", 335_141_888) == [("parameters", True)]


@given(st.integers(0, 10**15), st.integers(0, 6), st.sampled_from(["", "M", " GB", "e3"]))
def test_every_reading_holds_what_was_typed(number: int, zeros: int, unit: str) -> None:
    amount = typed(f"{number * 10**zeros}{unit}")
    found = readings(amount)
    assert found[0].key == ("float32" if unit == " GB" else "parameters")
    key = "8-bit" if unit == " GB" else "parameters"  # a number of bytes is no number of parameters
    first, *others = (reading for reading in found if reading.key == key)
    assert (first.low, first.high) == (amount.low, amount.high)
    assert all(reading.low <= reading.high for reading in found)
    for reading in others:
        assert (reading.low, reading.high) != (first.low, first.high)
        assert reading.low <= first.low <= first.high <= reading.high


@pytest.mark.parametrize("text", ["90.0M", "0.60亿", "1.10e8", "6.0 million"])
def test_zeros_after_a_point_are_meant(text: str) -> None:
    assert not any(reading.rounded for reading in readings(typed(text)))
    assert any(reading.rounded for reading in readings(typed("60M")))


def test_the_published_models_are_found_by_their_counts() -> None:
    assert published_counts()[335_141_888][0] == "bert-large-uncased"
    assert published_counts()[102_267_648][0] == "bert-base-chinese"


def test_a_known_count_builds_its_own_model() -> None:
    known = KnownCount(Model(BertConfig(), add_pooling_layer=False), 108_891_648, 512)
    assert known.model.num_parameters() == known.total - 512


@pytest.mark.parametrize("architecture", ["BertForMaskedLM", "BertForSequenceClassification", "BertForPreTraining"])
def test_the_difference_from_a_model_is_that_of_the_real_ones(architecture: str) -> None:
    base, other = (build(BertConfig(), name) for name in ("BertModel", architecture))
    real_base, real_other = (dict(empty_model(model).named_parameters()) for model in (base, other))
    head = sum(parameter.numel() for name, parameter in real_other.items() if not name.startswith("bert."))
    pooler = sum(parameter.numel() for name, parameter in real_base.items() if name.startswith("pooler."))
    expected = {"head": head} if "bert.pooler.dense.bias" in real_other else {"pooler": -pooler, "head": head}
    assert KnownCount(other, other.num_parameters()).beyond(base) == expected


def test_the_difference_of_a_count_includes_its_buffers_and_is_unknown_if_it_leaves_out_tensors() -> None:
    model = build(BertConfig())
    assert KnownCount(model, model.num_parameters(), 512).beyond(model) == {"buffers": 512}
    assert KnownCount(model, 85_645_056, convention="no embeddings").beyond(model) == {}
