"""Keys of a config.json that change no count: the real class is the same with another value of each key."""

import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, NamedTuple

import pytest
import torch
import transformers
from torch.utils.flop_counter import FlopCounterMode
from transformers.initialization import no_init_weights

from bertcalc.config import Config
from bertcalc.families import FAMILIES, class_of
from bertcalc.families.config_files.size_names import names_read
from bertcalc.families.hf_json import read, write
from bertcalc.families.uncounted_keys import EMPTY, NEUTRAL, OF_MEMORY, is_neutral
from bertcalc.forward.call import Call
from bertcalc.memory.plan import Plan
from bertcalc.model.family import Family
from bertcalc.model.model import Model
from bertcalc.text.problem import InputError
from tests.memory.live import inference_moments, on_cpu, peak, training_moments
from tests.oracle import Case, unmasked

SIZES = {
    "vocab_size": 50,
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 64,
    "max_position_embeddings": 16,
    "pad_token_id": 0,
    **dict.fromkeys(("bos_token_id", "cls_token_id"), 1),
    **dict.fromkeys(("eos_token_id", "sep_token_id"), 2),
    "mask_token_id": 3,
}
_NAMES = (
    *("_name_or_path", "name_or_path", "_commit_hash", "transformers_version", "prefix", "tokenizer_class"),
    *("finetuning_task", "pooler_type", "directionality", "language"),
)
_ON = (
    *("output_past", "gradient_checkpointing", "use_bfloat16", "tie_encoder_decoder", "output_attentions"),
    *("output_hidden_states", "is_encoder_decoder", "is_decoder", "use_cache", "tf_legacy_loss", "xla_device"),
    *("repad_logits_with_grad", "_attn_implementation_autoset"),
)
# For each key, a value other than the default. Keys that are not listed get the number 3.
VALUES: dict[str, Any] = {
    **dict.fromkeys(("dtype", "torch_dtype"), "float16"),
    **dict.fromkeys(_NAMES, "else"),
    **{key: {"else": 1} for key in ("task_specific_params", "sentence_transformers")},
    **dict.fromkeys(("bos_token_id", "eos_token_id", "sep_token_id", "cls_token_id", "mask_token_id"), 1),
    **dict.fromkeys(("rope_theta", "global_rope_theta", "local_rope_theta", "layer_norm_eps"), 5.0),
    **dict.fromkeys(_ON, True),
    **dict.fromkeys(("return_dict", "tie_weights_", "predict_special_tokens", "reference_compile"), False),
    "problem_type": "regression",
    "layers_to_keep": [1],
    "chunk_size_feed_forward": 2,
    "classifier_dropout": 0.4,
    "layer_types": ["full_attention", "sliding_attention"],
    "global_attn_every_n_layers": 1,
    "rope_parameters": {"rope_type": "linear", "rope_theta": 5.0, "factor": 2.0},
}
ANGLES = {"rope_type": "default", "rope_theta": 5.0}


class Figures(NamedTuple):
    """All figures of a model that bertcalc computes."""

    tensors: list[tuple[str, tuple[int, ...]]]
    flops: int
    inference: int
    training: int


def real(family: Family, architecture: str, keys: Mapping[str, Any], *, memory: bool) -> Figures:
    """The figures of a small real model with additional keys in its configuration."""
    kind = family.config
    sizes: dict[str, Any] = {field: value for field, value in SIZES.items() if kind.has(field)}
    case = Case(kind(**sizes), architecture)
    fields = {name: value for name, value in asdict(case.config).items() if name != "position_embedding_type"}
    with torch.device("meta"), no_init_weights():
        config = getattr(transformers, kind.__name__)(**{**fields, **keys})
        model = getattr(transformers, architecture)(config)
    model.tie_weights()
    model.set_attn_implementation("eager")
    # return_dict and the choice of outputs stay as in the configuration.
    call = Call(2, 4, labels=bool(class_of(architecture).targets))
    given = {name: value for name, value in unmasked(case, call).items() if torch.is_tensor(value)}
    model, given = on_cpu(model, given)  # some forward methods read values
    tensors = [(name, tuple(tensor.shape)) for name, tensor in model.named_parameters()]
    model.eval()
    with torch.no_grad(), FlopCounterMode(display=False) as counter:
        model(**given)
    peaks = (0, 0)
    if memory:
        steps = training_moments(model, given, Plan(keep_outputs=True))
        peaks = peak(inference_moments(model.eval(), given)).live, peak(steps).live
    return Figures(tensors, counter.get_total_flops(), *peaks)


