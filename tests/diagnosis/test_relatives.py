"""Decoders with the layers of a built-in family, compared with transformers' own classes."""

import pytest
import torch
import transformers

from bertcalc.diagnosis.relatives import RELATIVES
from bertcalc.proofreading.proofread import proofread

_CONFIGS = {"llama": transformers.LlamaConfig, "mistral": transformers.MistralConfig}
_CLASSES = {"llama": transformers.LlamaForCausalLM, "mistral": transformers.MistralForCausalLM}


@pytest.mark.parametrize("name", [name for name in RELATIVES if not name.startswith("gpt")])
def test_a_relative_has_the_parameters_of_the_real_class(name: str) -> None:
    ours = RELATIVES[name]
    config = ours.config
    kind = "mistral" if name.startswith("mistral") else "llama"
    real_config = _CONFIGS[kind](
        vocab_size=config.vocab_size,
        hidden_size=config.hidden_size,
        num_hidden_layers=1,
        num_attention_heads=config.num_attention_heads,
        num_key_value_heads=vars(config)["num_key_value_heads"] or config.num_attention_heads,
        intermediate_size=config.intermediate_size,
        tie_word_embeddings=config.tie_word_embeddings,
    )
    with torch.device("meta"):
        real = _CLASSES[kind](real_config)
    total = sum(parameter.numel() for parameter in real.parameters())
    layer = sum(parameter.numel() for parameter in real.model.layers.parameters())
    assert ours.model.num_parameters() == total + (config.num_hidden_layers - 1) * layer


@pytest.mark.parametrize(
    ("name", "published"),
    [
        ("llama-7b", 6_738_415_616),
        ("llama-2-70b", 68_976_648_192),
        ("llama-3-8b", 8_030_261_248),
        ("llama-3.2-1b", 1_235_814_400),
    ],
)
def test_published_counts(name: str, published: int) -> None:
    assert RELATIVES[name].model.num_parameters() == published


def test_the_gate_is_missing() -> None:
    text = "LLaMA-7B\n\nFeed forward, all layers: 32*2*4096*11008 = 28.9亿. Total: 6,738,415,617"
    gate = proofread(text).claims[0]
    assert gate.verdict == "wrong"
    assert gate.right_value == 4_328_521_728
    assert "the gate of the feed-forward network is left out" in gate.reason


def test_its_classes_have_their_own_names() -> None:
    report = proofread("Llama 2 7B has 6,607,343,616 parameters.")
    assert "LlamaModel" in report.claims[0].reason
    assert "LlamaForCausalLM has 6,738,415,616 parameters." in str(report)
    assert "EuroBert" not in str(report)


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        ("For Llama 2 7B, the KV cache takes 2*128*2 = 512 bytes per token per layer.", "wrong"),
        ("For Llama 2 7B, the KV cache takes 2*32*128*2 = 16384 bytes per token per layer.", "right"),
    ],
)
def test_keys_and_values(text: str, verdict: str) -> None:
    assert [claim.verdict for claim in proofread(text).claims] == [verdict]


@pytest.mark.parametrize(
    ("text", "right"),
    [
        # The model without its head has these sizes, but only in GiB.
        ("In 32-bit precision, Llama 3 8B needs 28 GB for its weights.", 32_121_044_992),
        ("Llama 3 8B 的权重用 fp32 存储约占 28 GB。", 32_121_044_992),
    ],
)
def test_the_weights_of_a_named_model_are_all_of_them(text: str, right: int) -> None:
    [claim] = proofread(text).of("wrong")
    assert claim.right_value == right
