"""A pasted config.json is read as transformers reads it, and messages explain what is wrong with it."""

import inspect
import json
from itertools import product
from math import prod
from typing import Any

import pytest
import torch
import transformers
from hypothesis import given
from hypothesis import strategies as st

from bertcalc import ARCHITECTURES, BertConfig, Config, DebertaConfig, DebertaV2Config, build
from bertcalc.families import FAMILIES
from bertcalc.families.hf_json import LARGEST, read, text_of
from bertcalc.model.model import Model
from bertcalc.text.problem import InputError
from tests.oracle import Case, ask_transformers4, real_config
from tests.strategies import cases

# From the Hub, for a fine-tuned bert-base-chinese, including legacy keys.
CHINESE = """{
  "architectures": ["BertForTokenClassification"],
  "attention_probs_dropout_prob": 0.1,
  "directionality": "bidi",
  "gradient_checkpointing": false,
  "hidden_act": "gelu",
  "hidden_dropout_prob": 0.1,
  "hidden_size": 768,
  "id2label": {"0": "O", "1": "B-PER", "2": "I-PER"},
  "initializer_range": 0.02,
  "intermediate_size": 3072,
  "label2id": {"B-PER": 1, "I-PER": 2, "O": 0},
  "layer_norm_eps": 1e-12,
  "max_position_embeddings": 512,
  "model_type": "bert",
  "num_attention_heads": 12,
  "num_hidden_layers": 12,
  "pad_token_id": 0,
  "pooler_fc_size": 768,
  "type_vocab_size": 2,
  "vocab_size": 21128
}"""


# From the Hub, for gte-multilingual-base, except for the place of its program.
REMOTE = """{
  "architectures": ["NewModel", "NewForTokenClassification"],
  "attention_probs_dropout_prob": 0.0,
  "classifier_dropout": 0.0,
  "hidden_act": "gelu",
  "hidden_dropout_prob": 0.1,
  "hidden_size": 768,
  "id2label": {"0": "LABEL_0"},
  "initializer_range": 0.02,
  "intermediate_size": 3072,
  "label2id": {"LABEL_0": 0},
  "layer_norm_eps": 1e-12,
  "layer_norm_type": "layer_norm",
  "logn_attention_clip1": false,
  "logn_attention_scale": false,
  "max_position_embeddings": 8192,
  "model_type": "new",
  "num_attention_heads": 12,
  "num_hidden_layers": 12,
  "pack_qkv": true,
  "pad_token_id": 1,
  "position_embedding_type": "rope",
  "rope_scaling": {"factor": 8.0, "type": "ntk"},
  "rope_theta": 20000,
  "torch_dtype": "float16",
  "type_vocab_size": 1,
  "unpad_inputs": false,
  "use_memory_efficient_attention": false,
  "vocab_size": 250048
}"""


SMALL = {
    "vocab_size": 50,
    "hidden_size": 32,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "intermediate_size": 64,
    "max_position_embeddings": 16,
}


def sentences(text: str) -> list[str]:
    with pytest.raises(InputError) as caught:
        read(text)
    return [str(problem) for problem in caught.value.problems]


def test_a_config_of_the_hub() -> None:
    reading = read(CHINESE)
    assert reading.config == BertConfig(vocab_size=21128, num_labels=3)
    assert reading.architecture == "BertForTokenClassification"
    [remark] = map(str, reading.remarks)
    assert "directionality, gradient_checkpointing, pooler_fc_size" in remark
    assert "id2label" not in remark


@given(cases())
def test_what_transformers_writes_is_read_as_the_same(case: Case) -> None:
    real = real_config(case.config)
    real.architectures = [case.architecture]
    reading = read(real.to_json_string(use_diff=False))
    assert reading.config == case.config
    assert reading.architecture == case.architecture


@pytest.mark.parametrize(
    "given_fields",
    [
        {},
        {"num_labels": 5},
        {"id2label": {"0": "a", "1": "b", "2": "c"}},
        {"id2label": {"0": "a", "1": "b", "2": "c"}, "num_labels": 5},
        {"pad_token_id": None, "classifier_dropout": None, "hidden_dropout_prob": 0},
    ],
)
def test_missing_fields_and_labels_are_those_of_transformers(given_fields: dict[str, Any]) -> None:
    real = transformers.BertConfig.from_dict(given_fields)
    config = read(json.dumps(given_fields)).config
    assert config.num_labels == real.num_labels
    for field, value in vars(config).items():
        if hasattr(real, field):
            assert getattr(real, field) == value, field


