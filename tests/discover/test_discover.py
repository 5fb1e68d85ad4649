"""Discovered formulas are right at unseen sizes of the real classes, or the class is refused with a reason."""

import re
from contextlib import suppress
from fractions import Fraction
from functools import cache, partial
from math import inf
from typing import Any
from unittest.mock import patch

import pytest
import sympy
import torch
import transformers
from huggingface_hub.errors import StrictDataclassError
from hypothesis import given
from hypothesis import strategies as st
from transformers.initialization import no_init_weights

from bertcalc import infer
from bertcalc.discover import discover
from bertcalc.discover.results.request import DiscoveryRequest
from bertcalc.discover.results.result import Discovered, of_json
from bertcalc.discover.results.search_errors import Ended, Refused
from bertcalc.discover.results.shipped import shipped
from bertcalc.discover.search import build
from bertcalc.discover.search.changes import merge_changes
from bertcalc.discover.search.config_integers import Recipe, recipe_of
from bertcalc.discover.search.experiments import Lab
from bertcalc.discover.search.fitted_columns import Tables
from bertcalc.discover.search.formula_search import find
from bertcalc.discover.search.polynomial_fit import Fit, FittedTerm
from bertcalc.text.arguments import ArgumentError
from bertcalc.text.problem import InputError, Problem
from tests.discover.real import real
from tests.examples import examples, sampled

transformers.logging.set_verbosity(transformers.logging.CRITICAL)


@cache
def found_for(model_type: str, cls: str) -> Discovered:
    return discover(DiscoveryRequest(model_type, cls))


# With few layers, a class is built faster, and its formula is the same.
SHALLOW = {"num_hidden_layers": 4}


# Classes with an optional projection, two kinds of layers, experts, sizes that divide others, groups, and a list.
CLASSES = [
    ("electra", "ElectraForMaskedLM"),
    ("albert", "AlbertModel"),
    ("deepseek_v3", "DeepseekV3ForCausalLM"),
    ("qwen3_next", "Qwen3NextModel"),
    ("gpt2", "GPT2LMHeadModel"),
    ("t5", "T5ForConditionalGeneration"),
    ("funnel", "FunnelBaseModel"),
]


@examples(10)
@given(st.sampled_from(sampled(CLASSES, 2)), st.data())
def test_a_count_is_that_of_the_real_class_or_it_is_refused(case: tuple[str, str], data: st.DataObject) -> None:
    found = found_for(*case)
    plain = [field for field in found.fields if "[" not in field and found.fields[field] > 0]
    chosen = data.draw(st.lists(st.sampled_from(plain), unique=True, min_size=1, max_size=4))
    factor = st.sampled_from([1, 2, 3])
    sizes = {
        field: data.draw(
            st.integers(1, 9) if "layer" in field else factor.map(found.fields[field].__mul__) | st.integers(1, 300)
        )
        for field in chosen
    }
    try:
        counted = found.count(**sizes)
    except InputError:
        return
    # Transformers refuses the sizes.
    with suppress(ValueError, AssertionError, ZeroDivisionError, StrictDataclassError):
        assert_same(counted, real(case[0], case[1], **dict[str, Any](sizes)))


@pytest.mark.parametrize(("sizes", "number"), [("FRESH", 9), ("FRESH_ALL", 3)])
def test_a_formula_that_was_tried_at_too_few_other_sizes_is_none(sizes: str, number: int) -> None:
    """A formula needs at least ten sizes, and four of them with all fields changed."""
    cls = build.model_class("BertModel")
    with build.quiet(), patch(f"bertcalc.discover.search.formula_search.{sizes}", number):
        recipe = recipe_of(build.config_class("bert"), cls, {}, inf)
        lab = Lab(recipe, partial(build.tensors, cls), until=inf, progress=lambda *_said: None)
        lab.sort_fields()
        findings = find(lab)
    assert not findings.kinds
    assert findings.unexplained.keys() == lab.base_sample.tensors.keys()
    assert {f"{why}" for why in findings.unexplained.values()} == {
        "too few configurations with every field changed could be built"
    }


