"""Configurations of other types, counted with the shipped formulas and compared with transformers."""

import json
from typing import Any

import pytest
import transformers
from hypothesis import given
from hypothesis import strategies as st

from bertcalc.discover.results import from_config
from bertcalc.discover.results.config_input import read_config, structural_fields
from bertcalc.discover.results.from_config import counted_config
from bertcalc.discover.search import build
from bertcalc.discover.search.file_keys import explicit, keys_of
from bertcalc.text.problem import InputError
from tests.discover.real import real
from tests.examples import examples, sampled

# Fields of public files. Their counts are published in the headers of the safetensors files.
LLAMA_3_2_1B = {
    "model_type": "llama",
    "architectures": ["LlamaForCausalLM"],
    "attention_bias": False,
    "attention_dropout": 0.0,
    "bos_token_id": 128000,
    "eos_token_id": 128001,
    "head_dim": 64,
    "hidden_act": "silu",
    "hidden_size": 2048,
    "initializer_range": 0.02,
    "intermediate_size": 8192,
    "max_position_embeddings": 131072,
    "mlp_bias": False,
    "num_attention_heads": 32,
    "num_hidden_layers": 16,
    "num_key_value_heads": 8,
    "pretraining_tp": 1,
    "rms_norm_eps": 1e-05,
    "rope_theta": 500000.0,
    "tie_word_embeddings": True,
    "torch_dtype": "bfloat16",
    "rope_scaling": {"factor": 32.0, "rope_type": "llama3"},
    "use_cache": True,
    "vocab_size": 128256,
}
MISTRAL_7B = {
    "model_type": "mistral",
    "architectures": ["MistralForCausalLM"],
    "hidden_act": "silu",
    "hidden_size": 4096,
    "intermediate_size": 14336,
    "max_position_embeddings": 32768,
    "num_attention_heads": 32,
    "num_hidden_layers": 32,
    "num_key_value_heads": 8,
    "rms_norm_eps": 1e-05,
    "rope_theta": 10000.0,
    "sliding_window": 4096,
    "tie_word_embeddings": False,
    "vocab_size": 32000,
    "transformers_version": "4.34.0",
}
QWEN_2_5_HALF_B = {
    "model_type": "qwen2",
    "architectures": ["Qwen2ForCausalLM"],
    "hidden_act": "silu",
    "hidden_size": 896,
    "intermediate_size": 4864,
    "max_position_embeddings": 32768,
    "max_window_layers": 24,
    "num_attention_heads": 14,
    "num_hidden_layers": 24,
    "num_key_value_heads": 2,
    "rope_theta": 1000000.0,
    "sliding_window": 32768,
    "tie_word_embeddings": True,
    "use_sliding_window": False,
    "vocab_size": 151936,
    "use_mrope": False,
    "attention_dropout": 0.0,
}
LLAMA_2_7B = {
    "model_type": "llama",
    "architectures": ["LlamaForCausalLM"],
    "hidden_act": "silu",
    "hidden_size": 4096,
    "intermediate_size": 11008,
    "num_attention_heads": 32,
    "num_hidden_layers": 32,
    "num_key_value_heads": 32,
    "rope_scaling": None,
    "tie_word_embeddings": False,
    "vocab_size": 32000,
    "max_position_embeddings": 4096,
}
GEMMA_2B = {
    "model_type": "gemma",
    "architectures": ["GemmaForCausalLM"],
    "attention_bias": False,
    "head_dim": 256,
    "hidden_act": "gelu",
    "hidden_size": 2048,
    "intermediate_size": 16384,
    "num_attention_heads": 8,
    "num_hidden_layers": 18,
    "num_key_value_heads": 1,
    "vocab_size": 256000,
    "max_position_embeddings": 8192,
}


