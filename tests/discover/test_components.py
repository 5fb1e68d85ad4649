"""The parts of a discovered class sum to the real class's parameters, and formulas are written in the usual form."""

import json
import random
import re
from fractions import Fraction
from typing import Any

import pytest
import sympy
import transformers
from hypothesis import given
from hypothesis import strategies as st

from bertcalc.discover.results.components import component_of, components, count, folded, groups, openable, parts
from bertcalc.discover.results.expressions import function, identifier, latex, letters, text
from bertcalc.discover.results.result import Checked, Discovered, Tensors, exact, symbol
from bertcalc.discover.results.shipped import shipped, shipped_classes
from bertcalc.discover.results.size_steps import (
    MOST_PARAMETERS,
    SizeHistory,
    more_than_shown,
    nearest,
    read_sizes,
    refused,
    stops,
    write_sizes,
)
from bertcalc.discover.results.types import installed, types
from bertcalc.text.problem import InputError
from tests.discover.real import real
from tests.discover.real import tensors as real_tensors
from tests.examples import examples, sampled

transformers.logging.set_verbosity(transformers.logging.CRITICAL)
EXPLAINED = [key for key in shipped_classes() if (found := shipped(*key)) and not found.unexplained]


def found_for(model_type: str, cls: str) -> Discovered:
    found = shipped(model_type, cls)
    assert found is not None
    return found


@pytest.mark.parametrize("key", sampled(EXPLAINED, 4), ids="-".join)
def test_parts_components_and_the_program_sum_to_the_total(key: tuple[str, str]) -> None:
    found = found_for(*key)
    here = found.fields
    assert sum(count(tensors, here) for tensors in components(found).values()) == found.parameters
    by_group = [group for tensors in components(found).values() for group in groups(tensors, here)]
    assert sum(exact(group.copies, here) * exact(group.elements, here) for group in by_group) == found.parameters
    for path in ("", *openable(found)):
        shown = parts(found, path)
        inside = [one for one in found.tensors if not path or one.name.startswith(f"{path}.")]
        assert sum(part.count(here) for part in shown) == count(inside, here)
        assert len({part.name for part in shown}) == len({part.path for part in shown}) == len(shown)
        assert sum(part.count(here) for part in folded(shown, 2, here)) == count(inside, here)
    names: dict[str, Any] = {"print": lambda _count: None}
    exec(function(found), names)
    assert names["parameters"]() == found.parameters


@examples(8)
@given(st.data())
def test_the_program_counts_other_sizes_as_the_real_class_has_them(data: st.DataObject) -> None:
    key = data.draw(
        st.sampled_from(
            [("gpt2", "GPT2LMHeadModel"), ("llama", "LlamaForCausalLM"), ("deepseek_v3", "DeepseekV3ForCausalLM")]
        )
    )
    found = found_for(*key)
    layers = {"gpt2": "n_layer"}.get(key[0], "num_hidden_layers")
    width = {"gpt2": "n_embd"}.get(key[0], "hidden_size")
    sizes = {layers: data.draw(st.integers(4, 9)), width: 128 * data.draw(st.integers(3, 9))}
    if refused(found, sizes):
        return
    there = real_tensors(key[0], key[1], **sizes)
    names: dict[str, Any] = {"print": lambda _count: None}
    exec(function(found), names)
    assert names["parameters"](**sizes) == sum(there.values()) == found.count(**sizes)
    for part in parts(found):
        begin, _, end = part.path.partition("*")
        mine = [n for name, n in there.items() if name.startswith(begin) and (not end or f"{end}." in f"{name}.")]
        assert part.count(found.values(**sizes)) == sum(mine)


def test_every_field_has_a_letter_of_its_own_and_the_usual_ones() -> None:
    for key in EXPLAINED:
        found = found_for(*key)
        said = letters(found)
        assert len(set(said.values())) == len(said) == len(found.fields)
    assert letters(found_for("gpt2", "GPT2LMHeadModel")) == {
        "vocab_size": "V",
        "n_positions": "P",
        "n_embd": "H",
        "n_layer": "L",
        "n_head": "A",
    }


