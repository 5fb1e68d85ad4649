"""The bytes of keys and values in the caches of transformers."""

from functools import cache

import pytest
import torch
from transformers import GPT2Config, GPT2Model, LlamaConfig, LlamaModel

from bertcalc.proofreading.proofread import proofread

SIZES = {  # hidden size, layers, heads, key and value heads
    "Llama-2-7B": (4096, 32, 32, 32),
    "Llama-2-13B": (5120, 40, 40, 40),
    "Llama-2-70B": (8192, 80, 64, 8),
    "Llama-3-8B": (4096, 32, 32, 8),
}


@cache
def kept(name: str, tokens: int = 1, *, batch: int = 1, dtype: torch.dtype = torch.float16) -> int:
    """The bytes that a forward pass leaves in the cache."""
    with torch.device("meta"):
        if name == "GPT-2":
            model = GPT2Model(GPT2Config()).to(dtype)
        else:
            hidden, layers, heads, shared = SIZES[name]
            config = LlamaConfig(
                vocab_size=8,
                hidden_size=hidden,
                num_hidden_layers=layers,
                num_attention_heads=heads,
                num_key_value_heads=shared,
                intermediate_size=8,
            )
            model = LlamaModel(config).to(dtype)
        output = model(torch.zeros(batch, tokens, dtype=torch.long), use_cache=True)
    return sum(layer.keys.nbytes + layer.values.nbytes for layer in output.past_key_values.layers)


TOKEN = kept("Llama-2-7B")
GROUPED = kept("Llama-3-8B")
LARGE = kept("Llama-2-70B")