# Files with keys that transformers has removed or renamed.
OLDER = [
    {
        "model_type": "bloom",
        "architectures": ["BloomForCausalLM"],
        "n_embed": 1024,
        "n_layer": 24,
        "num_attention_heads": 16,
        "attention_softmax_in_fp32": True,
        "masked_softmax_fusion": True,
        "n_inner": None,
        "offset_alibi": 100,
        "seq_length": 2048,
        "skip_bias_add": True,
        "vocab_size": 250880,
    },
    {
        "model_type": "opt",
        "architectures": ["OPTForCausalLM"],
        "ffn_dim": 3072,
        "hidden_size": 768,
        "num_attention_heads": 12,
        "num_hidden_layers": 12,
        "vocab_size": 50272,
        "word_embed_proj_dim": 768,
        "do_layer_norm_before": True,
        "max_position_embeddings": 2048,
        "activation_function": "relu",
    },
    {
        "model_type": "t5",
        "architectures": ["T5ForConditionalGeneration"],
        "d_ff": 3072,
        "d_kv": 64,
        "d_model": 768,
        "n_positions": 512,
        "num_heads": 12,
        "num_layers": 12,
        "vocab_size": 32128,
        "is_encoder_decoder": True,
        "relative_attention_num_buckets": 32,
        "output_past": True,
    },
    {
        "model_type": "gpt_neox",
        "architectures": ["GPTNeoXForCausalLM"],
        "hidden_size": 768,
        "rotary_pct": 0.25,
        "intermediate_size": 3072,
        "num_attention_heads": 12,
        "num_hidden_layers": 12,
        "rotary_emb_base": 10000,
        "tie_word_embeddings": False,
        "use_parallel_residual": True,
        "vocab_size": 50304,
    },
    {
        "model_type": "gemma2",
        "architectures": ["Gemma2ForCausalLM"],
        "hidden_act": "gelu_pytorch_tanh",
        "head_dim": 256,
        "hidden_size": 2304,
        "intermediate_size": 9216,
        "num_attention_heads": 8,
        "num_hidden_layers": 26,
        "num_key_value_heads": 4,
        "query_pre_attn_scalar": 256,
        "vocab_size": 256000,
    },
    {
        "model_type": "bart",
        "architectures": ["BartForConditionalGeneration"],
        "normalize_embedding": True,
        "d_model": 768,
        "decoder_layers": 6,
        "encoder_layers": 6,
        "encoder_ffn_dim": 3072,
        "vocab_size": 50265,
        "decoder_ffn_dim": 3072,
        "encoder_attention_heads": 12,
        "decoder_attention_heads": 12,
    },
]


@pytest.mark.parametrize("config", OLDER, ids=lambda config: config["model_type"])
def test_an_older_file_is_counted_as_transformers_builds_it(config: dict[str, Any]) -> None:
    fields = {name: value for name, value in config.items() if name not in ("model_type", "architectures")}
    assert counted(config) == real(config["model_type"], config["architectures"][0], **fields)


def counted(config: dict[str, Any]) -> int:
    parsed = read_config(json.dumps(config))
    return counted_config(parsed.model_type, parsed.cls or "", parsed.fields).parameters


@pytest.mark.parametrize(
    ("config", "parameters"),
    [
        (LLAMA_3_2_1B, 1_235_814_400),
        (MISTRAL_7B, 7_241_732_096),
        (QWEN_2_5_HALF_B, 494_032_768),
        (LLAMA_2_7B, 6_738_415_616),
        (GEMMA_2B, 2_506_172_416),
    ],
)
def test_a_public_file_has_its_published_count(config: dict[str, Any], parameters: int) -> None:
    assert counted(config) == parameters