def test_where_both_are_said_the_other_is_remarked() -> None:
    remark = read('{"id2label": {"0": "a"}, "num_labels": 5}').remarks[-1]
    said = "num_labels 5 is used, as in transformers 5. transformers 4 uses the number of names in id2label: 1."
    assert str(remark) == said
    both = {"id2label": {0: "a"}, "num_labels": 5}
    assert transformers.BertConfig.from_dict(both).num_labels == 5
    question = {"model_type": "bert", "config": {"num_hidden_layers": 1, **both}}
    [in_4] = ask_transformers4([{**question, "architecture": "BertForSequenceClassification", "options": {}}])
    assert dict(map(tuple, in_4["tensors"]))["classifier.bias"] == [1]


def test_the_number_of_labels_in_files_of_2020_is_not_called_misspelled() -> None:
    """dslim/bert-base-NER has such a file: transformers reads id2label, and ignores this key."""
    labels = {f"{label}": f"LABEL_{label}" for label in range(9)}
    for content in ({"_num_labels": 9, "id2label": labels}, {"_num_labels": 9}):
        reading = read(json.dumps({"model_type": "bert", **content}))
        assert reading.config.num_labels == transformers.BertConfig.from_dict(content).num_labels
        assert "did you mean" not in " ".join(map(str, reading.remarks))


def test_a_key_with_a_single_possible_value_is_not_said_to_have_no_effect() -> None:
    """transformers reads DeBERTa-v2's attention_head_size, and another value changes the count."""
    text = '{"model_type": "deberta-v2", "hidden_size": 1536, "num_attention_heads": 24, "attention_head_size": 64}'
    said = [str(remark) for remark in read(text).remarks if "attention_head_size" in str(remark)]
    assert said == []


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "expected a JSON object"),
        ("BertTokenizer {}", "expected a JSON object"),
        ("{", "not JSON: line 1, column 2"),
        ('{"a": 1,\n "b"}', "line 2, column 5"),
        ("[]", "expected a JSON object"),
        ("null", "expected a JSON object"),
        ("768", "expected a JSON object"),
        ('{"hidden_size": 768, "hidden_size": 1024}', "hidden_size appears twice"),
        ('{"task": {"x": 1, "x": 1}}', "x appears twice"),
        ('{"hidden_dropout_prob": NaN}', "NaN is not valid in JSON: write null"),
        ('{"hidden_dropout_prob": -Infinity}', "-Infinity is not valid in JSON"),
        ('{"hidden_dropout_prob": 1e999}', "hidden_dropout_prob inf is invalid"),
        ('{"hidden_size": ' + "9" * 5000 + "}", "too many digits"),
        ('{"a":' * 50_000, "nested too deeply"),
        (" " * (LARGEST + 1), "at most 1,000,000"),
        ('{"model_type": "t5"}', "'t5' is not supported"),
        ('{"model_type": ' + json.dumps("x" * 10_000) + "}", "is not supported: bertcalc's model families"),
        ('{"model_type": ["bert"]}', "is not supported: bertcalc's model families"),
        (REMOTE, "code from its own repository, which bertcalc does not run. transformers has the same model as gte"),
        ('{"hidden_size": "768"}', "hidden_size '768' is invalid"),
        ('{"hidden_size": 768.0}', "hidden_size 768.0 is invalid"),
        ('{"hidden_size": true}', "hidden_size True is invalid"),
        ('{"hidden_size": 770}', "use 768 or 780"),
        ('{"vocab_size": 99999999}', "bertcalc counts at most 10,000,000"),
        ('{"layer_norm_eps": 1}', "layer_norm_eps 1 is invalid"),
        ('{"hidden_act": "glu"}', "the name of a transformers activation"),
        ('{"hidden_act": ["gelu"]}', "the name of a transformers activation"),
        ('{"id2label": ["a"]}', "id2label"),
        ('{"id2label": {"a": "b"}}', "id2label"),
        ('{"id2label": {}}', "num_labels 0: transformers accepts this value"),
        ('{"num_labels": null}', "num_labels None is invalid"),
        ('{"num_labels": null, "id2label": {"0": "a"}}', "num_labels None is invalid"),
        ('{"initializer_range": -0.5}', "initializer_range -0.5 is invalid"),
        ('{"model_type": "deberta", "talking_head": true}', "bertcalc does not support models with talking_head True"),
        ('{"model_type": "deberta", "embedding_size": 9}', "bertcalc does not support models with embedding_size 9"),
        ('{"model_type": "deberta", "type_vocab_size": 2}', "bertcalc does not support models with type_vocab_size 2"),
        (
            '{"model_type": "deberta", "relative_attention": true, "pos_att_type": "p2c|c2p", '
            '"max_relative_positions": 9}',
            "bertcalc does not support models with max_relative_positions 9, only models with -1",
        ),
        (
            '{"model_type": "deberta-v2", "conv_kernel_size": 3, "conv_groups": 2}',
            "not support models with conv_groups 2",
        ),
        (
            '{"model_type": "deberta-v2", "attention_head_size": 32}',
            "not support models with attention_head_size 32",
        ),
        ('{"model_type": "modernbert", "head_dim": 32}', "bertcalc does not support models with head_dim 32"),
        (
            '{"model_type": "deberta-v2", "type_vocab_size": 2}',
            "bertcalc does not support models with type_vocab_size 2",
        ),
        ('{"model_type": "deberta-v2", "embedding_size": 9}', "bertcalc does not support models with embedding_size 9"),
        ('{"model_type": "deberta-v2", "pos_att_type": ["c2p"]}', "bertcalc needs p2c|c2p or None"),
        (
            '{"model_type": "deberta-v2", "relative_attention": true}',
            "relative_attention True needs a pos_att_type",
        ),
        (
            '{"model_type": "bert", "embedding_size": 128}',
            "bertcalc does not support models with embedding_size 128, only models with hid",
        ),
        ('{"model_type": "gpt2", "reorder_and_upcast_attn": true}', "bertcalc needs False."),
    ],
)
def test_what_is_wrong_is_said_in_a_sentence(text: str, why: str) -> None:
    said = sentences(text)
    assert any(why in sentence for sentence in said)
    assert all(len(sentence) < 300 for sentence in said)