@pytest.mark.parametrize(
    ("text", "right"),
    [
        # Only keys or only values, or half of the bytes per element.
        ("Llama-2-7B in FP16: the KV cache takes 0.25 MB per token.", TOKEN),
        ("Llama-2-7B 在 fp16 下，每个 token 的 KV 缓存为 256 KB。", TOKEN),
        (
            "With 4,096 tokens, Llama-2-13B keeps 1.6 GB of keys and values in bfloat16.",
            kept("Llama-2-13B", 4096),
        ),
        # All heads, although fewer heads have keys and values.
        ("Llama 3 8B, half precision: 512 KB of KV cache for each token", GROUPED),
        ("Llama-2-70B（fp16）：4096 个 token 的 KV Cache 约 10.7 GB。", kept("Llama-2-70B", 4096)),
        ("Llama-2-70B: KV cache per token = 2 × 80 × 8192 × 2 bytes = 2.6 MB", LARGE),
        # One layer, one head, one token or one sequence.
        ("Llama-2-7B in FP16: the KV cache takes 16 KB per token.", TOKEN),
        ("Llama-2-7B in FP16: the KV cache takes 16 KB per token in all layers.", TOKEN),
        ("GPT-2: the KV cache of a layer takes 2*64*2 = 256 bytes per token in fp16.", kept("GPT-2") // 12),
        ("Llama-2-7B: 4,096 tokens need 0.5 MB of KV cache in fp16.", kept("Llama-2-7B", 4096)),
        ("Llama-2-7B, FP16. The KV cache, batch of 16, 4,096 tokens: 2.1 GB", kept("Llama-2-7B", 4096, batch=16)),
        ("Llama-2-7B（FP16，2048 个 token）：16 个并发用户的 KV 缓存共 1.07 GB", kept("Llama-2-7B", 2048, batch=16)),
        # Layers counted twice; the bytes of all layers instead of one.
        ("Llama-2-7B, 2,048 tokens, fp16: total KV cache = 34.4 GB", kept("Llama-2-7B", 2048)),
        ("Llama-2-7B in fp16: each layer's KV cache has 1.07 GB at 2,048 tokens.", kept("Llama-2-7B", 2048) // 32),
        # Another precision than the text says.
        ("Llama-2-7B in fp32: KV cache of 0.5 MB per token", kept("Llama-2-7B", dtype=torch.float32)),
        ("Llama-2-7B: with an FP8 KV cache, 4,096 tokens need 2.1 GB.", kept("Llama-2-7B", 4096) // 2),
        # The text states the sizes.
        (
            "A decoder with 40 layers, 40 heads and head_dim 128: the KV cache takes 410 KB per token in fp16.",
            kept("Llama-2-13B"),
        ),
        (
            "For L=80, 8 KV heads and a head dim of 128, the KV cache has 2.6 MB per token in half precision.",
            LARGE,
        ),
        ("80 层、8 个 KV 头、head_dim=128 的模型，fp16 下每个 token 的 KV 缓存为 160 KB。", LARGE),
        # Lists and tables.
        (
            "| Sequence length | KV cache (Llama-2-7B, FP16) |\n|---|---|\n| 512 | 256 MB |\n| 4096 | 1 GB |",
            kept("Llama-2-7B", 4096),
        ),
        (
            "# Llama 3 8B\n\n## KV cache\n\nFP16:\n\n- 1K tokens: 128 MB\n- 8K tokens: 4 GB",
            kept("Llama-3-8B", 8192),
        ),
        (
            "| Model | KV cache per token (fp16) | 4K context |\n|---|---|---|\n"
            "| Llama-3-8B | 128 KB | 512 MB |\n| Llama-2-7B | 512 KB | 512 MB |",
            kept("Llama-2-7B", 4096),
        ),
    ],
)  # fmt: skip
def test_another_size_is_wrong(text: str, right: int) -> None:
    wrong = proofread(text).of("wrong")
    assert [claim.right_value for claim in wrong] == [right]
    assert "keys and values" in wrong[0].reason


@pytest.mark.parametrize(
    "text",
    [
        "Llama-2-7B in FP16: the KV cache takes 0.5 MB per token.",
        "Llama-2-7B in FP16: the KV cache takes 512 KiB/token.",
        "Llama-2-7B in fp16: the KV cache takes 16 KB per token per layer.",
        "Llama-2-7B, fp16: a token's keys take 256 KB in the KV cache.",
        "Llama 3 8B, half precision: 128 KB of KV cache for each token",
        "Llama 3 8B, half precision: 128 KB of KV cache for each token; with MHA it would be 512 KB.",
        "Llama-2-70B（fp16）：4096 个 token 的 KV Cache 约 1.34 GB。",
        "Llama-2-70B, bf16: 8K tokens of KV cache take 2.7 GB. In FP8 they take 1.34 GB.",
        "Llama-2-13B in FP16: KV cache of 800 KB per token, so 3.36 GB for a 4,096-token context, and 53.7 GB for a "
        "batch of 16.",
        "Llama-2-7B. KV cache = 2 × 32 × 4096 × 2048 × 2 = 1.07 GB for a sequence of 2048 tokens; with batch size 8 "
        "8.6 GB.",
        "Llama 3 8B: per layer and token, keys and values have 2 × 8 × 128 × 2 bytes = 4 KB. Over 32 layers: 128 KB.",
        "GPT-2 keeps 12 layers × 2 × 768 × 4 bytes = 73,728 bytes per token in its KV cache in fp32.",
        "# Llama-2-7B, 2048 tokens, fp16\n\n单层 KV 缓存: 33,554,432 bytes (32.0 MB)\n"
        "总 KV 缓存: 1,073,741,824 bytes (1.00 GB)\n",
        "| Model | KV cache per token (fp16) | 4K context | 128K context |\n|---|---|---|---|\n"
        "| Llama-3-8B | 128 KB | 512 MB | 16 GB |\n| Llama-2-7B | 512 KB | 2 GB | 64 GB |",
        "A decoder with 40 layers, 40 heads and head_dim 128: the KV cache takes 819 KB per token in fp16.",
        "| Sequence length | KV cache size (Llama-2-7B, FP16, batch 1) |\n|---|---|\n| 512 | 256 MB |\n| 4096 | 2 GB |",
        "| 上下文 | Llama-2-7B KV 缓存 | Llama-3-8B KV 缓存 |\n|---|---|---|\n| 4K | 2 GB | 0.5 GB |\n"
        "| 32K | 16 GB | 4 GB |",
        "For Llama-2-7B at a context of 4096, the cache costs 2 GB per sequence in FP16; at batch 32 this is 64 GB.",
        "Llama-2-7B: K cache and V cache each take 1 GB for 4096 tokens in fp16.",
        "KV 缓存：Llama-2-7B 每层每 token 16 KB，32 层共 512 KB，1024 个 token 共 512 MB（fp16）。",
    ],
)
def test_the_right_size_is_right(text: str) -> None:
    claims = [claim for claim in proofread(text).claims if claim.unit == "bytes"]
    assert claims
    assert {claim.verdict for claim in claims} == {"right"}
    assert all("keys and values in" in claim.reason for claim in claims)


@pytest.mark.parametrize(
    "text",
    [
        "Llama-2-7B: the KV cache of a batch takes 16.8 MB in fp16.",  # a matrix of the attention has this size
        "Llama 3 8B: its KV cache is limited to 16 GB.",  # its weights have this size
    ],
)
def test_the_cache_is_no_part_of_the_model_with_its_size(text: str) -> None:
    [claim] = [claim for claim in proofread(text).claims if claim.unit == "bytes"]
    assert claim.verdict == "unknown"


def test_the_cause_is_said() -> None:
    report = proofread("Llama 3 8B in fp16: 512 KB of KV cache per token; so 4 GB of it for 8,192 tokens")
    assert "all 32 heads are counted, although only 8 have keys and values" in report.of("wrong")[0].reason
    assert report.of("wrong")[1].right_value == kept("Llama-3-8B", 8192)


def test_several_lengths_in_a_chinese_sentence_are_right_one_by_one() -> None:
    text = "Llama-2-7B 的 KV 缓存:1024 个 token 时 512 MB,2048 个 token 时 1 GB,4096 个 token 时 2 GB。"
    assert [claim.verdict for claim in proofread(text).claims] == ["right"] * 3


def test_a_product_with_the_bytes_of_a_number_in_it_is_not_multiplied_by_them_again() -> None:
    text = "KV cache of Llama-2-7B at 2,048 tokens: 2 × 32 × 32 × 128 × 2048 × 2 = {}."
    assert not proofread(text.format("1 GB")).of("wrong")
    [claim] = proofread(text.format("2 GB")).of("wrong")
    assert claim.right_value == 2 * 32 * 32 * 128 * 2048 * 2