def test_a_field_that_counts_has_the_usual_letter_before_one_that_does_not() -> None:
    canary = letters(found_for("canary", "CanaryForConditionalGeneration"))  # its outer vocab_size makes no tensor
    assert (canary["decoder_config.vocab_size"], canary["vocab_size"] != "V") == ("V", True)


def test_the_letters_of_the_batch_are_no_fields() -> None:
    for key in EXPLAINED:
        assert not {"B", "S"} & {*letters(found_for(*key)).values()}
    assert letters(found_for("mamba", "MambaForCausalLM"))["state_size"] == "T"


def test_the_formula_of_a_layer_is_the_one_that_everybody_knows() -> None:
    found = found_for("gpt2", "GPT2LMHeadModel")
    [layers] = groups(components(found)["encoder"], found.fields)
    said = letters(found)
    assert (text(layers.copies, said), text(layers.elements, said)) == ("L", "12H² + 13H")
    assert latex(layers.elements, said) == "12 H^{2} + 13 H"
    assert latex(layers.elements, {"n_embd": "n_embd"}) == r"12 \mathtt{n\_embd}^{2} + 13 \mathtt{n\_embd}"


_SYMBOLS = [symbol(name) for name in "abc"]
_LEAVES = st.sampled_from(_SYMBOLS) | st.integers(-9, 99).map(sympy.Integer)
_EXPRESSIONS = st.recursive(
    _LEAVES,
    lambda inner: st.one_of(
        st.tuples(inner, inner).map(lambda pair: pair[0] + pair[1]),
        st.tuples(inner, inner).map(lambda pair: pair[0] * pair[1]),
        st.tuples(inner, st.integers(2, 9)).map(lambda pair: sympy.floor(pair[0] / pair[1])),
        st.tuples(inner, st.integers(2, 9)).map(lambda pair: sympy.ceiling(pair[0] / pair[1])),
        st.tuples(inner, inner).map(lambda pair: sympy.Max(*pair)),
        st.tuples(inner, inner).map(lambda pair: sympy.Min(*pair)),
    ),
    max_leaves=6,
)


@given(_EXPRESSIONS, st.lists(st.integers(1, 99), min_size=3, max_size=3))
def test_what_is_written_in_python_is_what_was_meant(expression: Any, numbers: list[int]) -> None:
    values = dict(zip("abc", numbers, strict=True))
    one = Tensors("x", sympy.Integer(1), (expression,))
    found = Discovered(
        model_type="t",
        cls="C",
        given={},
        fields=values,
        tensors=(one,),
        regime=(),
        checked=Checked(12, 12, 6),
        unexplained={},
        parameters=0,
        explained=0,
        builds=1,
        seconds=1.0,
        transformers="5",
    )
    body = function(found).split("\n\n\nassert")[0]
    names: dict[str, Any] = {}
    exec(body, names)
    assert names["parameters"](**values) == exact(expression, values)
    assert set(re.findall("[a-z]+", text(expression, {name: name for name in "abc"}, product=True))) <= {
        *"abc",
        "max",
        "min",
    }


def test_a_path_is_an_argument_in_python() -> None:
    assert identifier("text_config.sizes[0].dim") == "text_config_sizes_0_dim"


@pytest.mark.parametrize(
    ("name", "component"),
    [
        ("transformer.wte.weight", "embeddings"),
        ("model.embed_tokens.weight", "embeddings"),
        ("shared.weight", "embeddings"),
        ("model.layers.*.embed.weight", "encoder"),
        ("lm_head.weight", "head"),
        ("cls.predictions.bias", "head"),
        ("embeddings.cls_token", "embeddings"),
        ("qa_outputs.bias", "head"),
        ("model.norm.weight", "pooler"),
        ("bert.pooler.dense.bias", "pooler"),
    ],
)
def test_components_are_told_by_names(name: str, component: str) -> None:
    assert component_of(name) == component


def test_a_module_shows_its_children() -> None:
    found = found_for("gpt2", "GPT2LMHeadModel")
    layer = "transformer.h.*"
    children = {f"{layer}.{name}" for name in ("attn", "mlp", "ln_1", "ln_2")}
    assert {part.path for part in parts(found, layer)} == children


@pytest.mark.parametrize("path", ["nowhere", "transformer.h.*.ln_1.weight", "transformer.h", "*", "."])
def test_what_is_no_module_is_none(path: str) -> None:
    with pytest.raises(KeyError):
        parts(found_for("gpt2", "GPT2LMHeadModel"), path)


