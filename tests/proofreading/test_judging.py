"""Published numbers: whether each is right, and the right value."""

import csv
from fractions import Fraction
from pathlib import Path

import pytest
import torch
from transformers import BertConfig, BertModel, GPT2Config, GPT2LMHeadModel

from bertcalc.proofreading.proofread import proofread

# From public write-ups in English and Chinese. transformers gave the right values.
CLAIMS = list(csv.DictReader(Path(__file__).with_name("claims.csv").read_text(encoding="utf-8").splitlines()))


@pytest.mark.parametrize("line", CLAIMS, ids=lambda line: line["text"][:40])
def test_published_claims(line: dict[str, str]) -> None:
    claim = proofread(f"# The parameters of BERT-base\n\n{line['text']}\n").claims[-1]
    assert claim.verdict == line["verdict"], claim
    if claim.verdict == "wrong":
        assert claim.right_value == int(line["right_value"])


@pytest.mark.parametrize(
    ("text", "verdict", "reason"),
    [
        ("437.9 MB of weights", "right", "the size of BertModel with pooler in float32"),
        ("417.6 MB of weights", "conditional", "This is correct in units of 1,024"),
        ("22.35 GFLOPs", "conditional", "This is correct for a batch of 1 × 128 tokens."),
        ("Embeddings: 21.8%", "right", "the share of this component: embeddings"),
        ("75641856 / 1024 / 1024 = 72.1 MB", "unknown", ""),
        ("The file has 440,473,133 B", "right", "a PyTorch file (.bin) of BertForPreTraining"),
        ("model.safetensors: 440449768 bytes", "right", "A safetensors file of BertForPreTraining"),
        ("109,482,240 × 4 = 437,928,960 bytes", "right", "the size of BertModel with pooler in float32"),
        (
            "BERT-base with B = 32, S = 384: 32 × 384 × 768 × 12 × 4 / 10^9 ≈ 1.19 GB",
            "wrong",
            "The calculation gives 453.0 MB (432.0 MiB), not 1.19 GB.",
        ),
        ("one layer: 32 × 512 × 768 × 4 bytes\n- = ~320 MB per layer", "wrong", "The calculation gives 50.3 MB"),
        (
            "Classification head of DistilBERT: 768 × 2 = 1,536",
            "wrong",
            "1,538 is right for a classifier with 2 labels.",
        ),
        (
            "DistilBERT is a smaller version of BERT:\n- 6 layers (BERT has 12)\n- 66M parameters",
            "right",
            "the whole model",
        ),
        (
            "# BERT\n\nSUM = (|V| + 514) * d + 2*d + 12[d*d*3 + d*d + 2*d + 8*d*d + 2*d]\n    = 108,808,704",
            "wrong",
            "109,482,240 is right for the whole model",
        ),
        (
            "FFN in     768 × 3072 + 3072   =   2,362,368",
            "right",
            "first matrix of the feed-forward network of one layer",
        ),
        (
            "FFN out    3072 × 768 +  768   =   2,360,064",
            "right",
            "second matrix of the feed-forward network of one layer",
        ),
        ("(30522 + 512 + 2) * 768 = 23835648 = 22.7 M", "conditional", "correct if M means 1,024 · 1,024"),
        ("(30522 + 512 + 2) * 768 = 23835648 = 22.1 M", "wrong", "The calculation gives 23,835,648, not 22.1 M."),
        (
            "多头注意力层的参数总量为：[768 * (768/12) * 3 * 12 + 768 * 768 ] * 12 = 28311552",
            "wrong",
            "28,348,416 is right for attention of all 12 layers",
        ),
        (
            "所以这个部分是768 * 768/12 * 3 * 12 + 768 * 768 = 2359296",
            "wrong",
            "2,362,368 is right for attention of one layer: its 3,072 biases are left out.",
        ),
        (
            "The simplified formula gives a total of 108,768,768, fine for orders of magnitude.",
            "conditional",
            "109,482,240 is right for the whole model",
        ),
        ("12 transformer layers × ~7M each = 84M", "conditional", "the count of one layer is rounded"),
        ("FP16 activations: 219 MB", "unknown", ""),
        ("FP32:  100 samples/sec,  440 GB VRAM", "wrong", "The unit is 1,000 times too large: 437.9 MB"),
        ("分类线性层的参数：768 * 18", "wrong", "13,842 is right for a classifier with 18 labels"),
        ("a pooler with 590,000 parameters", "right", "pooler"),
        ("注意力层：4 × 768² = 2,359,296。无 bias 时。", "right", "attention of one layer without biases"),
        (
            "QKV 的权重：3 * (768 * 768)【QKV】+ 768 * 768【线性】 = 2.36M",
            "conditional",
            "matrices of the attention",
        ),
        ("bias of QKV in the attention: (768 / 12) * 3 * 12", "right", "biases of query, key and value"),
        (
            "- linear_0: 768 x 3072 + 3072 = 2,362,368\n- linear_1: 3072 x 768 + 768 = 2,360,064",
            "right",
            "second matrix",
        ),
        (
            "- multi_head：768 * 768 * 3 + 768 * 768 一共12个\n  - 总参数量为28,331,552",
            "wrong",
            "28,348,416 is right for",
        ),
        ("所有层 = 12 * [(3 * 768^2 + 768^2) + (768 * 3072 + 3072 * 768) + 2 * 768]", "wrong", "85,054,464 is right"),
        ("a LayerNorm with 768 parameters", "wrong", "1,536 is right for LayerNorm"),
        ("110M × 4 bytes = 44 MB", "wrong", "The calculation gives 440.0 MB (419.6 MiB), not 44 MB."),
        ("BERT-base needs 110000000 × 4 = 0 MB", "wrong", "The calculation gives 440.0 MB (419.6 MiB), not 0 MB."),
        ("The weights of BERT-base in float16: 281.9 MB", "wrong", "219.0 MB (208.8 MiB) is right for BertModel"),
        ("| | fp16 |\n|---|---|\n| BERT-large | 0.97 GB |", "wrong", "670.3 MB (639.2 MiB) is right"),
        ("BERT-base has 109.4M parameters", "right", "BertModel with pooler"),  # truncated instead of rounded
        ("BERT-base has 111M parameters", "wrong", "BertModel has 109,482,240 parameters."),
        ("BERT-large has 350M parameters", "wrong", "bert-large-uncased (BertModel) has 335,141,888 parameters."),
        ("BERT-medium (8, 512): 47.1M", "wrong", "(BertModel) has 41,373,184 parameters."),
        (
            "bert-large-uncased: BertModel has 336,226,108",
            "wrong",
            "BertModel has 335,141,888 parameters.",
        ),
        ("FFN down-projection: 3072*768+768 = 2,360,064", "right", "second matrix of the feed-forward network"),
        ("FFN down-projection: 3072*768+3072 = 2,362,368", "wrong", "2,360,064 is right for second matrix"),
        ("and the embeddings 37.1M", "wrong", "23,837,184 is right for embeddings"),
        ("BERT-base's encoder has 104M", "wrong", "85,054,464 is right for all 12 layers."),
        ("12 layers of 5.1M parameters", "wrong", "7,087,872 is right for one layer."),
        ("The body of BertModel: 109,428,240", "wrong", "a digit is mistyped"),
        ("Share of the embeddings: 32%", "wrong", "The share of this component is 21.8 %"),
        (
            "the layers have 85,054,464, 87.7% of all parameters",
            "wrong",
            "The previous number's share is 77.7 %.",
        ),
        ("the layers have 85,054,464, i.e. about 87.7% of the model", "wrong", "77.7 %"),
        ("the layers have 85,054,464, 77.7% of all parameters", "right", "the previous number's share"),
        ("self-attention, 4d² per layer: 12 × 4 × 768² ≈ 28.3M", "right", "attention of all 12 layers"),
        ("24 × 4 × 1024² ≈ 100.7M for the attention of BERT-large", "conditional", "100,761,600 is right"),
        ("roughly 4d² in the attention", "conditional", "2,362,368 is right for attention of one layer"),
        ("The GPT-2 of nanoGPT: number of parameters: 123.65M", "conditional", "the position embeddings are left out"),
        ("GPT-2: num decayed parameter tensors: 50, with 124,318,464", "right", "all matrices"),
        ("BERT-base: there are 294,912 of them", "unknown", ""),
        ("37 + 0 = 37 Dropout modules", "right", "37 modules: Dropout"),
        ("BertForMaskedLM has 109,514,298", "right", "This is the count of BertForMaskedLM, decoder tied."),
        ("attention of all 12 layers: 2,362,368", "wrong", "one layer instead of 12: multiply by 12"),
        ("the pooler has 590,952", "wrong", "a digit is mistyped"),
        ("109 MB in float32", "wrong", "in float32, it is 437.9 MB"),
        ("Storing BERT-base weights in fp16 takes 438 MB", "wrong", "in 16 bits, it is 219.0 MB (208.8 MiB)"),
        ("In fp16 BERT-base takes 219 MB, BERT-large 1.34 GB", "wrong", "in 16 bits, it is 670.3 MB"),
        ("How large is BERT-base in fp16? A: 438 MB", "wrong", "in 16 bits, it is 219.0 MB"),
        ("BERT-base with 8-bit weights needs 109 MB, with 4-bit 27 MB", "unknown", ""),
        ("BERT-base: FP16 219 MB, INT8 为 55 MB", "wrong", "109.5 MB (104.4 MiB) is right"),
        ("BERT-large weights in float32: 1.36 GB", "right", "the published 340,000,000 parameters"),
        ("the encoder, 12 × 7.09M = 85.1M", "right", "all 12 layers"),
        ("BERT-base, one head: 768*64*3 = 147,456", "right", "query, key and value of one head of one layer"),
        ("pooler, without the bias of the next line: 768*768 = 589,824\nbias: 768", "right", "pooler"),
        ("a vocabulary of 30k", "unknown", ""),
        ("output: 768 × 30000 = 23.04M", "unknown", ""),
        (
            "12d² per block, so about 7.08M in each layer",
            "conditional",
            "the biases of attention and feed-forward are left out",
        ),
        ("Q: One layer of BERT-large? A: 10.6M.", "wrong", "12,596,224 is right for one layer"),
        ("BERT-large: 133M parameters", "wrong", "bert-large-uncased (BertModel) has 335,141,888 parameters"),
        ("bert-medium (8 layers, hidden size 512) 37.1M", "wrong", "(BertModel) has 41,373,184 parameters"),
        ("438 MB in fp32 and 219 MB in fp16", "right", "in 16 bits"),
        ("converting to fp16 shrinks 438 MB to 219 MB", "right", "in 16 bits"),
        ("the word embeddings take 93_763_000 bytes", "wrong", "93,763,584 bytes is right for word embeddings"),
        ("GPT-2: the KV cache takes 3,072 bytes per token and layer", "right", "16 bits (layers: 1, heads: 12"),
        ("GPT-2: the KV cache takes 36,864 bytes per token", "right", "16 bits (layers: 12, heads: 12"),
        ("GPT-2, keys and values of a token in one layer: 2*64*2 = 256 bytes", "wrong", "only one head is counted"),
        ("The large model has 335,141,889", "wrong", "335,141,888 is right for the whole model"),
        ("the output layer: H*O, 768 * 768 = 589,824", "conditional", "weight of the pooler"),
        ("the embeddings take 90.92 MiB", "wrong", "90.93 MiB is right for embeddings"),
        ("Training with Adam takes 1.75 GB", "conditional", "This is correct with 16 bytes per parameter."),
        ("Adam's two moments take 437.9 MB", "wrong", "875.9 MB (835.3 MiB) is right for Adam's two moments of each"),
        ("Adam's two moments take 875.9 MB", "right", ""),
        ("so the layers have about 12*12*768^2 = 84,934,656", "conditional", "no LayerNorm is counted"),
        ("not counting the position embeddings, the total is 109,089,024", "conditional", "position embeddings"),
        ("We count 589,824 parameters in the pooler", "wrong", "the bias of the pooler is left out"),
        ("前馈网络：一层为768*3072+3072*768=4718592", "wrong", "4,722,432 is right for feed-forward of one layer"),
        ("all LayerNorms: 36,864", "wrong", "38,400 is right for all LayerNorms"),
        ("12*d^2*L + 2*V*d = 124M", "wrong", "The calculation gives 131,816,448, not 124M."),
        ("one layer, without biases: 7.08M", "right", "one layer without biases"),
        (
            "Transformer blocks: Each block of BERT-base has approximately 3.6M parameters",
            "wrong",
            "7,087,872 is right",
        ),
        ("每个编码器层的参数量约为 3.5M", "wrong", "7,087,872 is right for one layer"),
        ("Each encoder layer has about 7.1M parameters", "right", "one layer"),
        ("12 layers, $12 \\times 7,087,872 \\approx \\mathbf{85.05 \\text{ Million}}$", "right", "all 12 layers"),
        ("words(30522 * 768) + types (2 * 768) + positions (512 * 768) = 23,835,648", "right", "without LayerNorm"),
        ("word embeddings [30522 × 768] = 23.4M", "right", "word embeddings"),
        ("FFN: 4,722,432\n× 12 transformer blocks: 56,669,184", "right", "feed-forward of all 12 layers"),
        ("linear1: w(768*3072) + b(768) = 2,360,064", "wrong", "2,362,368 is right for first matrix"),
        ("BERT-base has a hidden size of 768 and 11 billion parameters", "wrong", "BertModel has 109,482,240"),
        ("BERT-base has 110M parameters, 40 percent of them in the attention.", "wrong", "25.9 %"),
        ("Estimated BERT-base Params: 254.05M", "wrong", "BertModel has 109,482,240 parameters"),
        ("BERT-base 模型具有 13 亿个参数", "unknown", ""),
        ("BERT-base total params: 109.5M", "right", "the whole model"),
        ("BERT-base has 11 billion parameters", "wrong", "BertModel has 109,482,240 parameters"),
        ("BERT-base 模型有 11 亿个参数", "wrong", "BertModel has 109,482,240 parameters"),
        ("BERT-base has a vocabulary of 30,532 tokens.", "wrong", "the digits of 30,532 are mistyped"),
        ("BERT-base 的词表大小为 30532", "wrong", "the digits of 30,532 are mistyped"),
        ("BERT-base 有 12 层,总参数量为 110 亿。", "wrong", "BertModel has 109,482,240 parameters"),
        ("BERT-base 的 encoder 共有 12 layers,总参数量约 11 billion。", "wrong", "BertModel has 109,482,240"),
        ("BERT-base has 12 layers and 11 billion parameters.", "wrong", "BertModel has 109,482,240 parameters"),
        ("参数量对比：ALBERT-large 仅 6000 万", "wrong", "albert-large-v2 (AlbertModel) has 17,683,968 parameters"),
        ("the embeddings make up 21.8 percent of the parameters", "right", "embeddings"),
        ("the attention accounts for 40 per cent of all parameters", "wrong", "25.9 %"),
        ("12 transformer blocks × ~7.1M each = ~85.1M", "right", "all 12 layers"),
        ("12 layers x ~7.1M = 75M", "wrong", "The calculation gives 85,200,000, not 75M."),
        ("feed forward of all 12 layers: 56.6M", "conditional", "the biases of the feed-forward network are left out"),
        ("encoder.layer.0.attention.self.value.bias: 589,824", "wrong", "768 is right for encoder.layer.0"),
        (
            "bert/encoder/layer_0/attention/self/value/bias (768,) 589824",
            "wrong",
            "768 is right for bert.encoder.layer",
        ),
    ],
)
def test_units_modules_and_conditions(text: str, verdict: str, reason: str) -> None:
    claim = proofread(f"BERT-base\n\n{text}").claims[-1]
    assert claim.verdict == verdict, claim
    assert reason in claim.reason