def test_a_file_with_a_program_of_its_own_is_read_as_the_type_that_transformers_has() -> None:
    assert len(sentences(REMOTE)) == 1
    reading = read(REMOTE.replace('"new"', '"gte"'))
    assert build(reading.config).num_parameters() == 305_368_320
    assert "NewModel" in str(reading.remarks[0])


@pytest.mark.parametrize(
    "given_fields",
    [
        {"eos_token_id": [1, 2]},
        {"bos_token_id": -1},
        {"bos_token_id": 10**8, "eos_token_id": -5},
        {"initializer_range": 0.0},
        {"layer_norm_eps": 0.0},
        {"pad_token_id": -1},
        {"chunk_size_feed_forward": 3},
    ],
)
def test_what_transformers_builds_is_not_refused_for_what_nothing_is_counted_by(given_fields: dict[str, Any]) -> None:
    real = transformers.BertConfig.from_dict({**SMALL, **given_fields})
    with torch.device("meta"):
        count = sum(tensor.numel() for tensor in transformers.BertModel(real).parameters())
    reading = read(json.dumps({**SMALL, **given_fields}))
    assert Model(reading.config).num_parameters() == count
    said = " ".join(map(str, reading.remarks))
    assert all(field in said for field in given_fields)
    assert "Ignored" not in said


@pytest.mark.filterwarnings("ignore:Initializing zero-element tensors")
@pytest.mark.parametrize(
    "field", ["num_hidden_layers", "type_vocab_size", "max_position_embeddings", "intermediate_size", "num_labels"]
)
def test_zeros_that_transformers_builds_are_not_called_impossible(field: str) -> None:
    with torch.device("meta"):
        assert transformers.BertModel(transformers.BertConfig.from_dict({**SMALL, field: 0}))
    [said] = sentences(json.dumps({**SMALL, field: 0}))
    assert f"{field} 0: transformers accepts this value" in said


@pytest.mark.parametrize("more", [{}, {"max_relative_positions": 9}, {"max_relative_positions": 0}])
@pytest.mark.parametrize("buckets", [None, -1, 0, 1])
def test_without_buckets_each_distance_has_its_own_vector(buckets: int | None, more: dict[str, int]) -> None:
    deberta = {"relative_attention": True, "pos_att_type": ["c2p", "p2c"], **SMALL, **more}
    deberta |= {"model_type": "deberta-v2", "type_vocab_size": 0}
    if buckets is not None:
        deberta["position_buckets"] = buckets
    with torch.device("meta"):
        real = transformers.DebertaV2Model(transformers.DebertaV2Config.from_dict(deberta))
    if buckets == 1:  # it can be built, but not run
        [said] = sentences(json.dumps(deberta))
        assert f"position_buckets {buckets}: transformers accepts this value" in said
        return
    ours = build(read(json.dumps(deberta)).config)
    assert ours.num_parameters() == sum(tensor.numel() for tensor in real.parameters())


