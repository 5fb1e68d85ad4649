"""Real configurations with missing, renamed or added keys are counted as by transformers, or refused."""

import json
from contextlib import suppress
from typing import Any

import torch
import transformers
from hypothesis import given
from hypothesis import strategies as st
from transformers.initialization import no_init_weights

from bertcalc.config import OTHER_NAMES
from bertcalc.families import FAMILIES, family_of
from bertcalc.families.config_files.keys_of_families import LIKE_BERT, OLD_VOCABULARY, RECOGNIZED
from bertcalc.families.config_files.size_names import MAPPED, SIZE_NAMES, names_read
from bertcalc.families.hf_json import read
from bertcalc.families.uncounted_keys import NEUTRAL
from bertcalc.model.model import Model
from bertcalc.text.problem import InputError
from tests.examples import examples
from tests.oracle import Case, real_config
from tests.strategies import cases

FOREIGN = ("n_ctx", "rms_norm_eps", "rotary_dim", "max_2d_position_embeddings", "attention_window", "d_kv", "my_note")
# Without the dropout probability: transformers refuses an integer, and bertcalc reads it as a float.
ADDED = st.sampled_from(sorted({*NEUTRAL, *SIZE_NAMES, *FOREIGN} - {"classifier_dropout"}))
LIKE_BERTS = ("bert", "roberta", "xlm-roberta", "camembert")


@st.composite
def changed(draw: st.DrawFn) -> tuple[Case, dict[str, Any]]:
    """Draw a case and the keys of its real configuration, with some keys missing, renamed or added."""
    case = draw(cases())
    content = json.loads(real_config(case.config).to_json_string(use_diff=False))
    content["architectures"] = [case.architecture]
    for key in draw(st.lists(st.sampled_from([*content, "model_type", "architectures"]), max_size=4)):
        content.pop(key, None)
    for key in draw(st.lists(st.sampled_from(sorted(SIZE_NAMES & content.keys())), max_size=2)):
        others = [other for other, shared in OTHER_NAMES.items() if case.config.own_name(shared) == key]
        at = draw(st.integers(0, len(key) - 1))
        content[draw(st.sampled_from([key[:at] + key[at + 1 :], key + "s", *others]))] = content.pop(key, 1)
    return case, content | draw(st.dictionaries(ADDED, st.integers(1, 99), max_size=2))


def real_count(model_type: str, architecture: str, content: dict[str, Any]) -> int | None:
    """Return the parameter count of the class that transformers builds from a file, or None if it builds none."""
    if OLD_VOCABULARY in content:  # the classes of 2019 read this key
        content = {"vocab_size": content[OLD_VOCABULARY], **content}
    with suppress(Exception), torch.device("meta"), no_init_weights():  # transformers raises exceptions of all types
        config = transformers.CONFIG_MAPPING[model_type].from_dict(content)
        model = getattr(transformers, architecture)(config)
        model.tie_weights()
        return sum(int(tensor.numel()) for tensor in model.parameters())
    return None


@examples(100)
@given(changed())
def test_a_changed_file_is_counted_as_transformers_does_or_refused(changed: tuple[Case, dict[str, Any]]) -> None:
    case, content = changed
    original = family_of(case.config).name
    try:
        reading = read(json.dumps(content))
    except InputError:
        return
    model = Model(reading.config, reading.architecture)
    if model.family.name == original:
        assert model.num_parameters() == real_count(original, model.architecture, content)
    elif not reading.guesses:  # without a model type, another type with the same keys
        assert "model_type" not in content
        assert {original, model.family.name} <= {*LIKE_BERTS}
        base = FAMILIES[original].base.name
        assert Model(reading.config).num_parameters() == real_count(original, base, content)


def test_of_each_type_of_transformers_the_default_without_its_type_is_not_taken_for_another() -> None:
    """Only types with all of BERT's keys are read as bert, with a remark that says so."""
    as_bert = set()
    for model_type in transformers.CONFIG_MAPPING:
        try:
            content = json.loads(transformers.CONFIG_MAPPING[model_type]().to_json_string(use_diff=False))
        except Exception:  # transformers raises exceptions of all types
            continue
        content = {key: value for key, value in content.items() if key not in ("model_type", "architectures")}
        with suppress(InputError):
            reading = read(json.dumps(content))
            messages = {remark.message for remark in reading.remarks}
            if RECOGNIZED in messages:
                assert type(reading.config).__name__ == transformers.CONFIG_MAPPING[model_type].__name__
            elif LIKE_BERT in messages:
                as_bert.add(model_type)
            else:
                assert reading.guesses
    others = {"data2vec-text", "megatron-bert", "roberta-prelayernorm", "xlm-roberta-xl", "align_text_model"}
    assert as_bert <= {*LIKE_BERTS, *others}


def test_the_names_that_are_read_are_those_of_transformers() -> None:
    for family in FAMILIES.values():
        kind = family.config
        theirs = getattr(transformers, kind.__name__).attribute_map
        assert {name: own for name, own in theirs.items() if kind.has(name)} == {
            name: kind.own_name(name) for name in MAPPED if kind.own_name(name) != name and kind.has(name)
        }
        assert names_read(kind) >= theirs.keys() & {*MAPPED}