@pytest.mark.parametrize(
    "text",
    [
        "Published in 2018, page 1234, with a learning rate of 2e-5 and a batch of 256.",
        "hidden size 768, intermediate size 3072, 512 positions",
        "v4.39.0 of transformers, arXiv:1810.04805",
        "trained for 1,000,000 steps on 3,300M words, 392,702 examples of MNLI",
        "token ids [101, 2312, 4324, 743, 664] of shape [1, 512, 1024]",
        "the total of our Keras model is 131,164,464",
        "without sharing, the 12 layers of ALBERT-base would need 12 × 7,087,872 = 85,054,464",
        "pooler.dense.weight: torch.Size([768, 768]), 589824",
        "7.1M per layer, 85M in total",
        "pruning removes 0.4 × 28.3M = 11.3M",
        "| model | 12·d²·layers |\n|---|---|\n| BERT-base | 84.9M |",
        "| | RoBERTa-base |\n|---|---|\n| position embeddings | 394,752 |",
        "The encoder has 24 layers of 12.6M in BERT-large",
        "GPT-2, bias=False\n\nattention: 2360064\n\ntransformer: 84953088\n\ntotal: 124337664",
        "The encoder has 85,054,464 parameters; only 0.5% of the parameters are trained with LoRA.",
        "The word embeddings have 23,440,896 parameters. We mask 15% of the weights of the model.",
        "All 12 layers: 85,054,464. Adapters add 3% of the model.",
        "Logits for 12 samples: 12*(30522*768 + 768) = 281,299,968 activations",
        "BERT-base takes 418 million bytes",
        "encoder.layer.*.output.dense.weight: 28,311,552 in all 12 layers",
        "BERT-base: 12 × 7.1M ≈ 85M",
        "BERT-base's attention has 12 heads and 11 million parameters",
        "BERT-large: 24 × ~12.6M each ≈ 302M; embeddings 31.8M; pooler 1.05M; total 335M.",
        "BERT-base has 86M non-embedding parameters.",
        "BERT-base 110M with embeddings, 86M without embeddings.",
        "bert-base-uncased with one added token (30,523) has 109,483,008 parameters.",
        "BERT-base with vocab padded to 30,528 (a multiple of 8) has 109,486,848 parameters.",
        "新增 1 个 token 后 BERT-base 参数量为 109,483,008。",
        "German BERT: vocabulary 30,000, 109.1M parameters.",
        "BERT-base [CLS] (768) and TF-IDF (18) make a 786-dimensional vector.",
        "We compare BERT-base (d=768) with wider (d=780) and narrower (d=756) models of 12 heads.",
        "cls.predictions.decoder.weight: 23,440,896",
        "Llama-2-7B with 4096 tokens: the KV cache takes 2 GB, total 15.5 GB.",
        "推理 Llama-2-7B：权重 14 GB，KV 缓存 2 GB（4096 token），总计 16 GB。",
        "Going from Llama-2-7B to Llama-3-8B cuts the KV cache from 512 KB to 128 KB per token.",
        "For GPT-3 175B with an input of 512 and an output of 32 tokens, batch 64, the KV cache takes 164 GB in fp16.",
        "encoder.layer.0.attention.self.query.weight and its bias: 590,592",
        "Llama-7B has 6.7 billion parameters, Llama-2-70B has 69 billion parameters",
        "BERT-base has been trained on 1.1 billion sentences, 10 times as many as its parameters",
        "We added 10 tokens: the vocabulary is 30,532, the word embeddings 30,532 × 768 = 23,448,576, all 109,489,920.",
        "A vocabulary padded to 30,528; or with a new token, 30,523; or with 100 more, 30,622.",
        "BERT-base, 24 layers 的 BERT-large, 以及 T5(110 亿参数)",
        "BERT-base 比 T5 小得多,后者有 110 亿参数。",
        "BERT-base 训练了 11 亿个词,参数为 1.1 亿。",
        "ChatGLM-6B has 6.2B parameters; its attention 4 * 4096 * 4096 = 67,108,864",
    ],
)
def test_numbers_that_are_no_counts_are_never_wrong(text: str) -> None:
    assert not proofread(f"BERT-base\n\n{text}").of("wrong")


