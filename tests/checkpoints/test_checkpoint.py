"""A checkpoint is compared with the model tensor by tensor. The files are written by transformers."""

from contextlib import suppress
from dataclasses import replace
from math import prod
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from hypothesis import given
from hypothesis import strategies as st
from safetensors.torch import load_file

from bertcalc import ARCHITECTURES, BertConfig, Config, ModernBertConfig, RobertaConfig
from bertcalc.checkpoints.checkpoint import (
    GROUPS,
    Group,
    classes_of,
    compare,
    model_of_shapes,
)
from bertcalc.config import sizes_of
from bertcalc.families import FAMILIES
from bertcalc.families.electra import ElectraConfig
from bertcalc.families.presets import PRESETS
from bertcalc.families.published import PUBLISHED
from bertcalc.model.model import Model
from bertcalc.storage.stored_tensors import StoredTensor
from bertcalc.text.problem import InputError
from tests.checkpoints.checkpoints import SMALL, as_google_published, entries, save
from tests.oracle import Case, bare
from tests.strategies import cases


def like(config: Config, architecture: str = "BertModel", dtype: str = "F32") -> list[StoredTensor]:
    return [StoredTensor(name, dtype, shape) for name, shape in Model(config, architecture).named_parameters()]


SIZES: dict[str, Any] = {
    field: getattr(SMALL, field)
    for field in ("vocab_size", "hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size")
}
# The classes for which the shapes determine num_labels. Other classes have the default.
LABELS = {
    "BertForSequenceClassification": 3,
    "BertForTokenClassification": 3,
    "BertForQuestionAnswering": 3,
    "BertForMultipleChoice": 1,
}
# Classes with the same tensors as another class: the first of such classes is chosen.
ALIKE = {"BertLMHeadModel": "BertForMaskedLM", "BertForMultipleChoice": "BertForSequenceClassification"}


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_what_transformers_saves_is_recognized_by_its_shapes(architecture: str, tmp_path: Path) -> None:
    tensors = entries(save(tmp_path, architecture))
    model, unknown = model_of_shapes(tensors)
    assert model.architecture == ALIKE.get(architecture, architecture)
    assert unknown == ("num_attention_heads", "hidden_act")
    found = compare(tensors, Model(SMALL, architecture))
    assert found.agrees
    assert found.groups.keys() == {"same"}
    real = load_file(tmp_path / "model.safetensors")
    assert found.tensors == len(real)
    assert found.ours == found.parameters == found.numbers == sum(tensor.numel() for tensor in real.values())
    assert model.config == replace(SMALL, num_labels=LABELS.get(architecture, 2))


@pytest.mark.parametrize("biases", [True, False])
def test_a_first_layer_that_differs_and_biases_are_read_off_the_names(biases: bool) -> None:
    config = ModernBertConfig(num_hidden_layers=3, norm_bias=biases, mlp_bias=biases)
    for architecture in ("ModernBertModel", "ModernBertForMaskedLM"):
        real = Case(config, architecture).real()
        tensors = [StoredTensor(name, "F32", tuple(tensor.shape)) for name, tensor in real.named_parameters()]
        model, _unknown = model_of_shapes(tensors)
        assert model == Model(config, architecture)
        assert compare(tensors, model).agrees


def test_a_file_of_the_first_releases(tmp_path: Path) -> None:
    """Its LayerNorms have TensorFlow's names. It has a buffer, and heads that the class in config.json lacks."""
    tensors = entries(as_google_published(save(tmp_path)))
    found = compare(tensors, Model(SMALL, "BertForMaskedLM"))
    counts = {group: some.tensors for group, some in found.groups.items()}
    # Five LayerNorms in the base model and one in the head, each with weight and bias; the pooler, and the
    # next-sentence classifier.
    assert counts == {"same": len(tensors) - 12 - 4 - 1, "renamed": 12, "head": 4, "buffer": 1}
    assert {one.name for one in found.groups["head"].first} == {
        "pooler.dense.weight",
        "pooler.dense.bias",
        "cls.seq_relationship.weight",
        "cls.seq_relationship.bias",
    }
    assert found.buffers == 40
    assert found.dtypes == {"F32": found.parameters, "I64": 40}
    assert found.complete
    assert not found.agrees
    assert classes_of(found.groups["head"].first, SMALL) == ["BertForPreTraining", "BertForNextSentencePrediction"]
    assert compare(tensors, Model(SMALL, "BertForPreTraining")).agrees
    assert model_of_shapes(tensors)[0].architecture == "BertForPreTraining"


