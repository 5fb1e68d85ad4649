import csv
import json
import re
from pathlib import Path

import pytest

from bertcalc import BertConfig, build
from bertcalc.families import CLASSES, FAMILIES
from bertcalc.families.presets import DEFAULT_PRESET, PRESETS, preset_named
from bertcalc.families.published import PUBLISHED, PublishedCount
from bertcalc.model.totals import totals_by_component
from tests.oracle import Case, facts

# Counts of BERT and its relatives, each from a real class in transformers 5.23, with published counts.
with Path(__file__).with_name("family_counts.csv").open(encoding="utf-8") as _file:
    COUNTS = list(csv.DictReader(_file))
MINIATURES = [name for name in PRESETS if name.startswith("bert_uncased_")]


def test_each_preset_has_a_source() -> None:
    assert len(FAMILIES["bert"].presets) == 38
    assert all(preset.source.description and preset.source.url.startswith("https://") for preset in PRESETS.values())
    assert PRESETS[DEFAULT_PRESET].config == BertConfig()


def test_there_are_24_miniatures_with_a_size_each() -> None:
    assert len({PRESETS[name].config for name in MINIATURES}) == len(MINIATURES) == 24


@pytest.mark.parametrize("name", MINIATURES)
def test_a_miniature_is_what_its_name_says(name: str) -> None:
    config = PRESETS[name].config
    match = re.fullmatch(r"bert_uncased_L-(\d+)_H-(\d+)_A-(\d+)", name)
    assert match is not None
    assert [config.num_hidden_layers, config.hidden_size, config.num_attention_heads] == list(map(int, match.groups()))
    assert config.num_attention_heads * 64 == config.hidden_size
    assert config.intermediate_size == 4 * config.hidden_size


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_is_the_real_model(name: str) -> None:
    config = PRESETS[name].config
    case = Case(config, type(config).__name__.replace("Config", "Model"))
    assert facts(case.ours()) == facts(case.real())


@pytest.mark.parametrize("published", PUBLISHED, ids=lambda count: f"{count.preset}-{count.architecture}")
def test_a_published_count_comes_out_and_is_that_of_the_real_class(published: PublishedCount) -> None:
    case = Case(PRESETS[published.preset].config, published.architecture, published.add_pooling_layer)
    assert (
        published.parameters + published.surplus == published.model().num_parameters() == case.real().num_parameters()
    )
    # A source names a file, a collection, a page or a title, so that a reader can search for it.
    named = r"\.(py|out|md|ts)\b|\(\)|README|docs|model_implementations|card of \S+/|blog|pull request \d"
    assert all(re.search(named, source) for source in published.source.split("; "))


@pytest.mark.parametrize("published", PUBLISHED, ids=lambda count: f"{count.preset}-{count.architecture}")
def test_the_convention_of_a_published_count_is_what_the_class_does(published: PublishedCount) -> None:
    has_pooler = "pooler" in totals_by_component(published.model())
    if "no pooler" in published.convention:
        assert not has_pooler
    if "with pooler" in published.convention:
        assert has_pooler


def test_every_published_count_is_of_a_known_class_and_named_once() -> None:
    keys = {(count.preset, count.architecture, count.parameters) for count in PUBLISHED}
    assert len(keys) == len(PUBLISHED)
    assert {count.architecture for count in PUBLISHED} <= set(CLASSES)


@pytest.mark.parametrize("row", COUNTS, ids=lambda row: f"{row['model'].split()[0]}-{row['hf_class']}")
def test_a_count_of_a_real_class_comes_out_and_what_was_published_of_it_is_on_verify(row: dict[str, str]) -> None:
    architecture, brace, options = row["hf_class"].partition("{")  # such as RobertaModel{"add_pooling_layer": false}
    if architecture not in CLASSES:
        pytest.skip(f"{architecture} has no family")
    config = CLASSES[architecture].config(**json.loads(row["config_differs_from_class_default"]))
    model = build(config, architecture, **json.loads(brace + options or "{}"))
    assert model.num_parameters() == int(row["count"])
    if row["published"]:
        assert any((one.architecture, one.parameters) == (architecture, int(row["published"])) for one in PUBLISHED)


@pytest.mark.parametrize(
    ("name", "total"),
    [
        ("bert-base-chinese", 102_267_648),
        ("bert-base-multilingual-cased", 177_853_440),
        ("bert-large-chinese", 325_522_432),
    ],
)
def test_the_models_that_are_not_of_110_or_340_million(name: str, total: int) -> None:
    assert build(PRESETS[name].config).num_parameters() == total


def test_a_preset_is_found_however_its_name_is_written() -> None:
    assert preset_named("answerdotai/ModernBERT-base") == preset_named("modernbert-BASE") == "ModernBERT-base"
    assert preset_named("https://huggingface.co/google-bert/bert-base-cased") == "bert-base-cased"
    assert preset_named("BAAI/bge-large-zh") == "bert-large-chinese"
    assert preset_named("google/bert_uncased_L-2_H-128_A-2") == "bert_uncased_L-2_H-128_A-2"
    assert preset_named("nobody/bert-base-cased") is None  # it may have other sizes
    assert preset_named("") is None
    assert len({name.lower() for name in PRESETS}) == len(PRESETS)