def test_models_that_are_not_counted_are_checked_for_arithmetic_only() -> None:
    report = proofread("ChatGLM: attention 32*4*4096^2 = 2,147,483,648, feed forward 2*3 = 7.")
    assert [claim.verdict for claim in report.claims] == ["unknown", "wrong"]
    assert report.claims[-1].right_value == Fraction(6)


def test_a_module_without_biases_is_not_a_model_without_them() -> None:
    report = proofread("GPT-2: lm_head = nn.Linear(768, 50257, bias=False)\n\none layer: 7,077,888")
    assert [claim.right_value for claim in report.of("wrong")] == [7_087_872]
    assert not proofread("GPT-2 with GPTConfig(bias=False)\n\none layer: 7,079,424").of("wrong")


@pytest.mark.parametrize(
    "text",
    [
        "GPT-2 with 256 positions. Position embeddings: 256 × 768 = 0.2M",
        "GPT-2 with block_size = 256. Position embeddings: 256 × 768 = 196,608",
        "GPT-2，上下文长度 256。位置编码：256 × 768 = 196,608",
        "GPT-2，序列长度 256 的位置编码：256 × 768 = 196,608",
        "GPT-2 with a context length of 256: 123,849,984 parameters",
        "# BERT-base, V=30000\n\nword embeddings: 23,040,000",
        "BERT-base. Token (Embedding)  (None, 128, 768)  23040000",
    ],
)
def test_a_count_is_right_under_the_condition_that_the_text_chooses_another_size(text: str) -> None:
    assert proofread(text).claims[-1].verdict == "conditional"