def test_labels_that_are_null_are_refused_as_transformers_does() -> None:
    with pytest.raises(TypeError):
        transformers.BertConfig.from_dict({"num_labels": None})
    assert sentences('{"num_labels": null}')


def test_chunks_say_when_the_real_forward_pass_fails() -> None:
    real = transformers.BertModel(transformers.BertConfig.from_dict({**SMALL, "chunk_size_feed_forward": 3}))
    real(torch.zeros(1, 6, dtype=torch.long))
    with pytest.raises(ValueError, match="multiple of the chunk size"):
        real(torch.zeros(1, 4, dtype=torch.long))
    remarks = map(str, read(json.dumps({**SMALL, "chunk_size_feed_forward": 3})).remarks)
    assert any("fails for sequences whose length is not a multiple of this value" in remark for remark in remarks)


def test_the_families_that_have_chunks_are_those_whose_source_uses_them() -> None:
    for family in FAMILIES.values():
        module = inspect.getmodule(getattr(transformers, family.base.name))
        assert module
        assert ("apply_chunking_to_forward" in inspect.getsource(module)) == family.config.chunks
        [said] = (
            remark.message
            for remark in read(json.dumps({"model_type": family.name, "chunk_size_feed_forward": 3})).remarks
            if "chunk_size_feed_forward" in str(remark)
        )
        assert ("fails for sequences" in said) == family.config.chunks


def test_what_a_file_does_not_say_is_as_in_transformers() -> None:
    assert read('{"model_type": "gpt2", "n_embd": 1024, "n_head": 16}').config.intermediate_size == 4096
    config = read('{"model_type": "deberta-v2", "pos_att_type": ["c2p", "p2c"], "position_buckets": 9}').config
    assert config == DebertaV2Config(pos_att_type="c2p|p2c", position_buckets=9)
    same = read('{"model_type": "deberta", "max_relative_positions": 512}').config
    assert same == DebertaConfig(max_relative_positions=-1)


def test_every_wrong_field_is_named() -> None:
    said = sentences('{"hidden_size": 0, "num_hidden_layers": -1, "hidden_act": "x", "use_cache": 1}')
    assert [sentence.split()[0] for sentence in said] == ["hidden_size", "num_hidden_layers", "hidden_act", "use_cache"]


@pytest.mark.parametrize("names", [["BertForMaskedLM"], ["RobertaModel", "BertForMaskedLM"], "BertForMaskedLM"])
def test_the_architecture_is_taken_over(names: object) -> None:
    assert read(json.dumps({"architectures": names})).architecture == "BertForMaskedLM"


@pytest.mark.parametrize("names", [["RobertaLM"], ["BertGenerationEncoder"], [["BertModel"]], {"a": 1}, 5, "NewBert"])
def test_an_architecture_that_is_not_here_is_remarked(names: object) -> None:
    reading = read(json.dumps({"model_type": "bert", "architectures": names}))
    assert reading.architecture is None
    assert "not one of the classes" in str(reading.remarks[0])


@pytest.mark.parametrize(
    ("model_type", "names", "read_as"),
    [
        ("camembert", ["RobertaForMaskedLM"], "CamembertForMaskedLM"),
        ("ernie", ["BertModel"], "ErnieModel"),
        ("bert", ["TFBertForSequenceClassification"], "BertForSequenceClassification"),
        ("roberta", "FlaxRobertaForMaskedLM", "RobertaForMaskedLM"),
        ("roberta", ["BertForNextSentencePrediction"], None),
    ],
)
def test_a_class_of_another_program_is_read_as_the_same_task(model_type: str, names: object, read_as: str) -> None:
    """transformers' Auto classes also choose the class by the model type."""
    reading = read(json.dumps({"model_type": model_type, "architectures": names}))
    assert reading.architecture == read_as
    assert (f"was read as {read_as}, the class of model_type {model_type} for" in str(reading.remarks[0])) == bool(
        read_as
    )