def test_the_published_total_of_bert_base_is_that_of_its_class() -> None:
    """The Hub says 110,106,428 in F32, although the config.json names BertForMaskedLM."""
    [published] = [count for count in PUBLISHED if count.architecture == "BertForPreTraining"]
    found = compare(like(BertConfig(), "BertForPreTraining"), Model(BertConfig(), "BertForMaskedLM"))
    assert found.dtypes == {"F32": published.parameters}
    assert found.ours + found.differences["head"] == published.parameters


@pytest.mark.parametrize("preset", [*FAMILIES["bert"].presets])
def test_every_preset_is_found_by_its_shapes(preset: str) -> None:
    config = PRESETS[preset].config
    assert model_of_shapes(like(config))[0] == Model(config)


@pytest.mark.parametrize("preset", ["roberta-base", "roberta-large"])
def test_another_family_is_known_by_its_prefix_and_its_heads(preset: str) -> None:
    model = Model(PRESETS[preset].config, "RobertaForMaskedLM")
    tensors = [StoredTensor(name, "F32", shape) for name, shape in model.named_parameters()]
    found, guessed = model_of_shapes(tensors)
    assert (found.config.vocab_size, found.architecture) == (50265, "RobertaForMaskedLM")
    assert compare(tensors, found).agrees
    assert guessed == ("num_attention_heads", "hidden_act")


@pytest.mark.parametrize("family", [name for name in FAMILIES if name not in ("bert", "xlm-roberta", "camembert")])
def test_the_sizes_of_another_family_are_found_by_its_shapes(family: str) -> None:
    for preset in FAMILIES[family].presets.values():
        config, architecture = preset.config, FAMILIES[family].for_task("masked-lm")
        found, guessed = model_of_shapes(like(config, architecture))
        assert found.architecture == architecture
        for field in sizes_of(type(config)):
            if field not in guessed:
                assert getattr(found.config, field) == getattr(config, field), field


def test_without_a_pooler() -> None:
    tensors = [entry for entry in like(BertConfig()) if "pooler" not in entry.name]
    model = model_of_shapes(tensors)[0]
    assert model == Model(BertConfig(), "BertModel", add_pooling_layer=False)
    assert compare(tensors, model).agrees
    assert [one.name for one in compare(tensors, Model(BertConfig())).groups["missing"].first] == [
        "pooler.dense.weight",
        "pooler.dense.bias",
    ]


def test_an_untied_decoder_is_told_from_a_copy(tmp_path: Path) -> None:
    untied = replace(SMALL, tie_word_embeddings=False)
    tensors = entries(save(tmp_path, "BertForMaskedLM", untied))
    assert compare(tensors, Model(untied, "BertForMaskedLM")).agrees
    tied = compare(tensors, Model(SMALL, "BertForMaskedLM"))
    assert {one.name for one in tied.groups["tied"].first} == {
        "cls.predictions.decoder.weight",
        "cls.predictions.decoder.bias",
    }
    assert tied.differences == {"tied": 50 * 128 + 50}


@pytest.mark.parametrize(
    ("config", "architecture"),
    [
        (replace(SMALL, tie_word_embeddings=False), "BertForMaskedLM"),
        (replace(SMALL, tie_word_embeddings=False), "BertForPreTraining"),
        (RobertaConfig(**SIZES, tie_word_embeddings=False), "RobertaForMaskedLM"),
        (ElectraConfig(**SIZES, tie_word_embeddings=False), "ElectraForMaskedLM"),
    ],
)
def test_an_untied_decoder_is_recognised_without_a_configuration(
    config: Config, architecture: str, tmp_path: Path
) -> None:
    """save_pretrained omits tied tensors, so a saved decoder is untied."""
    tensors = entries(save(tmp_path, architecture, config))
    model, guessed = model_of_shapes(tensors)
    assert (model.architecture, model.config.tie_word_embeddings) == (architecture, False)
    assert "tie_word_embeddings" in guessed
    assert compare(tensors, model).agrees
    tied = entries(save(tmp_path, architecture, replace(config, tie_word_embeddings=True)))
    assert model_of_shapes(tied)[0].config.tie_word_embeddings
    assert "tie_word_embeddings" not in model_of_shapes(tied)[1]