@pytest.mark.parametrize(
    "text",
    [
        "GPT-2. Position embeddings: 256 × 768 = 196,608",
        "BERT-base reads a sequence length of 128 here. Its position embeddings: 98,304",
        "BERT-base, with 512 positions. Its position embeddings: 98,304",
        "# BERT-base\n\nword embeddings: 23,040,000",
    ],
)
def test_another_size_that_the_text_does_not_choose_is_wrong(text: str) -> None:
    assert proofread(text).claims[-1].verdict == "wrong"


@pytest.mark.parametrize("number", ["Its weights need 700 MB in float32.", "It takes 9 GFLOPs for 128 tokens."])
def test_nothing_is_wrong_by_a_model_that_is_only_assumed(number: str) -> None:
    assert [claim.verdict for claim in proofread(f"The network. {number}").claims] == ["unknown"]
    assert [claim.verdict for claim in proofread(f"BERT-base. {number}").claims] == ["wrong"]


@pytest.mark.parametrize(("text", "verdict"), [("12 × 7.1M ≈ 85M", "right"), ("12 × 8M = 96M", "wrong")])
def test_a_rounded_layer_times_their_number_is_right_only_near_the_layer(text: str, verdict: str) -> None:
    [claim] = proofread(f"BERT-base has 12 layers.\n\nEncoder: {text} parameters.").claims
    assert claim.verdict == verdict