def assert_same(counted: int, there: int) -> None:
    if counted != there:
        pytest.fail(f"{counted} is not {there}")


@pytest.mark.parametrize("case", sampled(CLASSES, 2), ids=lambda case: case[1])
def test_everything_is_explained_and_right_here(case: tuple[str, str]) -> None:
    found = found_for(*case)
    assert found.unexplained == {}
    assert found.explained == found.parameters
    assert found.count() == found.parameters == real(*case)
    assert found.total.subs({str(name): value for name, value in found.fields.items()}) != 0
    numbers = {symbol: found.fields[symbol.name] for symbol in found.total.free_symbols}
    assert found.total.subs(numbers) == found.parameters
    assert found.checked.agreed == found.checked.of >= 10
    assert found.checked.all_changed >= 4


def test_outside_of_the_regime_a_count_is_refused_with_the_reason() -> None:
    found = found_for("electra", "ElectraForMaskedLM")
    with pytest.raises(
        InputError, match=r"The formula holds only if embedding_size differs from hidden_size"
    ) as refused:
        found.count(embedding_size=256)
    assert "but embedding_size = 256, hidden_size = 256" in str(refused.value)
    # The condition is necessary: without a projection, the count differs.
    assert real("electra", "ElectraForMaskedLM", embedding_size=256) != found.parameters
    # The condition is not stricter than necessary.
    for sizes in ({"embedding_size": 100}, {"hidden_size": 300}, {"embedding_size": 512}, {"num_attention_heads": 1}):
        assert found.count(**sizes) == real("electra", "ElectraForMaskedLM", **sizes)
    deep = found_for("deepseek_v3", "DeepseekV3ForCausalLM")
    with pytest.raises(InputError, match="num_hidden_layers is more than first_k_dense_replace"):
        deep.count(num_hidden_layers=3)
    with pytest.raises(InputError, match="multiple of n_head"):
        found_for("gpt2", "GPT2LMHeadModel").count(n_embd=770)


@pytest.mark.parametrize(
    "wrong", [{"hidden": 3}, {"n_layer": 0}, {"n_layer": 1.5}, {"n_layer": True}, {"n_layer": "3"}]
)
def test_what_is_no_size_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        found_for("gpt2", "GPT2LMHeadModel").count(**wrong)


def test_fields_that_have_to_be_alike_are_given_together() -> None:
    fields = {"num_layers": 4, "attention_types": [[["global", "local"], 2]]}
    found = discover(DiscoveryRequest("gpt_neo", "GPTNeoModel", fields))
    [(follower, (leader, share))] = found.follows.items()
    assert {follower, leader} == {"num_layers", "attention_types[0][1]"}
    sizes = {"num_layers": 2, "attention_types[0][1]": 1}
    assert sizes[follower] == share * sizes[leader]
    with pytest.raises(InputError, match=rf"{re.escape(follower)} would have to change to {sizes[follower]}"):
        found.count(**{leader: sizes[leader]})
    both = found.whole(**{leader: sizes[leader]})
    there = real("gpt_neo", "GPTNeoModel", num_layers=2, attention_types=[[["global", "local"], 1]])
    changes = merge_changes(transformers.GPTNeoConfig, transformers.GPTNeoModel, {}, both, inf)
    assert found.count(**both) == there == real("gpt_neo", "GPTNeoModel", **changes)
    with pytest.raises(InputError, match=rf"{re.escape(follower)} would have to change to {found.fields[follower]}"):
        found.count(**{follower: 5})


def test_what_is_given_stays_even_if_it_is_what_the_class_would_derive() -> None:
    heads = {**SHALLOW, "hidden_size": 1024, "num_attention_heads": 16, "head_dim": 64, "num_key_value_heads": 8}
    found = discover(DiscoveryRequest("llama", "LlamaModel", heads))
    for change in ({"hidden_size": 2048}, {"num_key_value_heads": 4}):
        assert found.count(**change) == real("llama", "LlamaModel", **heads | change)