@pytest.mark.parametrize("key", random.Random(7).sample(EXPLAINED, 25), ids="-".join)
def test_a_slider_stops_at_models_alone(key: tuple[str, str]) -> None:
    found = found_for(*key)
    steps = SizeHistory(found, {})
    for field in steps.ranked[:5]:
        values = stops(found, field, {})
        assert found.fields[field] in values
        assert len(values) > 3 or any(one.kind in ("is", "share") or isinstance(one.other, str) for one in found.regime)
        for value in values:
            assert refused(found, {field: value}) is None, (field, value)


def test_what_is_refused_leaves_what_was_there() -> None:
    steps = SizeHistory(found_for("gpt2", "GPT2LMHeadModel"), {})
    steps.move("n_layer", 48)
    for wrong in (770, 0, -1, "many", 10**15):
        steps.move("n_embd", wrong)
        assert (steps.present, steps.attempt) == ({"n_layer": 48}, {"n_embd": wrong})
    outside = refused(steps.discovery, {"n_layer": 48, "n_embd": 770})
    assert outside is not None
    assert str(outside).startswith("The formula holds only if n_embd is a multiple of n_head, but n_embd = 770")
    assert nearest(steps.discovery, "n_embd", 770, {}) == [768, 780]
    steps.move("nothing", 3)
    assert steps.present == {"n_layer": 48}
    steps.undo()  # undo first removes the refused move
    assert (steps.present, steps.attempt) == ({"n_layer": 48}, {})


def test_sizes_that_need_each_other_are_taken_together() -> None:
    """GPT-2 XL: 1,600 is not a multiple of 12 heads, and 25 heads do not divide 768."""
    steps = SizeHistory(found_for("gpt2", "GPT2LMHeadModel"), {})
    steps.move("n_embd", 1600)
    assert (steps.present, steps.attempt) == ({}, {"n_embd": 1600})
    steps.move("n_layer", 48)  # possible by itself, and keeps the attempt
    assert (steps.present, steps.attempt) == ({"n_layer": 48}, {"n_embd": 1600})
    steps.move("n_head", 25)
    assert (steps.present, steps.attempt) == ({"n_layer": 48, "n_embd": 1600, "n_head": 25}, {})
    real = real_tensors("gpt2", "GPT2LMHeadModel", n_embd=1600, n_head=25, n_layer=48)
    assert steps.discovery.count(**steps.present) == sum(real.values())


def test_steps_go_back_and_forth() -> None:
    steps = SizeHistory(found_for("gpt2", "GPT2LMHeadModel"), {"n_layer": 12, "n_embd": 1536})
    assert steps.present == {"n_embd": 1536}
    steps.move("n_layer", 36)
    steps.reset()
    assert steps.present == {}
    steps.undo()
    steps.undo()
    assert steps.present == {"n_embd": 1536}
    steps.redo()
    assert steps.values()["n_layer"] == 36


def test_a_field_that_has_to_follow_moves_with_its_slider() -> None:
    found = found_for("convbert", "ConvBertForMaskedLM")
    assert dict(found.follows) == {"embedding_size": ("hidden_size", Fraction(1))}
    steps = SizeHistory(found, {"hidden_size": 1536})  # a link written before the field followed
    assert steps.values()["embedding_size"] == 1536
    assert "embedding_size" not in steps.ranked
    steps.move("hidden_size", 384)
    assert steps.present == {"hidden_size": 384, "embedding_size": 384}
    assert found.count(**steps.present) == sum(
        real_tensors("convbert", "ConvBertForMaskedLM", hidden_size=384, embedding_size=384).values()
    )
    assert 960 in stops(found, "hidden_size", steps.present)
    steps.move("embedding_size", 128)
    assert steps.attempt == {"embedding_size": 128}
    steps.move("hidden_size", 768)
    assert steps.present == {}


def test_a_slider_in_a_nested_configuration_gives_what_would_be_filled_in() -> None:
    found = found_for("qwen3_asr", "Qwen3ASRForConditionalGeneration")
    assert found.filled["text_config.hidden_size"] == 4096
    steps = SizeHistory(found, {})
    steps.move("text_config.vocab_size", 1000)
    assert (steps.attempt, steps.present) == ({}, {"text_config.vocab_size": 1000})
    assert steps.values()["text_config.hidden_size"] == 2048