def test_a_number_far_from_the_vocabulary_makes_no_variant() -> None:
    """15,321 steps are not a vocabulary size, but 30,622 tokens are."""
    text = "After {}, BERT-base with 112,482,240 parameters is best."
    steps, tokens = (proofread(text.format(words)).claims[-1] for words in ("15,321 steps", "30,622 of them"))
    assert steps.verdict == "wrong"
    assert steps.right_value == 109_482_240
    assert tokens.verdict != "wrong"


@pytest.mark.parametrize("tied", [True, False])
def test_a_total_without_qkv_biases_is_conditional_if_the_text_says_so(tied: bool) -> None:
    with torch.device("meta"):
        model = GPT2LMHeadModel(GPT2Config(tie_word_embeddings=tied))
    biases = sum(block.attn.c_attn.bias.numel() for block in model.transformer.h)
    total = sum(parameter.numel() for parameter in model.parameters()) - biases
    text = f"GPT-2 small, {'tied' if tied else 'not tied'}{{}}.\n\nTotal parameters: {total:,}\n"
    [claim] = proofread(text.format(" and with no biases of query, key and value")).claims
    assert claim.verdict == "conditional"
    assert proofread(text.format("")).claims[0].verdict == "wrong"


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        ("The weights take 417.6 MB.", "conditional"),
        ("109,482,240 * 4 / 1024 / 1024 = 417.6 MB of weights.", "right"),
        ("The weights take 417.6 MiB.", "right"),
        ("With 1 MB = 10^6 bytes, the weights take 417.6 MB.", "wrong"),
    ],
)
def test_megabytes_of_1024_are_right_under_a_condition(text: str, verdict: str) -> None:
    claims = proofread(f"BERT-base. {text}").claims
    assert verdict in {claim.verdict for claim in claims if "417.6" in claim.text}


