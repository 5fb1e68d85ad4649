"""Discovered models in a comparison: counts of the real classes, and a sum for every difference."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bertcalc.discover.results.comparable import DiscoveredCase, DiscoveredModel, components_of, explain, figure
from bertcalc.discover.results.shipped import shipped, shipped_classes
from bertcalc.explore.model_values import model_of_preset
from bertcalc.explore.quantities import QUANTITIES, Case
from bertcalc.model.batch import Batch
from bertcalc.text.problem import InputError
from tests.discover.real import real
from tests.examples import examples

KNOWN = ["parameters", "embeddings", "encoder", "pooler", "head", "forward", "weights"]


def model(model_type: str, cls: str, **sizes: int) -> DiscoveredModel:
    found = shipped(model_type, cls)
    assert found is not None
    return DiscoveredModel(found, tuple(sizes.items()))


LLAMA = model("llama", "LlamaForCausalLM")


def test_figures_are_those_of_the_real_class() -> None:
    sizes = {"hidden_size": 1024, "num_hidden_layers": 3}
    case = DiscoveredCase(model("llama", "LlamaForCausalLM", **sizes), Batch(2, 16))
    there = real("llama", "LlamaForCausalLM", **sizes)
    assert figure("parameters", case) == sum(components_of(case).values()) == there
    assert figure("weights", case) == 4 * there
    for name in QUANTITIES.keys() & KNOWN:
        figure(name, case)
    for name in QUANTITIES.keys() - KNOWN:
        with pytest.raises(InputError, match="does not compute this for LlamaForCausalLM"):
            figure(name, case)


@pytest.mark.parametrize("key", [("jamba", "JambaForCausalLM"), ("lfm2", "Lfm2ForCausalLM")])
def test_what_has_no_formula_is_counted_at_the_sizes_that_were_given(key: tuple[str, str]) -> None:
    case = DiscoveredCase(model(*key))
    assert case.model.problem() is None
    assert figure("parameters", case) == case.model.discovery.parameters
    assert model(*key, num_hidden_layers=3).problem() is not None


@examples(8)
@given(
    st.fixed_dictionaries({}, optional={"vocab_size": st.integers(1, 10**5), "num_hidden_layers": st.integers(1, 99)}),
    st.sampled_from([{}, {"hidden_size": 48, "num_attention_heads": 12}, {"hidden_size": 64}]),
)
def test_the_difference_between_sizes_is_a_sum_over_fields(some: dict[str, int], others: dict[str, int]) -> None:
    sizes = {**others, **some}
    here, there = DiscoveredCase(LLAMA), DiscoveredCase(model("llama", "LlamaForCausalLM", **sizes))
    for measure in ("parameters", "forward"):
        found = explain(here, there, measure)
        assert (found.before, found.after) == (figure(measure, here), figure(measure, there))
        totals = [found.before, *(part.total for part in found.parts)]
        assert totals[-1] == found.after
        assert [later - earlier for earlier, later in pairwise(totals)] == [part.difference for part in found.parts]
        assert not found.by_part
        changed = {change.field for part in found.parts for change in part.changes}
        assert changed == {field for field, value in sizes.items() if value != LLAMA.discovery.fields[field]}


@pytest.mark.parametrize("measure", KNOWN)
def test_the_difference_between_kinds_is_a_sum_over_parts(measure: str) -> None:
    ours, theirs = Case(model_of_preset("bert-base-uncased")), DiscoveredCase(LLAMA)
    for here, there in ((ours, theirs), (theirs, ours), (theirs, DiscoveredCase(model("qwen3", "Qwen3ForCausalLM")))):
        found = explain(here, there, measure)
        assert found.difference == sum(part.difference for part in found.parts)
        assert (found.before, found.after) == (figure(measure, here), figure(measure, there))
        assert found.by_part


def test_sizes_of_other_names_stand_beside_ours() -> None:
    assert model("t5", "T5Model").values()["hidden_size"] == 512
    assert "d_kv" in model("t5", "T5Model").values()
    for key in shipped_classes():
        one = model(*key)
        assert sorted(one.values().values(), key=str) == sorted([key[1], *one.sizes().values()], key=str)