@pytest.mark.parametrize(
    ("model_type", "cls", "changes", "said"),
    [
        ("bert", "BertModel", {"hiden_size": 96}, "bert has no field hiden_size: did you mean hidden_size?"),
        ("bert", "BertModel", {"two words": 96}, "bert has no field two words."),
        ("gpt2", "GPT2Model", {"n_layer[0]": 3}, "gpt2 has no field n_layer[0]: did you mean n_layer?"),
        (
            "funnel",
            "FunnelModel",
            {"block_sizes[7]": 3},
            "funnel has no field block_sizes[7]: did you mean block_sizes",
        ),
        ("clip", "CLIPModel", {"hidden_size": 96}, "did you mean text_config.hidden_size, vision_config.hidden_size?"),
        ("clip", "CLIPModel", {"text_config": {"hiden_size": 9}}, "clip has no field text_config.hiden_size"),
        ("emu3", "Emu3ForCausalLM", {"text_config": {"n_embd": 9}}, "emu3 has no field text_config.n_embd"),
    ],
)
def test_a_change_of_a_field_that_there_is_not_is_refused(
    model_type: str, cls: str, changes: dict[str, Any], said: str
) -> None:
    with pytest.raises(InputError) as refused:
        discover(DiscoveryRequest(model_type, cls, changes))
    assert said in str(refused.value)


@pytest.mark.parametrize(
    ("model_type", "cls", "config", "changes", "shallow"),
    [
        ("emu3", "Emu3ForCausalLM", transformers.Emu3TextConfig, {"hidden_size": 2048}, SHALLOW),
        ("musicgen", "MusicgenForCausalLM", transformers.MusicgenDecoderConfig, {"num_hidden_layers": 3}, {}),
        (
            "mllama",
            "MllamaForCausalLM",
            transformers.MllamaTextConfig,
            {"hidden_size": 1024, "vocab_size": 130_000},
            {"num_hidden_layers": 2, "cross_attention_layers": [1]},
        ),
    ],
)
def test_a_class_of_a_nested_configuration_takes_its_fields(
    model_type: str, cls: str, config: Any, changes: dict[str, int], shallow: dict[str, Any]
) -> None:
    def there(fields: dict[str, Any]) -> int:
        with torch.device("meta"), no_init_weights():
            model = getattr(transformers, cls)(config(**fields))
        return sum(tensor.numel() for tensor in model.parameters())

    usual = shipped(model_type, cls)
    assert usual is not None
    assert usual.count(**changes) == there(changes)
    found = discover(DiscoveryRequest(model_type, cls, {**changes, **shallow}))
    assert found.count() == found.parameters == there({**changes, **shallow})
    assert "num_hidden_layers" in found.fields


def test_a_path_is_what_it_stands_for() -> None:
    text = {"hidden_size": 256, "num_attention_heads": 4, "num_hidden_layers": 2}
    nested = {"text_config": text, "vision_config": {"num_hidden_layers": 2}}
    paths = {f"{part}.{field}": size for part, fields in nested.items() for field, size in fields.items()}
    there = real("clip", "CLIPModel", **nested)
    forms: tuple[dict[str, Any], ...] = nested, paths
    merges = [merge_changes(transformers.CLIPConfig, transformers.CLIPModel, {}, form, inf) for form in forms]
    assert merges[0] == merges[1]
    listed = {"block_sizes[0]": 1, "block_sizes[1]": 2, "block_sizes[2]": 1}
    merged = merge_changes(transformers.FunnelConfig, transformers.FunnelBaseModel, {}, listed, inf)
    assert merged == {"block_sizes": [1, 2, 1]}
    found = discover(DiscoveryRequest("clip", "CLIPModel", paths))
    assert found.parameters == there
    sizes = {"text_config.hidden_size": 512, "vision_config.num_hidden_layers": 3}
    nested["text_config"]["hidden_size"], nested["vision_config"]["num_hidden_layers"] = sizes.values()
    assert found.count(**sizes) == real("clip", "CLIPModel", **nested)
    assert sympy.Symbol("text_config.hidden_size", integer=True, positive=True) in found.total.free_symbols