def classes(family: Family) -> list[str]:
    return list(dict.fromkeys((family.base.name, family.for_task("sequence-classification"))))


FAMILY = pytest.mark.parametrize("family", FAMILIES.values(), ids=FAMILIES)


def others(kind: type[Config], keys: Any) -> dict[str, Any]:
    """Another value of each key that is not a field of the family."""
    values = {key: VALUES.get(key, 3) for key in sorted(keys) if not kind.has(key)}
    values = {key: value for key, value in values.items() if not kind.converted({key: value})}
    return (
        values | {"rope_parameters": rotary(kind, VALUES["rope_parameters"])} if "rope_parameters" in keys else values
    )


def rotary(kind: type[Config], parameters: dict[str, Any]) -> dict[str, Any]:
    """Parameters of rotary positions, per kind of layer if there are two kinds."""
    kinds = ("full_attention", "sliding_attention")
    return dict.fromkeys(kinds, parameters) if kind.has("local_attention") else parameters


@FAMILY
def test_what_is_said_to_affect_no_count_affects_none(family: Family) -> None:
    keys = others(family.config, NEUTRAL) | {"rope_parameters": rotary(family.config, ANGLES)}
    assert all(is_neutral(key, value) for key, value in keys.items())
    if family.config.has("relative_attention"):  # DeBERTa refuses it
        del keys["type_vocab_size"]
    for architecture in classes(family):
        assert real(family, architecture, keys, memory=True) == real(family, architecture, {}, memory=True)


@FAMILY
def test_what_may_change_the_memory_changes_no_parameter_and_no_flops(family: Family) -> None:
    keys = others(family.config, set(OF_MEMORY) - {"problem_type"})
    assert not any(is_neutral(key, value) for key, value in keys.items())
    usual = real(family, family.base.name, {}, memory=False)
    assert real(family, family.base.name, keys, memory=False) == usual


def test_what_returns_more_keeps_more_memory() -> None:
    """These keys must therefore not be among the keys without an effect."""
    family = FAMILIES["bert"]
    usual = real(family, "BertModel", {}, memory=True)
    for key in ("output_attentions", "output_hidden_states"):
        more = real(family, "BertModel", {key: True}, memory=True)
        assert (more.tensors, more.flops) == (usual.tensors, usual.flops)
        assert more.training > usual.training


def remarks(**keys: Any) -> list[str]:
    return [str(remark) for remark in read(json.dumps({"model_type": "bert", **SIZES, **keys})).remarks]


def test_each_kind_of_key_has_its_own_remark() -> None:
    ignored = "Ignored keys, which do not affect any count: "
    unknown = "Unknown keys, ignored: {}. If they change the model, its count differs."
    sizes = "Missing, so set to Hugging Face's defaults: type_vocab_size = 2."
    assert remarks(tokenizer_class="X")[1:] == [f"{ignored}cls_token_id, sep_token_id, mask_token_id, tokenizer_class."]
    assert remarks(auto_map={}, rotary=1)[:2] == [sizes, unknown.format("rotary")]
    memory = "Ignored keys: output_attentions. They do not affect parameters or FLOPs, but may affect memory."
    assert memory in remarks(output_attentions=True)
    for key in EMPTY:
        if key not in ("pruned_heads", "quantization_config"):  # these have their own messages
            assert unknown.format(key) in remarks(**{key: {"0": [1]}})
        assert unknown.format(key) not in remarks(**{key: None})