@pytest.mark.parametrize(("part", "right"), [("query", 590_592), ("value", 590_592)])
def test_a_projection_with_its_bias_is_the_one_that_is_named(part: str, right: int) -> None:
    [claim] = proofread(f"BERT-base. The {part} projection with its bias has 589,824 parameters.").claims
    assert claim.verdict == "wrong"
    assert claim.right_value == right
    assert f"{part} of the attention of one layer: its 768 biases" in str(claim.reason)


@pytest.mark.parametrize("written", ["768 × 768 = 590K", "768 × 768 ≈ 0.59M"])
def test_a_rounded_matrix_may_be_its_part_without_the_bias(written: str) -> None:
    """With the bias, 590,592 is as near to 590K as the next multiple of 1,000."""
    [claim] = proofread(f"BERT-base\n\n- Query: {written}").claims
    assert claim.verdict in ("conditional", "right")


def test_a_calculation_with_other_widths_is_about_another_model() -> None:
    text = "Transformer & BERT\n\nFeed-Forward: (512*2048) + 2048 + (2048*512) + 512"
    assert "wrong" not in [claim.verdict for claim in proofread(text).claims]


@pytest.mark.parametrize(
    ("formula", "verdict"),
    [("2 * H * I", "conditional"), ("H * I + I * H", "conditional"), ("2 x (H x I + I x H)", "wrong")],
)
def test_a_formula_in_letters_needs_no_digit(formula: str, verdict: str) -> None:
    text = f"BERT-base has H = 768 and I = 3072.\n\nFeed-forward network:\n\nParameters: {formula}\n"
    assert verdict in [claim.verdict for claim in proofread(text).claims]


