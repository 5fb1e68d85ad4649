"""A comparison is read back as it was written. Invalid models are reported, and the other models are kept."""

import re
from base64 import urlsafe_b64encode
from typing import Any
from urllib.parse import quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bertcalc import ConfigError, DropLayers, Gguf, InputError, Lora
from bertcalc.change_steps.step_texts import read_steps
from bertcalc.discover.results.config_input import json_of
from bertcalc.discover.results.shipped import shipped_classes
from bertcalc.explore.model_values import FIELDS, model_of_preset
from bertcalc.families.presets import PRESETS
from bertcalc.model.model import Model
from bertcalc.model_ref import LONGEST, MOST, PRESENT, ModelRef, item_of, read, write
from bertcalc.storage.model_file import quantized
from tests.explore.test_model_values import models


@given(st.lists(models(), max_size=5), st.sampled_from([None, *PRESETS]))
def test_reading_is_the_inverse_of_writing(models: list[Model], base: str | None) -> None:
    items = list(dict.fromkeys(item_of(model, base) for model in models))
    found, wrong = read(write(items))
    assert not wrong
    assert found == items
    assert {item.model() for item in found} == set(models)


@given(models(), models())
def test_the_present_model_is_the_one_that_is_given(present: Model, other: Model) -> None:
    assert ModelRef(PRESENT).model(present) == present
    changed = ModelRef(PRESENT, (("architecture", other.architecture),)).model(present)
    assert changed.config == present.config
    assert changed.class_name == other.architecture


@given(st.lists(models(), min_size=1, max_size=3))
def test_nothing_but_changed_numbers_needs_an_escape_in_an_address(models: list[Model]) -> None:
    """In queries, Python and browsers keep letters, digits and ``- _ . ~``, and a space becomes a plus."""
    text = write([*map(item_of, models), ModelRef(PRESENT), *map(ModelRef, PRESETS)])
    assert quote_plus(text).replace("+", " ") == text


def test_a_preset_needs_no_changes_and_the_nearest_is_found() -> None:
    assert [str(item_of(Model(preset.config))) for preset in PRESETS.values()][:3] == list(PRESETS)[:3]
    large = PRESETS["bert-large-uncased"].config
    assert str(item_of(Model(large, "BertForMaskedLM"))) == "bert-large-uncased~architecture-BertForMaskedLM"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("bert-base", "there is no preset bert-base: did you mean bert-base-"),
        ("~", "there is no preset "),
        ("bert-base-uncased~hiden_size-64", "there is no field hiden_size: did you mean hidden_size?"),
        ("bert-base-uncased~", "there is no field "),
        ("bert-base-uncased~vocab_size", "write each field once, with a value: vocab_size-30522"),
        ("bert-base-uncased~vocab_size-1~vocab_size-2", "write each field once"),
        ("bert-base-uncased~vocab_size-0", "vocab_size 0 is invalid"),
        ("bert-base-uncased~vocab_size--5", "vocab_size -5 is invalid"),
        ("bert-base-uncased~vocab_size-" + "9" * 5000, "vocab_size '9999"),
        ("bert-base-uncased~vocab_size-1e9", "vocab_size 1,000,000,000 is invalid"),
        ("bert-base-uncased~vocab_size-1.5", "vocab_size 1.5 is invalid"),
        ("bert-base-uncased~vocab_size-none", "vocab_size None is invalid"),
        ("bert-base-uncased~layer_norm_eps-1e999", "layer_norm_eps inf is invalid"),
        ("bert-base-uncased~architecture-BertForMaskedLm", "did you mean BertForMaskedLM?"),
        ("bert-base-uncased~architecture-7", "there is no architecture 7"),
        ("bert-base-uncased~architecture-robertamodel", "did you mean RobertaModel?"),
        ("bert-base-uncased~add_pooling_layer-no", "add_pooling_layer 'no' is invalid"),
        ("bert-base-uncased~tie_word_embeddings-1", "tie_word_embeddings 1 is invalid"),
    ],
)
def test_a_wrong_item_is_named_and_the_rest_counts(text: str, why: str) -> None:
    items, [wrong] = read(f"{PRESENT} {text}  bert-large-uncased")
    assert list(map(str, items)) == [PRESENT, "bert-large-uncased"]
    assert why in str(wrong.problem)
    assert re.match(re.escape(text[:30]), wrong.text)
    assert len(wrong.text) + len(str(wrong.problem)) < 250


BERT = model_of_preset("bert-base-uncased")
STEPPED = [
    "bert-base-uncased~changes-lora,r=16,target_modules=query+value",
    "gpt2~n_layer-6~changes-vocabulary,pad_to_multiple_of=64;bitsandbytes,load_in_8bit=true;lora",
    "present~changes-none",
    "present~vocab_size-21128~changes-lora,target_modules=(a%7Eb)%20c",
]


@pytest.mark.parametrize("text", STEPPED)
def test_a_model_with_steps_is_read_as_it_was_written(text: str) -> None:
    items, wrong = read(f"{text} bert-base-cased")
    assert not wrong
    assert write(items) == f"{text} bert-base-cased"
    first, *rest = text.split("~")
    assert read("~".join([first, *reversed(rest)]))[0] == items[:1]