def test_a_file_that_says_everything_is_read_as_what_it_changes() -> None:
    changes = {**SHALLOW, "hidden_size": 512, "num_attention_heads": 8, "intermediate_size": 999}
    config = transformers.LlamaConfig(**changes)
    written = {**config.to_dict(), "auto_map": {"AutoModel": "somewhere--else.Model"}, "architectures": ["Other"]}
    found = discover(DiscoveryRequest(written))
    assert found.cls == "LlamaModel"
    assert not {"head_dim", "num_key_value_heads"} & found.fields.keys()  # these fields follow from others
    assert found.count() == real("llama", "LlamaModel", **changes)


def test_other_names_of_fields_are_understood() -> None:
    found = discover(DiscoveryRequest("gpt2", None, {"hidden_size": 96, "num_hidden_layers": 3}))
    assert (found.fields["n_embd"], found.fields["n_layer"]) == (96, 3)


def test_sizes_that_a_default_leaves_open_are_given_and_said() -> None:
    found = discover(DiscoveryRequest("ministral"))  # its heads have no size by default
    assert found.given == {"head_dim": 128}
    sizes = {"head_dim": 64, "num_hidden_layers": 3}
    assert found.count(**sizes) == real("ministral", "MinistralModel", **sizes)
    with pytest.raises(Refused):  # missing sizes are not added if the user gives any size
        discover(DiscoveryRequest("ministral", None, {"num_hidden_layers": 3}))


def test_a_formula_that_is_wrong_for_other_sizes_is_not_shown() -> None:
    kinds = Tables.kinds

    def mistaken(tables: Tables, name: str) -> Any:
        found = kinds(tables, name)
        if name != "wte.weight" or isinstance(found, Problem):
            return found
        number = tables.samples[0].tensors[name][()][0]
        return [found[0]._replace(shape=(Fit([(Fraction(number), FittedTerm())]), found[0].shape[1]))]

    with patch.object(Tables, "kinds", mistaken):
        found = discover(DiscoveryRequest("gpt2", "GPT2Model"))
    assert "wte.weight" in found.unexplained
    assert "wte.weight" not in {tensors.name for tensors in found.tensors}
    assert found.total is None
    assert 0 < found.explained < found.parameters
    with pytest.raises(InputError, match="There is no formula for wte"):
        found.count()


class GappedConfig(transformers.PretrainedConfig):  # type: ignore[misc]
    model_type = "gapped"

    def __init__(self, width: int = 24, adapters: int = 8, **others: Any) -> None:
        self.width, self.adapters = width, adapters
        super().__init__(**others)