def test_letters_in_brackets_are_no_product() -> None:
    assert not [claim for claim in proofread("BERT-base\n\nA x (HA) x H heads").claims if claim.text == "(HA)"]


def test_a_column_called_decoder_has_the_layers_of_a_decoder() -> None:
    table = "| Model | Params | Embedding | Decoder |\n|---|---|---|---|\n| GPT-2 small | 124M | 38.6M | {} |"
    right, wrong = (proofread(table.format(count)).claims[-1].verdict for count in ("85.1M", "58.1M"))
    assert right == "right"
    assert wrong != "right"


def test_the_last_row_of_all_layers_may_be_the_whole_model() -> None:
    """The wrong total omits the LayerNorm after GPT-2's layers."""
    table = "GPT-2 small\n\n| part | count |\n|---|---|\n| **全部（12 个 block）** | 85,054,464 + 39,383,808 = {} |"
    [claim] = proofread(table.format("124,438,272")).claims
    assert claim.verdict == "wrong"
    assert claim.right_value == 124_439_808


@pytest.mark.parametrize("words", ["参数总计为 124 万", "The total number of parameters is 1.24 million"])
def test_a_total_with_a_wrong_unit_is_wrong_without_the_models_name(words: str) -> None:
    claim = proofread(f"GPT-2 small has 12 layers.\n\nThe sizes follow.\n\n{words}.").claims[-1]
    assert claim.verdict == "wrong"
    assert claim.right_value == 124_439_808