def test_a_count_that_no_browser_can_say_is_refused() -> None:
    found = found_for("gpt2", "GPT2LMHeadModel")
    outside = refused(found, {"n_layer": 10**14})
    assert outside is not None
    assert f"at most {MOST_PARAMETERS:,}" in str(outside)


@given(
    st.dictionaries(
        st.from_regex(r"[a-z][a-z_]{0,8}(\.[a-z_]{1,9}|\[[0-9]\])?", fullmatch=True), st.integers(0, 10**15 - 1)
    )
)
def test_a_link_says_sizes_and_is_read_back(sizes: dict[str, int]) -> None:
    assert read_sizes(write_sizes(sizes)) == sizes


@pytest.mark.parametrize(
    "wrong", ["n_layer", "n_layer-", "-3", "n_layer-3.5", "n layer-3", "a-1~b", "a-" + "9" * 16, "a-٣"]
)
def test_sizes_that_cannot_be_read_are_refused(wrong: str) -> None:
    with pytest.raises(InputError):
        read_sizes(wrong)


def test_the_types_are_those_of_the_installed_transformers() -> None:
    some = random.Random(3).sample(list(types()), 20)
    assert {name: list(types()[name]) for name in sorted(some)} == installed(some)
    assert not transformers.CONFIG_MAPPING.keys() - types().keys() & {kind for kind, _cls in shipped_classes()}
    assert types().keys() <= set(transformers.CONFIG_MAPPING.keys())
    assert all(cls in types()[model_type] for model_type, cls in shipped_classes())


def test_the_most_that_is_shown_is_what_a_browser_counts_to() -> None:
    assert more_than_shown(2**53) is None  # above 2**53, JavaScript cannot represent every whole number
    assert more_than_shown(2**53 + 1)


def test_written_steps_are_restored_unless_the_link_says_others() -> None:
    found = found_for("gpt2", "GPT2LMHeadModel")
    steps = SizeHistory(found, {})
    for layers in (24, 36, 48):
        steps.move("n_layer", layers)
    steps.undo()
    steps.move("n_embd", 770)
    written = json.loads(json.dumps(steps.written()))
    for linked, is_linked in (({}, False), ({"n_layer": 36}, True)):
        restored = SizeHistory(found, linked)
        restored.restore(written, is_linked=is_linked)
        assert vars(restored) == vars(steps)
    other = SizeHistory(found, {"n_layer": 3})
    other.restore(written, is_linked=True)
    assert (other.steps, other.attempt) == ([{"n_layer": 3}], {})


@pytest.mark.parametrize(
    "written",
    [
        None,
        [],
        {"steps": ["n_embd-770"], "at": 0, "attempt": {}},
        {"steps": ["nothing-3", ""], "at": 1, "attempt": {}},
        {"steps": [{}, ""], "at": 1, "attempt": {}},
        {"steps": [""] * 1000, "at": 1, "attempt": {}},
        {"steps": [""], "at": 1, "attempt": {}},
        {"steps": [""], "at": 0, "attempt": {"n_layer": [], "nothing": 7}},
    ],
)
def test_steps_that_nobody_can_have_written_are_not_restored(written: object) -> None:
    steps = SizeHistory(found_for("gpt2", "GPT2LMHeadModel"), {})
    steps.restore(written, is_linked=False)
    assert (steps.steps, steps.at, steps.attempt) == ([{}], 0, {})


def test_one_head_is_the_nearest_below_two() -> None:
    """2 does not divide 765 hidden units; 1 and 3 do."""
    discovery = shipped("gpt2", "GPT2Model")
    assert discovery is not None
    with pytest.raises(ValueError, match="divisible"):
        real("gpt2", "GPT2Model", n_embd=765, n_head=2)
    assert sorted(nearest(discovery, "n_head", 2, {"n_embd": 765})) == [1, 3]
    assert {real("gpt2", "GPT2Model", n_embd=765, n_head=heads) for heads in (1, 3)} == {
        discovery.count(n_embd=765, n_head=1)
    }
