"""The configurations of all families: Hugging Face's names and defaults, checked under shared and own names."""

import re
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers
from hypothesis import given
from hypothesis import strategies as st

from bertcalc import (
    BertConfig,
    Config,
    ConfigError,
    DistilBertConfig,
    ElectraConfig,
    EuroBertConfig,
    ModernBertConfig,
    MPNetConfig,
    RobertaConfig,
    build,
    columns,
)
from bertcalc.config import MixedError, sizes_of
from bertcalc.controls.chosen_model import ChosenModel, read
from bertcalc.families import CLASSES, FAMILIES, family_of, hf_json
from bertcalc.families.presets import PRESETS
from bertcalc.model.family import Family
from bertcalc.model.model import Model, config_of_class
from tests.examples import examples
from tests.memory.live import on_cpu
from tests.oracle import Case, real_config
from tests.strategies import cases, configs

KINDS = [family.config for family in FAMILIES.values()]


@pytest.mark.parametrize("kind", KINDS)
def test_fields_and_defaults_are_those_of_transformers(kind: type[Config]) -> None:
    real = getattr(transformers, kind.__name__)
    ours = {field.name for field in fields(kind)}
    # In transformers, num_labels is a property. position_embedding_type is from transformers 4. Local layers and rotary
    # angles change no count. In bertcalc, heads have no separate size.
    uncounted = {"layer_types", "rope_parameters", "head_dim"}
    declared = set(real.__annotations__) - {"model_type", "attribute_map"} - uncounted
    absent = {"type_vocab_size"} - ours  # 0 in every published DeBERTa
    assert ours - {"num_labels", "position_embedding_type"} - set(kind.undeclared) == declared - absent
    declared &= ours
    for name in declared | {"num_labels"}:
        theirs, mine = getattr(real(), name), getattr(kind(), name)
        if name == "n_inner":  # None in transformers, which uses four times n_embd
            theirs = 4 * real().n_embd
        if name == "num_key_value_heads":  # transformers uses the number of heads, which is None in bertcalc
            theirs = None if theirs == real().num_attention_heads else theirs
        assert (type(theirs), theirs) == (type(mine), mine), name


@pytest.mark.parametrize("family", FAMILIES.values(), ids=FAMILIES)
def test_a_field_that_is_not_given_is_what_transformers_makes_of_it(family: Family) -> None:
    """Also fields that transformers reads but does not declare, such as DeBERTa-v2's position_buckets."""
    kind, real_kind = family.config, getattr(transformers, family.config.__name__)
    some: list[dict[str, Any]] = [{}]
    if kind.has("pos_att_type"):
        relative = {"relative_attention": True, "pos_att_type": "p2c|c2p"}
        some += [relative] + [relative | {name: kind.most[name]} for name in kind.undeclared if name in kind.most]
    for given_fields in some:
        with torch.device("meta"):
            real = getattr(transformers, family.base.name)(real_kind(**given_fields))
        assert build(kind(**given_fields)).num_parameters() == sum(tensor.numel() for tensor in real.parameters())


@pytest.mark.parametrize("kind", KINDS)
@given(st.data())
@examples(10)
def test_transformers_takes_every_configuration_as_it_is(kind: type[Config], data: st.DataObject) -> None:
    config = data.draw(configs(kind=kind))
    real = real_config(config)
    ours = {name: value for name, value in vars(config).items() if name != "position_embedding_type"}
    if ours.get("pos_att_type"):  # a text or a list in the file, and a list once transformers has read it
        ours["pos_att_type"] = ours["pos_att_type"].split("|")
    if ours.get("num_key_value_heads", 1) is None:
        ours["num_key_value_heads"] = config.num_attention_heads
    assert {name: getattr(real, name) for name in ours} == ours


@pytest.mark.parametrize("kind", [kind for kind in KINDS if not kind.default().turns_pairs])
def test_the_longest_sequence_is_the_last_that_the_real_model_takes(kind: type[Config]) -> None:
    sizes: dict[str, Any] = {"vocab_size": 30, "hidden_size": 24, "num_attention_heads": 2, "num_hidden_layers": 1}
    config = kind(**sizes, max_position_embeddings=12, pad_token_id=3)
    case = Case(config, family_of(config).base.name)
    if not any(tensor.place.role == "position" for tensor in case.ours().tensors()):
        return
    real, given = on_cpu(case.real(), {"input_ids": torch.zeros((1, config.longest), dtype=torch.long)})
    real(**given)
    with pytest.raises((IndexError, RuntimeError)):
        real(input_ids=torch.zeros((1, config.longest + 1), dtype=torch.long))


def test_the_window_is_what_the_real_local_attention_sees_on_each_side() -> None:
    sizes: dict[str, Any] = {"vocab_size": 30, "hidden_size": 24, "num_attention_heads": 2, "num_hidden_layers": 2}
    config = ModernBertConfig(**sizes, pad_token_id=3, local_attention=6)
    real, given = on_cpu(Case(config, "ModernBertModel").real(), {"input_ids": torch.zeros((1, 12), dtype=torch.long)})
    real.set_attn_implementation("eager")
    _everything, near = real(**given, output_attentions=True).attentions
    seen = near[0, 0].nonzero()
    assert (seen[:, 0] - seen[:, 1]).abs().max() == config.window


def test_a_field_has_the_familys_name_and_that_which_all_share() -> None:
    config = DistilBertConfig(n_layers=3, hidden_size=384)
    assert (config.dim, config.hidden_size, config.num_hidden_layers) == (384, 384, 3)
    assert transformers.DistilBertConfig(n_layers=3, hidden_size=384).dim == 384
    assert config == DistilBertConfig(num_hidden_layers=3, dim=384)
    assert (config.type_vocab_size, config.is_decoder) == (0, False)