def test_a_vocabulary_may_be_stated_by_the_shape_of_its_table() -> None:
    """nanoGPT pads GPT-2's vocabulary to 50,304 and has no biases."""
    with torch.device("meta"):
        model = GPT2LMHeadModel(GPT2Config(vocab_size=50_304))
    total = sum(parameter.numel() for parameter in model.parameters())
    text = "GPT-2 124M\n\n| tensor | shape | count |\n|---|---|---|\n| `wte` | `(50304, 768)` | 38,633,472 |\n"
    claims = proofread(f"{text}\nTotal: {total:,} parameters").claims
    assert "wrong" not in [claim.verdict for claim in claims]
    assert claims[-1].verdict == "right"


def test_llama_without_a_size_is_the_one_whose_sizes_are_stated() -> None:
    sizes = "dim 4096, layer_num 32, vocab_size 32000, hidden_dim 11008"
    text = f"The parameters of a llama model: {sizes}.\n\nAttention of all layers: 32 * 4 * 4096² = 2,147,483,648\n"
    assert [claim.verdict for claim in proofread(text).claims][-1] == "right"


def test_the_row_of_another_model_with_the_same_size_name_is_not_wrong() -> None:
    header = "| Model | Layers | d_model | Parameters |\n|---|---|---|---|\n"
    own, other = "| XL | 48 | 1600 | 1.2B |\n", "| XL | 24 | 2048 | 1.3B |\n"
    text = f"# GPT-2\n\n{header}{own}\n# GPT-3\n\n{header}{other}"
    verdicts = {claim.text: claim.verdict for claim in proofread(text).claims}
    assert verdicts["1.2B"] == "wrong"
    assert verdicts.get("1.3B") != "wrong"


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        ("The encoder of BERT-base has 7,087,872 parameters.", "conditional"),
        ("BERT-base 的编码器有 7,087,872 个参数。", "conditional"),
        ("Each encoder layer of BERT-base has 7,087,872 parameters.", "right"),
        ("BERT-base 一层有 2,362,368 个参数。", "conditional"),
        ("One layer of BERT-base has 2,362,368 parameters in the attention.", "right"),
        ("The attention of one BERT-base layer has 590,592 parameters.", "conditional"),
        ("One layer of BERT-large: 4*(768*768+768) + 2*768*3072 + 3072 + 768 + 4*768 = 7,087,872", "wrong"),
        ("BERT-large: word embeddings 30522 * 768 = 23,440,896", "wrong"),
    ],
)
def test_the_count_of_a_smaller_part_is_right_for_that_part_only(text: str, verdict: str) -> None:
    assert [claim.verdict for claim in proofread(text).claims] == [verdict]


@pytest.mark.parametrize(
    ("words", "verdict"),
    [
        ("BERT-base encoder: {count}", "conditional"),
        ("BERT-base encoder: 11 * 7,087,872 = {count}", "conditional"),
        ("BERT-base 的编码器有 {count} 个参数。", "conditional"),
        ("BERT-base without its first layer: the others have {count} parameters.", "right"),
        ("One layer of BERT-base is frozen; the other layers have {count} parameters.", "right"),
        ("BERT-base, layers 1-11: {count}", "right"),
        ("BERT-base, encoder.layer.[1-11]: {count}", "right"),
    ],
)
def test_all_layers_but_one_are_right_only_where_the_words_say_so(words: str, verdict: str) -> None:
    with torch.device("meta"):
        layers = [
            sum(tensor.numel() for tensor in layer.parameters()) for layer in BertModel(BertConfig()).encoder.layer
        ]
    assert [claim.verdict for claim in proofread(words.format(count=f"{sum(layers[1:]):,}")).claims][-1] == verdict