def test_a_plus_sign_that_an_address_made_a_space_is_put_back() -> None:
    models = (
        *("bert-base-uncased~changes-lora,target_modules=query+value", "gpt2~changes-layers,layers=1+2+3;lora,r=4"),
        "present~changes-heads,heads=0:1/2+3:4~num_hidden_layers-6",
    )
    as_decoded = " ".join((*models, "gpt2", PRESENT)).replace("+", " ")
    items, wrong = read(as_decoded)
    assert not wrong
    assert items == read(" ".join((*models, "gpt2", PRESENT)))[0]
    items, [typing_error] = read(f"{models[0]} gtp2".replace("+", " "))
    assert write(items) == models[0]
    assert "did you mean gpt2?" in str(typing_error.problem)


def test_the_present_model_has_its_steps_unless_others_are_written() -> None:
    steps = DropLayers([0]), Gguf()
    texts = ("present", "present~changes-none", "present~num_hidden_layers-6", "present~changes-lora", "gpt2")
    plain, *_others = changed = [item.changed(BERT, steps) for item in read(" ".join(texts))[0]]
    assert [made.steps for made in changed] == [steps, (), steps, read_steps("lora"), ()]
    assert plain.base
    assert plain.memory_bytes == quantized(BERT.changed(changes=steps[:1]), steps[1]).memory_bytes
    layers = [made.model.final_config.num_hidden_layers for made in changed]
    assert layers == [11, 12, 5, 12, 12]


def test_a_model_with_changes_is_written_with_them() -> None:
    lora = BERT.changed(changes=(Lora(r=4),))
    item = item_of(lora)
    assert str(item) == "bert-base-uncased~changes-lora,r=4"
    assert item.model() == lora
    assert str(item.with_steps(())) == "bert-base-uncased"


def test_a_step_that_is_not_possible_is_refused_when_the_model_is_built() -> None:
    [item], wrong = read("distilbert-base-uncased~changes-lora")
    assert not wrong
    with pytest.raises(InputError, match="target_modules"):
        item.changed()
    items, [wrong_step] = read("gpt2~changes-lorra,r=3 gpt2")
    assert str(wrong_step.problem) == "There is no step 'lorra': did you mean lora?"
    assert write(items) == "gpt2"
    assert "write each field once, with a value: changes-lora,r=8" in str(read("gpt2~changes")[1][0].problem)


@pytest.mark.parametrize("text", ["21000", "2.1e4", "21,000", "21k", "2.1万", "21000.0"])
def test_a_size_is_read_as_people_write_it(text: str) -> None:
    [item], wrong = read(f"bert-base-uncased~vocab_size-{text}~layer_norm_eps-1e-5")
    assert (str(item), wrong) == ("bert-base-uncased~vocab_size-21000~layer_norm_eps-1e-05", [])


def test_what_cannot_be_built_is_known_when_it_is_built() -> None:
    heads = "bert-base-uncased~num_attention_heads-7"
    pooler = "bert-base-uncased~add_pooling_layer-false~architecture-BertForPreTraining"
    for text, why in (
        (heads, "is not a multiple"),
        (pooler, "BertForPreTraining does not have the option add_pooling"),
    ):
        [item], wrong = read(text)
        assert not wrong
        with pytest.raises(ConfigError, match=why):
            item.model()


def test_limits_come_before_work() -> None:
    items, [wrong] = read(" ".join(list(PRESETS)[: MOST + 3]))
    assert len(items) == MOST
    assert "at most 12" in str(wrong.problem)
    assert read(f"{PRESENT} " * 1000 + "bert-base-cased")[1][0].problem.value == 8 * 1000 + 15
    assert read("x" * (LONGEST + 1))[0] == []


@given(
    st.text(max_size=300)
    | st.lists(st.sampled_from([*FIELDS, *PRESETS, "~", "-", " ", "1", "none", "e5"])).map("".join)
)
def test_any_text_is_read_or_explained(text: str) -> None:
    items, wrong = read(text)
    assert len(items) + len(wrong) >= bool(text.split())
    assert read(write(items)) == (items, [])
    assert all(str(one.problem) for one in wrong)


@given(
    st.sampled_from(list(shipped_classes())),
    st.dictionaries(st.sampled_from(["hidden_size", "text_config.d_model", "sizes[0]"]), st.integers(0, 10**9)),
    st.sampled_from([{}, {"tie_word_embeddings": False}, {"text_config": {"layer_types": ["a b~c", "ü"]}}]),
)
def test_a_discovered_model_is_read_as_it_was_written(
    key: tuple[str, str], sizes: dict[str, int], given: dict[str, Any]
) -> None:
    one = ModelRef.of_class(*key, sizes, json_of(given))
    assert read(f"bert-base-uncased {write([one])}") == ([*read("bert-base-uncased")[0], one], [])
    assert one.fields() == given


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("llama.LlamaForMaskedLM", "did you mean Llama"),
        ("lama.LlamaForCausalLM", "there is no preset lama.LlamaForCausalLM"),
        ("llama.LlamaForCausalLM~hidden_size", "hidden_size is not a size"),
        ("llama.LlamaForCausalLM~config-e", "config.json in the link cannot be read"),
        ("llama.LlamaForCausalLM~config-_w", "config.json in the link cannot be read"),
        (f"llama.LlamaForCausalLM~config-{urlsafe_b64encode(b'[]').decode()}", "JSON"),
    ],
)
def test_a_wrong_discovered_model_is_named_and_the_rest_counts(text: str, why: str) -> None:
    items, [wrong] = read(f"{text} bert-base-uncased")
    assert [str(item) for item in items] == ["bert-base-uncased"]
    assert why in str(wrong.problem)