@pytest.mark.parametrize("position", ["relative_key", "relative_key_query"])
def test_relative_positions_have_the_counts_of_both_versions_of_transformers(position: str) -> None:
    fields = {"num_hidden_layers": 2, "position_embedding_type": position}
    question = {"model_type": "bert", "config": fields, "architecture": "BertModel", "options": {}}
    [in_4] = ask_transformers4([question])
    count = sum(prod(shape) for _name, shape in in_4["tensors"])
    with torch.device("meta"):
        in_5 = transformers.BertModel(transformers.BertConfig(**fields)).num_parameters()
    assert count > in_5
    reading = read(json.dumps({"model_type": "bert", "architectures": ["BertModel"], **fields}))
    [remark] = [str(remark) for remark in reading.remarks if remark.field == "position_embedding_type"]
    assert f"transformers 4 builds distance tables, which makes {count:,} parameters" in remark
    assert f"transformers 5 ignores the key and builds {in_5:,} parameters" in remark
    assert not [remark for remark in read('{"model_type": "bert"}').remarks if "transformers 4" in str(remark)]


WITHOUT_DISTANCES = ("roberta", "xlm-roberta", "camembert", "albert", "electra", "ernie")


@pytest.mark.parametrize("position", ["relative_key", "relative_key_query"])
@pytest.mark.parametrize("model_type", WITHOUT_DISTANCES)
def test_distances_of_transformers_4_that_are_not_counted_are_refused(model_type: str, position: str) -> None:
    fields = {"num_hidden_layers": 1, "position_embedding_type": position}
    base = FAMILIES[model_type].base.name
    [real] = ask_transformers4([{"model_type": model_type, "config": fields, "architecture": base, "options": {}}])
    assert any("distance_embedding" in name for name, _shape in real["tensors"])
    kind = FAMILIES[model_type].config.__name__
    said = sentences(json.dumps({"model_type": model_type, **fields}))
    [message] = said
    assert message.startswith(f"{kind} supports only absolute positions: set position_embedding_type to absolute")
    assert f"that transformers 4 builds for '{position}'" in message
    for value in (None, "absolute"):
        assert read(json.dumps({"model_type": model_type, "position_embedding_type": value}))


# Values of every type, at the limits, and values that only some families have.
VALUES: tuple[Any, ...] = (
    *(None, True, False, -1, 0, 1, 2, 3, 7, 12, 513, 10**9, 10**40, -0.5, 0.5, 1.5),
    *("", "x", "gelu", "relative_key", "relative_key_query", "rope", "{field}", "first", [], [2], {}, {"a": 1}),
)


@pytest.mark.parametrize("name", FAMILIES)
def test_every_sentence_on_a_value_has_its_words(name: str) -> None:
    """Messages about any refused or remarked value have their placeholders filled."""
    kind = FAMILIES[name].config
    keys = {*vars(kind.default()), *Config.__annotations__, "id2label", "head_dim", "layer_types"}
    refused = 0
    for key, value in product(sorted(keys), VALUES):
        contents = {"model_type": name, key: value}
        try:
            problems = read(json.dumps(contents)).remarks
        except InputError as error:
            refused += 1
            problems = [*error.problems]
        assert all(map(str, problems)), contents
        try:
            kind(**{key: value})
        except InputError as error:
            problems = [*error.problems]
        assert all(map(str, problems)), contents
    assert refused > len(keys)


@pytest.mark.parametrize(
    ("model_type", "given_fields"),
    [
        ("albert", {"num_hidden_groups": 2}),
        ("albert", {"inner_group_num": 2}),
        ("gpt2", {"reorder_and_upcast_attn": True}),
        ("gpt2", {"summary_proj_to_labels": False}),
    ],
)
def test_what_transformers_builds_and_is_not_counted_is_not_called_impossible(
    model_type: str, given_fields: dict[str, Any]
) -> None:
    given = {"model_type": model_type, **given_fields}
    config = transformers.CONFIG_MAPPING[model_type].from_dict(given)
    with torch.device("meta"):
        assert transformers.AutoModel.from_config(config)
    [said] = sentences(json.dumps(given))
    assert "transformers accepts this value, but bertcalc needs" in said
    assert "possible" not in said