class GappedModel(transformers.PreTrainedModel):  # type: ignore[misc]
    """A model with as many adapters as configured for up to 6 and for 8, but not for 7.

    It copies Evolla's code for 32 layers.
    """

    config_class = GappedConfig

    def __init__(self, config: GappedConfig) -> None:
        super().__init__(config)
        every = max(32 // config.adapters, 1)
        self.adapter = torch.nn.ModuleList(torch.nn.Linear(config.width, config.width) for _time in range(32 // every))
        self.post_init()


def test_of_a_small_size_every_value_is_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build, "config_class", lambda _kind: GappedConfig)
    monkeypatch.setattr(build, "model_class", lambda _name: GappedModel)
    found = discover(DiscoveryRequest("gapped", "GappedModel"))
    right = {}
    for adapters in range(1, 40):
        with suppress(InputError):
            right[adapters] = found.count(adapters=adapters) == 32 // max(32 // adapters, 1) * (24 * 24 + 24)
    assert all(right.values()), right
    assert {1, 2, 3, 4, 5, 6, 8} <= right.keys()


def test_limits_and_what_there_is_not() -> None:
    with pytest.raises(Ended, match=r"^No formula was found within the time limit: try again with a longer limit\.$"):
        discover(DiscoveryRequest("bert", seconds=0))
    with pytest.raises(InputError, match="time limit"):
        infer("gpt_neo", "GPTNeoModel", seconds=0)
    with pytest.raises(ArgumentError, match="seconds must be a number, 0 or more, not -1"):
        infer("gpt_neo", "GPTNeoModel", seconds=-1)
    with pytest.raises(ArgumentError, match="seconds must be a number, 0 or more, not -1"):
        discover(DiscoveryRequest("gpt_neo", "GPTNeoModel", seconds=-1))
    for wrong in (("no_such_type", None), ("bert", "NoSuchModel"), ("bert", "BertConfig"), ("bert", "os")):
        with pytest.raises(Refused):
            discover(DiscoveryRequest(*wrong))
    with pytest.raises(Refused):
        discover(DiscoveryRequest("bert", "BertModel", {"hidden_size": 7}))
    with pytest.raises(Refused, match="modules"):
        discover(DiscoveryRequest("bert", "BertModel", {"num_hidden_layers": 2_000}))


def test_many_layers_are_answered_in_time() -> None:
    deep = discover(DiscoveryRequest("llama", None, {"num_hidden_layers": 100}))
    plain = shipped("llama", "LlamaForCausalLM")
    assert plain is not None
    head = plain.fields["hidden_size"] * plain.fields["vocab_size"]
    assert deep.count() == deep.parameters == plain.count(num_hidden_layers=100) - head
    with pytest.raises(Refused, match="modules"):
        discover(DiscoveryRequest("bert", None, {"num_hidden_layers": 1_000}))


@pytest.mark.parametrize("case", [CLASSES[0], CLASSES[2], CLASSES[4]], ids=lambda case: case[1])
def test_what_is_written_is_read(case: tuple[str, str]) -> None:
    found = found_for(*case)
    assert of_json(found.json()).tensors == found.tensors
    assert of_json(found.json()).regime == found.regime
    assert of_json(found.json()).count() == found.parameters


def test_of_a_file_what_a_class_derives_is_left_out() -> None:
    config = transformers.LlamaConfig
    file = config(hidden_size=512).to_dict()
    given = merge_changes(config, transformers.LlamaModel, file, {}, inf)
    assert given == {"hidden_size": 512}
    recipe = Recipe(config, given)
    assert {"head_dim", "num_key_value_heads"} <= recipe.follows
    assert recipe.changed({"num_attention_heads": 8}).head_dim == 64


def test_a_small_size_is_tried_where_it_is_large() -> None:
    found = shipped("zamba2", "Zamba2ForCausalLM")  # nine of its layers share blocks, so further blocks would be unused
    assert found is not None
    assert found.count(num_mem_blocks=9) == real("zamba2", "Zamba2ForCausalLM", num_mem_blocks=9)
    with pytest.raises(InputError, match="num_mem_blocks is at most 9"):
        found.count(num_mem_blocks=10)


def test_sizes_that_are_too_small_with_any_number_of_heads_are_refused() -> None:
    """2 and 3 are not multiples of 12 heads. With one head, the class divides by hidden_size // 2 - 1."""
    discovery = discover(DiscoveryRequest("tipsv2_text_model", "Tipsv2TextModel"))
    for size in (2, 3):
        with pytest.raises(ZeroDivisionError):
            real("tipsv2_text_model", "Tipsv2TextModel", hidden_size=size, num_attention_heads=1)
        with pytest.raises(InputError, match="hidden_size is at least 4"):
            discovery.count(hidden_size=size, num_attention_heads=1)
    for size in (4, 5, 96):
        sizes = {"hidden_size": size, "num_attention_heads": 1}
        assert discovery.count(**sizes) == real("tipsv2_text_model", "Tipsv2TextModel", **sizes)