@pytest.mark.parametrize("activation", ["prelu", "xielu"])
@pytest.mark.parametrize("architecture", ["BertModel", "BertForMaskedLM", "RobertaForMaskedLM"])
def test_an_activation_that_learns_is_recognised(activation: str, architecture: str, tmp_path: Path) -> None:
    config = SMALL if architecture.startswith("Bert") else RobertaConfig(**SIZES)
    tensors = entries(save(tmp_path, architecture, replace(config, hidden_act=activation)))
    model, guessed = model_of_shapes(tensors)
    assert model.config.hidden_act == activation
    assert "hidden_act" not in guessed
    assert compare(tensors, model).agrees


@pytest.mark.parametrize("wrapper", ["model.", "0.auto_model.", "module.", "bert.", "net.bert.", "encoder."])
@pytest.mark.parametrize("architecture", ["BertModel", "BertForSequenceClassification", "RobertaForMaskedLM"])
def test_what_another_program_puts_before_the_names_is_left_out(
    wrapper: str, architecture: str, tmp_path: Path
) -> None:
    config = SMALL if architecture.startswith("Bert") else RobertaConfig(**SIZES)
    plain = entries(save(tmp_path, architecture, config))
    wrapped = [entry._replace(name=f"{wrapper}{entry.name}") for entry in plain]
    model, _guessed = model_of_shapes(wrapped)
    assert model == model_of_shapes(plain)[0]
    found = compare(wrapped, model)
    assert found.agrees
    own = wrapper.endswith("bert.") and architecture == "BertModel"  # the prefix of the base model in other classes
    assert found.wrapper == (wrapper.removesuffix("bert.") if own else wrapper)
    assert compare(plain, model).wrapper == ""


def test_the_class_that_fits_has_no_wrong_shape(tmp_path: Path) -> None:
    """A multiple-choice head has one row, and a sequence classifier has one row per label."""
    for architecture, labels in (("RobertaForMultipleChoice", 2), ("RobertaForTokenClassification", 5)):
        tensors = entries(save(tmp_path, architecture, RobertaConfig(**SIZES, num_labels=labels)))
        model, _guessed = model_of_shapes(tensors)
        assert model.architecture == architecture
        assert compare(tensors, model).agrees
    two = [*like(replace(SMALL, num_labels=7), "BertForTokenClassification")]
    two += [one for one in like(SMALL, "BertForQuestionAnswering") if "qa_outputs" in one.name]
    model, _guessed = model_of_shapes(two)
    assert "shape" not in compare(two, model).groups


def test_relative_positions_tell_the_heads_and_cross_attention_the_decoder() -> None:
    config = replace(
        SMALL, num_attention_heads=8, position_embedding_type="relative_key", is_decoder=True, add_cross_attention=True
    )
    model, unknown = model_of_shapes(like(config))
    assert model.config == replace(config, num_labels=2)
    assert unknown == ("position_embedding_type", "hidden_act")


def test_another_size_and_other_tensors() -> None:
    tensors = like(replace(SMALL, vocab_size=60, num_hidden_layers=3), "BertForTokenClassification")
    found = compare([*tensors, StoredTensor("adapter.up", "F16", (4, 4))], Model(SMALL, "BertForTokenClassification"))
    assert [one.name for one in found.groups["shape"].first] == ["embeddings.word_embeddings.weight"]
    assert found.differences["shape"] == 10 * 128
    layer = {one.name for one in found.groups["other"].first} - {"adapter.up"}
    assert len(layer) == 16
    assert all(name.startswith("encoder.layer.2.") for name in layer)
    assert not found.complete


def test_the_same_tensor_twice_counts_once_as_the_models() -> None:
    tensors = [*like(SMALL), StoredTensor("bert.pooler.dense.bias", "F32", (128,))]
    found = compare(tensors, Model(SMALL))
    assert found.groups["other"].tensors == 1
    assert found.differences == {"other": 128}


NAMES = [name for architecture in ARCHITECTURES for name, _shape in Model(SMALL, architecture).named_parameters()]
ENTRIES = st.builds(
    StoredTensor,
    st.sampled_from([*NAMES, "embeddings.position_ids", "x", "bert.embeddings.LayerNorm.gamma"]) | st.text(),
    st.sampled_from(["F32", "I64"]),
    st.lists(st.integers(0, 50), max_size=3).map(tuple),
)