@pytest.mark.parametrize(
    ("model_type", "given_fields"),
    [
        ("eurobert", {"pretraining_tp": 2}),
        ("bert", {"position_embedding_type": None}),
        ("bert", {"torch_dtype": "float16", "dtype": "bfloat16", "auto_map": {"AutoModel": "modeling.MyBert"}}),
        ("bert", {"quantization_config": {"load_in_8bit": True, "quant_method": "bitsandbytes"}, "id2label": None}),
        ("bert", {"text_config": {"hidden_size": 64}, "pruned_heads": {"0": []}, "_num_labels": 5}),
        ("distilbert", {"hidden_size": 512, "num_attention_heads": 8, "tie_weights_": True}),
        ("gpt2", {"n_ctx": 512, "n_inner": None, "summary_activation": None, "n_special": 0}),
        ("modernbert", {"layer_types": ["full_attention"] * 22, "reference_compile": None}),
        ("nomic_bert", {"n_layer": 12, "n_embd": 768, "rotary_scaling_factor": None}),
        ("deberta-v2", {"pos_att_type": ["p2c", "c2p"], "relative_attention": True, "position_buckets": 256}),
        ("xlm-roberta", {"max_position_embeddings": 8194, "output_past": True}),
    ],
)
def test_a_file_of_the_hub_counts_as_the_real_class_does(model_type: str, given_fields: dict[str, Any]) -> None:
    given = {"model_type": model_type, **given_fields}
    with torch.device("meta"):
        real = transformers.AutoModel.from_config(transformers.CONFIG_MAPPING[model_type].from_dict(given))
    reading = read(json.dumps(given))
    assert build(reading.config).num_parameters() == sum(tensor.numel() for tensor in real.parameters())


@pytest.mark.parametrize(
    "other", [{"batch_size": 32}, {"name": "bert", "epochs": 3}, {"config": {"hidden_size": 768}}, {"id": 1, "": 2}]
)
def test_another_file_is_not_counted_as_the_defaults(other: dict[str, Any]) -> None:
    [said] = sentences(json.dumps(other))
    assert said.startswith(f"This is not a model's config.json: it has {next(iter(other))}")


@pytest.mark.parametrize("names", [["T5Model"], "T5ForConditionalGeneration"])
def test_another_kind_of_model_is_refused_by_its_class_where_it_does_not_name_its_type(names: object) -> None:
    [said] = sentences(json.dumps({"architectures": names, "hidden_size": 1024, "num_attention_heads": 16}))
    assert "is not supported: bertcalc's model families" in said


def test_sizes_that_are_not_there_are_named_with_what_is_taken() -> None:
    remarks = [
        str(remark)
        for remark in read(
            '{"model_type": "bert", "d_model": 512, "vocab_size": 1000, "hidden_size": 512, "num_attention_heads": 8}'
        ).remarks
    ]
    assert "intermediate_size = 3,072, max_position_embeddings = 512, type_vocab_size = 2." in remarks[0]
    assert "d_model" in remarks[1]
    assert not read(CHINESE).remarks or "defaults" not in str(read(CHINESE).remarks)


def test_a_mark_at_the_start_and_halves_of_characters_do_no_harm() -> None:
    assert read("\ufeff{}").config == BertConfig()
    assert all(str(remark).encode("utf-8") for remark in read('{"model_type": "bert", "\\ud800": 1}').remarks)


@given(
    st.text(max_size=200)
    | st.recursive(
        st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=8),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from([*vars(BertConfig()), "id2label", "architectures", "x"]), inner, max_size=5
            )
        ),
    ).map(json.dumps)
)
def test_any_text_is_read_or_explained(text: str) -> None:
    try:
        reading = read(text)
    except InputError:
        assert all(sentence.encode("utf-8") for sentence in sentences(text))
    else:
        assert reading.architecture is None or reading.architecture in ARCHITECTURES


def test_a_file_of_utf_8_is_read() -> None:
    assert text_of('{"名": 1}'.encode()) == '{"名": 1}'
    assert read(text_of(CHINESE.encode("utf-8-sig"))) == read(CHINESE)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (CHINESE.encode("utf-16"), "not UTF-8: byte 1 is 0xff"),
        ('{"名": 1}'.encode("gbk"), "not UTF-8: byte 3 is 0xc3"),
        (bytes(LARGEST + 1), "has at least 1,000,001 bytes: a config.json can have at most 1,000,000"),
    ],
)
def test_what_is_wrong_with_a_file_is_said(data: bytes, said: str) -> None:
    with pytest.raises(InputError, match=said):
        text_of(data)