@pytest.mark.parametrize(
    "more",
    [
        {"attention_bias": True},
        {"mlp_bias": True},
        {"head_dims": 32},
        {"hidden_size": None},
        {"tie_word_embeddings": None},
        {"num_key_value_heads": "8"},
        {"hidden_size": 2047},
        {"num_local_experts": 8},
        {"_remove_final_layer_norm": True},
    ],
)
def test_a_key_that_is_not_known_to_change_nothing_is_not_counted(more: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        counted({**LLAMA_3_2_1B, **more})


@pytest.mark.parametrize(
    ("model_type", "cls", "fields"),
    [
        ("axk2", "AXK2ForCausalLM", {"first_k_dense_replace": 0}),
        ("granite", "GraniteForCausalLM", {"head_dim": 0}),
        ("mistral", "MistralForCausalLM", {"layer_types": []}),
        ("t5", "T5ForConditionalGeneration", {"num_decoder_layers": 12}),
        ("gemma3_text", "Gemma3ForCausalLM", {"rope_scaling": 0}),
        ("gemma3_text", "Gemma3ForCausalLM", {"sliding_window_pattern": 0}),
    ],
)
def test_nothing_and_zero_are_not_the_default(model_type: str, cls: str, fields: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        counted({"model_type": model_type, "architectures": [cls], **fields})


# Classes of each kind: derived heads, attention windows, untied heads, biases, encoder-decoders, renamed sizes.
CLASSES = sorted(name for name in from_config._keys() if name and not name.startswith(("bert.", "roberta.")))


@st.composite
def files(draw: st.DrawFn) -> tuple[str, str, dict[str, Any]]:
    """Draw a class and the keys of its file: some sizes, and other keys with changed values."""
    model_type, _dot, cls = draw(st.sampled_from(CLASSES)).rpartition(".")
    default = structural_fields(json.loads(transformers.CONFIG_MAPPING[model_type]().to_json_string(use_diff=False)))
    changed: dict[str, Any] = {}
    for name in draw(st.lists(st.sampled_from(sorted(default)), min_size=1, max_size=4, unique=True)):
        value = default[name]
        if isinstance(value, bool):
            changed[name] = not value
        elif isinstance(value, int):
            changed[name] = draw(st.sampled_from([value, 2 * value, value // 2, value + 1, 8]))
        elif isinstance(value, float):
            changed[name] = draw(st.sampled_from([value, value / 2, 0.3]))
        elif value is None:
            changed[name] = draw(st.sampled_from([None, 2, 64, True]))
    return model_type, cls, changed


@examples(40)
@given(files())
def test_what_is_counted_is_what_transformers_builds(case: tuple[str, str, dict[str, Any]]) -> None:
    model_type, cls, changed = case
    config = {"model_type": model_type, "architectures": [cls], **changed}
    try:
        parsed = read_config(json.dumps(config))
        answer = counted_config(parsed.model_type, cls, parsed.fields)
        built = real(model_type, cls, **changed)
    except InputError:
        return
    assert answer.parameters == built


EXPLICIT = sorted(from_config._data(from_config.EXPLICIT))


@pytest.mark.parametrize("name", sampled(EXPLICIT, 4))
def test_derived_heads_that_a_file_gives_are_sizes(name: str) -> None:
    model_type, _dot, cls = name.rpartition(".")
    keys = from_config._keys()[name]["derived"]
    heads = transformers.CONFIG_MAPPING[model_type]().num_attention_heads
    for number in (heads // 2, heads // 4):
        sizes = {"num_key_value_heads": max(1, number)} if "num_key_value_heads" in keys else {"head_dim": 8 * number}
        assert counted_config(model_type, cls, sizes).parameters == real(model_type, cls, **sizes)


@pytest.mark.parametrize("name", sampled(CLASSES, 40))
def test_what_the_keys_change_is_as_measured(name: str) -> None:
    model_type, _dot, cls = name.rpartition(".")
    with build.quiet():
        keys = json.loads(json.dumps(keys_of(model_type, cls)))
    stored = from_config._keys()[name]
    assert keys == stored


def test_formulas_with_derived_heads_are_as_discovered() -> None:
    llama = ("llama", "LlamaForCausalLM")
    discovery = explicit(*llama, from_config._keys()["llama.LlamaForCausalLM"]["derived"])
    stored = from_config._explicit("llama.LlamaForCausalLM")
    assert discovery is not None
    assert stored is not None
    assert (discovery.total, discovery.fields) == (stored.total, stored.fields)


def test_only_configurations_of_parts_are_nested() -> None:
    with pytest.raises(InputError, match=r"nested configurations \(vision_config\)"):
        counted_config("none", "NoneModel", {"vision_config": {"depth": 2}, "quantization_config": {"bits": 4}})
    with pytest.raises(InputError, match=r"bertcalc has no formula for the config\.json"):
        counted_config("none", "NoneModel", {"quantization_config": {"bits": 4}})


# Sequence-to-sequence models, and masked language models with tied heads. Transformers 5 writes this key into each
# file.
TIED = [
    name
    for name, keys in from_config._keys().items()
    if keys.get("same", {}).get("tie_word_embeddings") is not None
    and not name.startswith(("neomme", "switch", "zamba2"))
]


@pytest.mark.parametrize("name", sampled(TIED, 12))
def test_the_file_that_transformers_writes_is_counted(name: str) -> None:
    model_type, _dot, cls = name.rpartition(".")
    config = build.config_class(model_type)()
    config.architectures = [cls]
    written = config.to_json_string(use_diff=False)
    assert "tie_word_embeddings" in written
    file = read_config(written)
    assert counted_config(file.model_type, file.cls, file.fields).parameters == real(model_type, cls)
    other = {**json.loads(written), "tie_word_embeddings": not config.tie_word_embeddings}
    fields = read_config(json.dumps(other)).fields
    with pytest.raises(InputError, match="tie_word_embeddings"):
        counted_config(file.model_type, file.cls, fields)


@pytest.mark.parametrize(
    ("model_type", "cls", "sizes"),
    [
        ("mamba", "MambaForCausalLM", {"hidden_size": 512, "num_hidden_layers": 4}),
        ("falcon_mamba", "FalconMambaForCausalLM", {"hidden_size": 512, "expand": 3, "num_hidden_layers": 4}),
        ("falcon", "FalconForCausalLM", {"hidden_size": 568, "num_hidden_layers": 3}),
        ("rwkv", "RwkvForCausalLM", {"hidden_size": 512, "num_hidden_layers": 3}),
        ("minicpm3", "MiniCPM3ForCausalLM", {"hidden_size": 640, "num_hidden_layers": 3}),
        ("smollm3", "SmolLM3ForCausalLM", {"num_hidden_layers": 8}),
    ],
)
def test_derived_sizes_may_stand_in_a_file(model_type: str, cls: str, sizes: dict[str, int]) -> None:
    config = build.config_class(model_type)(**sizes)
    config.architectures = [cls]
    file = read_config(config.to_json_string(use_diff=False))
    assert counted_config(file.model_type, file.cls, file.fields).parameters == real(model_type, cls, **sizes)
    for name, multiple in from_config._keys()[f"{model_type}.{cls}"]["multiples"].items():
        other = {**file.fields, name: file.fields[name] + 8 * multiple["times"]}
        with pytest.raises(InputError, match=name):
            counted_config(file.model_type, file.cls, other)


@pytest.mark.parametrize(
    ("model_type", "cls", "changed"),
    [
        ("dots3_note_text", "Dots3NoteForCausalLM", {"q_lora_rank": 2048}),
        ("dots3_note_text", "Dots3NoteForCausalLM", {"v_head_dim": 129}),
        ("fastspeech2_conformer", "FastSpeech2ConformerModel", {"decoder_layers": 5}),
        ("fastspeech2_conformer", "FastSpeech2ConformerModel", {"encoder_linear_units": 1537}),
    ],
)
def test_sizes_that_a_nested_configuration_replaces_are_refused(
    model_type: str, cls: str, changed: dict[str, int]
) -> None:
    config = build.config_class(model_type)()
    config.architectures = [cls]
    file = read_config(config.to_json_string(use_diff=False))
    assert counted_config(file.model_type, file.cls, file.fields).parameters == real(model_type, cls)
    with pytest.raises(InputError, match="_config has sizes of its own"):
        counted_config(file.model_type, file.cls, {**file.fields, **changed})
    alone = counted_config(model_type, cls, changed)
    assert alone.parameters == real(model_type, cls, **changed)


@pytest.mark.parametrize("cls", ["XmodForMaskedLM", "XmodForCausalLM"])
def test_a_model_without_languages_is_not_counted_with_one(cls: str) -> None:
    usual = {"languages": ["en_XX"]}
    assert counted_config("xmod", cls, usual).parameters == real("xmod", cls, **usual)
    assert real("xmod", cls, languages=[]) != real("xmod", cls)
    with pytest.raises(InputError, match="languages"):
        counted_config("xmod", cls, {"languages": []})