@given(st.lists(ENTRIES, max_size=12, unique_by=lambda entry: entry.name), cases(), st.booleans())
def test_every_tensor_is_in_one_group_and_the_sums_are_exact(
    tensors: list[StoredTensor], case: Case, whole: bool
) -> None:
    model = case.model
    names = {entry.name for entry in tensors}
    if whole:
        tensors = [
            *tensors,
            *(StoredTensor(name, "F16", shape) for name, shape in model.named_parameters() if name not in names),
        ]
    found = compare(tensors, model)
    assert found.groups.keys() <= set(GROUPS)
    matched = [one.entry for group, some in found.groups.items() if group != "missing" for one in some.first]
    assert len(set(matched)) == len(matched)
    assert set(matched) <= set(tensors)
    assert found.tensors == len(tensors)
    assert found.numbers == sum(prod(entry.shape) for entry in tensors)
    assert found.ours + sum(found.differences.values()) == found.numbers
    assert found.parameters + found.buffers == found.numbers
    both: tuple[Group, ...] = ("same", "renamed", "shape", "missing")
    assert sum(found.groups[group].in_model for group in both if group in found.groups) == found.ours


def test_of_many_tensors_a_few_are_kept_and_all_are_counted() -> None:
    others = [StoredTensor(f"x.{number}", "F32", (number,)) for number in range(1_000)]
    found = compare([*like(SMALL), *others], Model(SMALL))
    assert found.groups["other"].tensors == 1_000
    assert found.differences == {"other": sum(range(1_000))}
    assert [one.entry for one in found.groups["other"].first] == others[:20]


def test_no_heads_have_more_tensors_than_are_kept() -> None:
    everything = {bare(entry.name, name): entry for name in ARCHITECTURES for entry in like(SMALL, name)}
    heads = compare(everything.values(), Model(SMALL)).groups["head"]
    assert heads.tensors == len(heads.first)


@given(st.lists(ENTRIES, max_size=12))
def test_tensors_that_are_no_bert_raise_nothing_else(tensors: list[StoredTensor]) -> None:
    with suppress(InputError):
        model_of_shapes(tensors)


def test_distances_that_are_no_positions_are_named_with_their_number() -> None:
    config = transformers.DebertaConfig(
        num_hidden_layers=1, relative_attention=True, pos_att_type="c2p|p2c", max_relative_positions=9
    )
    with torch.device("meta"):
        real = transformers.DebertaModel(config)
    tensors = [StoredTensor(name, "F32", tuple(tensor.shape)) for name, tensor in real.named_parameters()]
    with pytest.raises(InputError, match=r"^bertcalc does not support models with max_relative_positions 9"):
        model_of_shapes(tensors)


def test_what_is_no_bert_is_said() -> None:
    with pytest.raises(InputError, match=r"^This file has no tensors\.$"):
        model_of_shapes([])
    gpt = [StoredTensor("transformer.wte.weight", "F32", (50257, 768))]
    with pytest.raises(InputError, match=r"Its first tensor is transformer\.wte\.weight\."):
        model_of_shapes(gpt)
    with pytest.raises(InputError, match=r"no two-dimensional tensor encoder\.layer\.0\.intermediate\.dense\.weight"):
        model_of_shapes([entry for entry in like(SMALL) if ".layer." not in entry.name])
    pack = [entry._replace(shape=(10**7, 1)) if len(entry.shape) == 2 else entry for entry in like(SMALL)]
    with pytest.raises(InputError, match=r"^The weights are quantized"):
        model_of_shapes([*pack, StoredTensor(f"{pack[5].name}.quant_state.bitsandbytes__nf4", "U8", (64,))])
    packed = [entry._replace(name=entry.name.replace("dense.weight", "dense.qweight")) for entry in like(SMALL)]
    with pytest.raises(InputError, match=r"^The weights are quantized"):
        model_of_shapes(packed)
    lora = StoredTensor("base_model.model.bert.encoder.layer.0.attention.self.query.lora_A.weight", "F32", (8, 768))
    with pytest.raises(InputError, match="belongs to an adapter, not to the model"):
        model_of_shapes([lora])
    far = StoredTensor("encoder.layer.999999998.output.dense.weight", "F32", (1, 1))
    with pytest.raises(InputError, match="num_hidden_layers 999,999,999 is invalid"):
        model_of_shapes([*like(SMALL), far])