@pytest.mark.parametrize(
    ("kind", "values", "said", "remedy"),
    [
        (
            DistilBertConfig,
            {"dim": 770},
            r"dim 770 is not a multiple of n_heads 12: use 768 or 780",
            {"hidden_size": 768},
        ),
        (DistilBertConfig, {"n_layers": 0}, r"n_layers 0 is invalid", {"num_hidden_layers": 1}),
        (DistilBertConfig, {"is_decoder": True}, r"DistilBertConfig has no is_decoder", {"is_decoder": False}),
        (MPNetConfig, {"vocab_size": 1, "pad_token_id": 0}, r"the padding token is 1", {"vocab_size": 2}),
        (MPNetConfig, {"relative_attention_num_buckets": 8}, r"from 32 to", {"relative_attention_num_buckets": 32}),
        (ElectraConfig, {"summary_type": "mean"}, r"must be first or last", {"summary_type": "first"}),
    ],
)
def test_what_is_wrong_is_said_in_the_familys_names(
    kind: type[Config], values: dict[str, Any], said: str, remedy: dict[str, Any]
) -> None:
    with pytest.raises(ConfigError, match=said) as caught:
        kind(**values)
    assert caught.value.problem.remedies[0] == remedy
    assert kind(**(values | {kind.own_name(name): value for name, value in remedy.items()}))


def test_links_and_files_have_the_familys_names() -> None:
    model = ChosenModel().reset("distilbert-base-uncased").changed({"num_hidden_layers": 3})
    assert model.link() == {"preset": "distilbert-base-uncased", "n_layers": "3"}
    for name in ("n_layers", "num_hidden_layers"):
        assert read({"preset": "distilbert-base-uncased", name: "3"}) == (model, [])
    written = hf_json.write(Model(model.config, "DistilBertForMaskedLM"))
    assert '"n_layers": 3' in written
    assert "num_hidden_layers" not in written
    assert hf_json.read(written)[:2] == (model.config, "DistilBertForMaskedLM")


@given(cases(), st.data())
@examples(20)
def test_columns_of_every_family_are_the_counts_of_their_rows(case: Case, data: st.DataObject) -> None:
    kind = type(case.config)
    field = data.draw(st.sampled_from([name for name in sizes_of(kind) if name not in ("vocab_size", "num_labels")]))
    unit = case.config.num_attention_heads * kind.heads_of if field == "hidden_size" else 1
    least = 64 if field in ("max_position_embeddings", "relative_attention_num_buckets", "position_buckets") else 1
    heads = [case.config.num_attention_heads] * 3
    values = heads if field == "num_attention_heads" else [least * unit, (least + 1) * unit, (least + 2) * unit]
    case = case._replace(config=kind(**{**vars(case.config), "pad_token_id": case.config.pad_token_id and 0}))
    try:
        many = case._replace(config=columns(case.config, **{field: np.array(values)})).ours().num_parameters()
    except MixedError:  # not all rows have a projection, or a second layer
        assert kind in (ElectraConfig, ModernBertConfig)
        return
    alone = [case._replace(config=kind(**{**vars(case.config), kind.own_name(field): value})) for value in values]
    assert np.broadcast_to(many, 3).tolist() == [one.ours().num_parameters() for one in alone]


@pytest.mark.parametrize(
    ("config", "arrays"),
    [
        (EuroBertConfig(num_key_value_heads=4), {"num_attention_heads": [4, 6]}),
        (EuroBertConfig(num_key_value_heads=4), {"hidden_size": [512, 384], "num_attention_heads": [8, 6]}),
        (RobertaConfig(pad_token_id=7), {"max_position_embeddings": [9, 8]}),
        (MPNetConfig(), {"vocab_size": [30, 1]}),
    ],
    ids=["heads", "widths", "positions", "words"],
)
def test_a_row_that_breaks_a_relation_is_refused_as_the_configuration_is(
    config: Config, arrays: dict[str, list[int]]
) -> None:
    last: dict[str, Any] = {field: values[-1] for field, values in arrays.items()}
    with pytest.raises(ConfigError) as alone:
        replace(config, **last)
    with pytest.raises(ConfigError) as row:
        columns(config, **{field: np.array(values) for field, values in arrays.items()})
    assert str(row.value) == str(alone.value)
    columns(config, **{field: np.array(values[:1]) for field, values in arrays.items()})


def test_bert_can_become_any_other_family_and_come_back() -> None:
    for name, family in CLASSES.items():
        config = config_of_class(BertConfig(num_hidden_layers=3), name)
        assert type(config) is family.config
        assert config.num_hidden_layers == 3
        assert build(config, name).num_parameters() > 0
        assert config_of_class(config, "BertModel").num_hidden_layers == 3
    assert set(PRESETS) == {name for family in FAMILIES.values() for name in family.presets}


def test_the_table_of_families_has_the_exact_totals() -> None:
    table = (Path(__file__).parents[2] / "docs" / "families.md").read_text(encoding="utf-8")
    found = re.findall(r"^\| [^|]+ \| (\S+) \| ([0-9,]+) \|", table, re.MULTILINE)
    assert {CLASSES[model.architecture].name for model, _total in map(said, found)} >= {
        name for name in FAMILIES if name not in ("camembert",)
    }
    for model, total in map(said, found):
        assert f"{model.num_parameters():,}" == total


def said(row: tuple[str, str]) -> tuple[Model, str]:
    config = PRESETS[row[0]].config
    return Model(config, family_of(config).base.name), row[1]