@pytest.mark.parametrize(
    ("key", "model_type", "field"),
    [
        ("hidden_sze", "bert", "hidden_size"),
        ("hiddenSize", "roberta", "hidden_size"),
        ("num_hidden_layer", "electra", "num_hidden_layers"),
        ("intermediatesize", "albert", "intermediate_size"),
        ("n_embd", "bert", "hidden_size"),
        ("n_layers", "gpt2", "n_layer"),
        ("hidden_sze", "distilbert", "dim"),
        ("num_layers", "modernbert", "num_hidden_layers"),
        ("vocabsize", "deberta", "vocab_size"),
    ],
)
def test_a_misspelled_size_is_asked_about(key: str, model_type: str, field: str) -> None:
    with pytest.raises(InputError) as asked:
        read(json.dumps({"model_type": model_type, key: 24}))
    [problem] = asked.value.problems
    assert str(problem) == f"{key} is unknown: did you mean {field}?"
    [remedy] = problem.remedies
    kind = FAMILIES[model_type].config
    assert {kind.own_name(name): value for name, value in remedy.items()} == {field: 24}


@pytest.mark.parametrize("key", ["auto_map", "experts", "quantization_config", "hidden", "type", "num", "alibi"])
def test_what_is_no_misspelling_is_not_asked_about(key: str) -> None:
    assert not any("did you mean" in remark for remark in remarks(**{key: 3}))


def test_a_misspelling_beside_the_right_name_is_unknown() -> None:
    assert any("Unknown keys, ignored: hidden_sze." in remark for remark in remarks(hidden_sze=5))


@pytest.mark.parametrize("layers", [1, 2, 3, 7, 22])
@pytest.mark.parametrize("interval", [1, 2, 3, 5, 22, 40])
def test_the_layer_types_of_a_file_are_read(layers: int, interval: int) -> None:
    """For any interval between global layers, transformers writes and reads these types."""
    sizes = {"num_hidden_layers": layers, "hidden_size": 32, "num_attention_heads": 2, "intermediate_size": 8}
    written = transformers.ModernBertConfig(**sizes, global_attn_every_n_layers=interval).to_dict()
    kinds = written.pop("layer_types")
    written.pop("global_attn_every_n_layers")
    described = read(json.dumps({**written, "layer_types": kinds}))
    assert not [remark for remark in described.remarks if "layer_types" in str(remark)]
    with torch.device("meta"):
        again = transformers.ModernBertConfig(**json.loads(write(Model(described.config))))
        real = transformers.ModernBertModel(again)
    assert again.layer_types == kinds
    assert Model(described.config).num_parameters() == sum(tensor.numel() for tensor in real.parameters())


def test_layer_types_take_precedence_as_in_transformers() -> None:
    keys = {"num_hidden_layers": 2, "layer_types": ["full_attention"] * 2, "global_attn_every_n_layers": 3}
    assert transformers.ModernBertConfig(**keys).layer_types == keys["layer_types"]
    described = read(json.dumps({"model_type": "modernbert", **keys}))
    assert described.config.layer_period == 1


@pytest.mark.parametrize(
    "kinds",
    [
        ["sliding_attention"] * 4,
        ["sliding_attention", "full_attention", "sliding_attention", "full_attention"],
        ["full_attention", "full_attention", "sliding_attention", "full_attention"],
        ["full_attention", "chunked_attention"] * 2,
        ["full_attention"] * 3,
        "full_attention",
        [["full_attention"]] * 4,
        [],
    ],
)
def test_other_layer_types_are_refused(kinds: Any) -> None:
    """Otherwise, the computed memory would be wrong."""
    with pytest.raises(InputError, match=r"^(bertcalc does not support )?layer_types "):
        read(json.dumps({"model_type": "modernbert", "num_hidden_layers": 4, "layer_types": kinds}))


@FAMILY
def test_a_shared_name_that_transformers_does_not_read_is_not_read(family: Family) -> None:
    """A file calls DistilBERT's intermediate size hidden_dim. transformers ignores intermediate_size."""
    kind, real_kind = family.config, getattr(transformers, family.config.__name__)
    names = {name for name, own in kind.attribute_map.items() if real_kind.attribute_map.get(name) != own}
    assert not names & names_read(kind)
    if "intermediate_size" in names:
        with pytest.raises(InputError, match=f"did you mean {kind.own_name('intermediate_size')}?"):
            read(json.dumps({"model_type": family.name, "intermediate_size": 7}))
