"""Claims in the style of public notes and articles, compared with transformers' models."""

import pytest

from bertcalc.proofreading.claims import CheckedClaim
from bertcalc.proofreading.proofread import proofread
from tests.proofreading.real_models import LARGE, count, real

CHINESE = {"vocab_size": 21128}
MINILM = {"hidden_size": 384, "num_hidden_layers": 6, "intermediate_size": 1536, "num_attention_heads": 12}


def claims(text: str) -> list[CheckedClaim]:
    return list(proofread(text).claims)


def rights(text: str) -> list[int]:
    """The right values of the numbers that are marked as wrong."""
    return [int(claim.right_value or 0) for claim in proofread(text).of("wrong")]


def test_chinese_commas_separate_thousands() -> None:
    layers, total = count(real().encoder), count(real())
    wide = f"{total:,}".replace(",", "，")
    [claim] = claims(f"BERT-base 总共 {wide} 个参数，都要训练。")
    assert (claim.verdict, int(claim.value), claim.text) == ("right", total, wide)
    product = f"{layers // 12:,} * 12 = {layers:,}".replace(",", "，")
    assert [claim.verdict for claim in claims(f"BERT-base 所有层：{product}")] == ["right"]
    assert not claims("BERT 的形状是（12，512，768）。")


def test_digits_in_groups_of_four_are_one_number() -> None:
    total, pooler = count(real(num_hidden_layers=1, **CHINESE)), count(real().pooler)
    embeddings, layer = count(real(**CHINESE).embeddings), count(real().encoder.layer[0])

    def fours(number: int) -> str:
        return f"{number // 10_000} {number % 10_000:04}"

    text = (
        "BERT，词表 21128，hidden 768，num_hidden_layers = 1\n"
        f"总数：{fours(total)}\n"
        f"{fours(embeddings)} + {fours(layer)} + {fours(pooler)} = {fours(total)}"
    )
    assert [(int(claim.value), claim.verdict) for claim in claims(text)][-2:] == [(total, "right")] * 2
    assert not rights("BERT-base: 训练于 2018 2019\n版本: 2018 2019")


def test_a_term_may_have_its_calculation_behind_it() -> None:
    layer = count(real().encoder.layer[0])
    assert (
        claims(f"BERT-base 一层：4*(768*768+768)+768*4+4,718,592（3072*768*2）+3,840 = {layer:,}")[-1].verdict
        == "right"
    )
    second = real().encoder.layer[0].output.dense
    text = "BERT-base feed forward：\n linear2：w(3072 * 768) + b(768*4=3072) = 2,362,368"
    assert rights(text) == [count(second)]


def test_a_sum_goes_on_in_the_next_line() -> None:
    attention = count(real().encoder.layer[0].attention)
    text = (
        "BERT-base，hidden_size：768，attention 加 LayerNorm：\n"
        "(hidden_size * hidden_size + hidden_size) * 3 +\n"
        f"(hidden_size * hidden_size + hidden_size) + 2 * hidden_size = {attention}"
    )
    assert not rights(text)
    assert rights(text.replace(f"{attention}", f"{attention + 1}"))


def test_a_vocabulary_in_thousands_is_no_slip_of_its_letter() -> None:
    [_vocabulary, claim] = claims("BERT-base (d=768, V=30k):\nEmbeddings: V × d = 30k × 768 ≈ 23M")
    assert claim.verdict == "right"


@pytest.mark.parametrize(
    ("text", "sizes"),
    [
        ("计算 Bert 参数量：总参数量：{total}个，总大小：{bytes}b，约{mib}MB", CHINESE),
        ("BERT: total {total:,} parameters, {bytes:,} bytes, {mib} MB", CHINESE),
        ("A BERT encoder has {total:,} parameters, {bytes:,} bytes, {mib} MB", {"vocab_size": 28996}),
        ("A small BERT for sentences: {total:,} parameters in all, or {bytes:,} bytes, {mib} MB", MINILM),
    ],
)
def test_a_total_says_which_bert_a_text_is_about(text: str, sizes: dict[str, int]) -> None:
    total = count(real(**sizes))
    report = proofread(text.format(total=total, bytes=4 * total, mib=round(4 * total / 2**20)))
    assert report.model is not None
    assert report.model.num_parameters() == total
    assert [claim.verdict for claim in report.claims] == ["right", "right", "conditional"]  # MB instead of MiB


def test_the_count_of_a_class_or_of_the_embeddings_says_which_bert_a_text_is_about() -> None:
    masked, embeddings = count(real("BertForMaskedLM", **CHINESE)), count(real(**CHINESE).embeddings)
    text = f"model = BertForMaskedLM(config)\n# 总参数量: {masked:,}"
    assert proofread(text).preset == "bert-base-chinese"
    assert not rights(text)
    text = f"BERT 的参数：embedding {embeddings:,}，总参数：102,858,240"
    assert rights(text) == [count(real(**CHINESE))]
    named = f"bert-base-uncased has {count(real(**CHINESE)):,} parameters"
    assert proofread(named).preset == "bert-base-uncased"


@pytest.mark.parametrize(
    ("text", "right"),
    [
        (
            "bert-base-chinese 包含 12 层 Transformer 编码器，隐藏层维度为 768，总参数量约为 1.1 亿。",
            count(real(**CHINESE)),
        ),
        ("BERT-base通常参数量较小（约110亿），适用于内存有限的环境", count(real())),
        (
            "XLM-RoBERTa\n\n| 版本 | 参数量 | 层数 |\n|---|---|---|\n| Base | 125M | 12 |",
            count(real("XLMRobertaModel", vocab_size=250002, max_position_embeddings=514, type_vocab_size=1)),
        ),
        ("BERT的参数总量为：23835648 + 28311552 + 56623104 + 38400 = 108808704 ≈ 104M", count(real())),
        ("BERT-base\nlayernorm = 768 * 768 = 589824", count(real().embeddings.LayerNorm)),
        ("BERT-base\n所有Transformer层可训练参数 = 103359744", count(real().encoder)),
        (
            "BERT-base\nname = bert/encoder/layer_0/attention/self/value/bias:0, shape = (768,)所以是768维的向量589824",
            768,
        ),
        (
            "| BERT-base | Parameters |\n|---|---|\n| Attention (12 blocks: Q/K/V/O/biases/LN) | 28,348,416 |",
            12 * count(real().encoder.layer[0].attention),
        ),
    ],
)
def test_a_wrong_count_has_the_right_value(text: str, right: int) -> None:
    assert rights(text) == [right]


@pytest.mark.parametrize(
    ("text", "right"),
    [
        (
            "We fine-tune bert-base-multilingual-cased (110M params) to classify prompts.",
            count(real(vocab_size=119547)),
        ),
        ("Sentence transformer model: all-MiniLM-L6-v2 (33M params)", count(real(**MINILM))),
        ("The encoder is BERT-large (110M).", count(real(**LARGE))),
        ("Use bert-base-uncased (110MB) on a small machine.", 4 * count(real())),
        ("BERT-base (L=12, H=768, A=12, Total Param = 110MB)", 4 * count(real())),
        ("GPT-2\n\n| Part | Params |\n|---|---|\n| 每个块合计 | 7,080,960 |", count(real("GPT2Model").h[0])),
        ("GPT-2 parameter count: 123650000", count(real("GPT2Model"))),
    ],
)
def test_a_number_behind_a_name_is_that_models(text: str, right: int) -> None:
    assert rights(text) == [right]


def test_a_number_behind_the_name_of_an_original_is_not_the_originals() -> None:
    assert not rights("We distill a version of BERT-base (66M parameters). It is smaller than BERT-large (110M).")
    assert not rights("bert-base-uncased (110MB) in int8, after quantization")


def test_a_rounded_step_is_multiplied_further() -> None:
    attention = 12 * sum(count(part) for part in real().encoder.layer[0].attention.children()) - 12 * 2 * 768
    text = f"BERT-base\nAttention (Q, K, V, O): 4 × 768² = 2.4M × 12 = {attention / 10**6:.1f}M"
    assert not rights(text)
    assert rights(text.replace("28.3", "38.3").replace("28.4", "38.4"))


def test_shapes_in_a_list_are_a_sum() -> None:
    layer = real().encoder.layer[0]
    text = (
        "BERT-base\n- output FC:\n[768, 768], [768]\n= 590,592\n- FeedForward 1:\n[768, 3072], [3072]\n= {:,}\n"
        "Transformer * 12\n- total: 12 * {layer} = {layers:,}"
    )
    values = {"layer": count(layer), "layers": 12 * count(layer)}
    assert not rights(text.format(count(layer.intermediate), **values))
    assert rights(text.format(count(layer.intermediate) + 9, **values)) == [count(layer.intermediate)]


def test_a_vocabulary_in_thousands_makes_the_word_embeddings_conditional() -> None:
    [claim] = claims("For BERT-base, token embeddings: 30,000 × 768 = 23,040,000 parameters")
    assert claim.verdict == "conditional"
    assert claim.right_value == count(real().embeddings.word_embeddings)


DISTILLED, WHOLE = count(real("DistilBertModel")), count(real())
XXLARGE = count(
    real("AlbertModel", hidden_size=4096, intermediate_size=16384, num_attention_heads=64, num_hidden_layers=12)
)


@pytest.mark.parametrize(
    ("text", "right"),
    [
        (
            "DistilBERT is a distilled version of BERT; it is {}% smaller than BERT, and fast.",
            100 - 100 * DISTILLED / WHOLE,
        ),
        (
            "Student: DistilBERT (6 layers)\n\nResult: 2× faster, {}% smaller, 97% performance",
            100 - 100 * DISTILLED / WHOLE,
        ),
        ("- DistilBERT: 66M parameters (6 layers, 768 hidden) - {}% of BERT-base", 100 * DISTILLED / WHOLE),
        (
            "ALBERT-xxlarge performs better than BERT-large while having {}% fewer parameters!",
            100 - 100 * XXLARGE / count(real(**LARGE)),
        ),
    ],
)
def test_a_relative_size_is_that_of_the_two_models(text: str, right: float) -> None:
    wrong = next(
        claim for claim in claims(text.format(round(right) + 25)) if claim.text.startswith(f"{round(right) + 25}")
    )
    assert wrong.verdict == "wrong"
    assert float(wrong.right_value or 0) == pytest.approx(right, rel=1e-6)
    assert not proofread(text.format(round(right))).of("wrong")


def test_a_size_without_a_model_is_not_judged_by_the_one_before() -> None:
    assert not rights("DistilBERT retains 97% of BERT's performance. A pruned model is 60% smaller, with no loss.")
    assert not rights("BERT-base is large. TinyBERT is 7.5x smaller and 9.4x faster. Ours is 20% smaller, and faster.")


def test_a_model_has_times_fewer_parameters() -> None:
    ratio = WHOLE / count(real("AlbertModel", hidden_size=768, intermediate_size=3072, num_attention_heads=12))
    assert not rights(f"ALBERT-base has {round(ratio)}x fewer parameters than BERT-base.")
    [claim] = proofread("ALBERT-base has 18x fewer parameters than BERT-base.").of("wrong")
    assert float(claim.right_value or 0) == pytest.approx(ratio)


@pytest.mark.parametrize(
    "text",
    [
        "BERT comes as base and large. Both have larger feedforward-networks ({} and {} hidden units respectively).",
        "BERT base 和 BERT large 的前馈网络（分别为 {} 和 {} 个隐藏单元）更大。",
    ],
)
def test_the_hidden_units_of_base_and_large_are_those_of_the_feed_forward(text: str) -> None:
    widths = [real().config.intermediate_size, real(**LARGE).config.intermediate_size]
    assert rights(text.format(768, 1024)) == widths
    assert not rights(text.format(*widths))


def test_the_units_of_a_feed_forward_network_in_a_paragraph_are_judged() -> None:
    text = (
        "BERT-base has 12 layers, each on top of the other. The feedforward network in it consists of {} hidden units."
    )
    assert rights(text.format(768)) == [real().config.intermediate_size]
    assert not rights(text.format(3072))


@pytest.mark.parametrize(
    "text",
    [
        "BERT-base with LoRA. 可训练参数: 294,912 / 109,777,152 ({}%)",
        "BERT-base: 294,912 of 109,777,152 parameters ({}%) are trained",
        "BERT-base with LoRA: trainable% is {}% (trainable params: 294,912 || all params: 109,777,152)",
    ],
)
def test_a_percentage_is_the_share_of_the_two_numbers_beside_it(text: str) -> None:
    assert not proofread(text.format("0.27")).of("wrong")
    [claim] = proofread(text.format("2.7")).of("wrong")
    assert float(claim.right_value or 0) == pytest.approx(100 * 294_912 / 109_777_152)


def test_a_written_linear_has_biases() -> None:
    dense = count(real().pooler)
    [claim] = claims(f"BERT 的输出投影：`nn.Linear(768, 768)` → {dense:,}个（含bias）")
    assert claim.verdict == "right"
    assert rights(f"BERT-base query: (768, 768) → {dense:,}")  # a shape alone has no bias


def test_the_total_of_a_texts_model_is_right_beside_another_name() -> None:
    total = count(real(**CHINESE))
    text = f'model = BertModel.from_pretrained("bert-base-chinese")\n# 实际参数个数为{total} = 0.1B（bert_base版本）'
    assert not rights(text)


def test_a_calculation_with_the_teachers_size_is_the_teachers() -> None:
    text = (
        "目标：BERT-base（440MB）→ 移动端模型\n\n学生模型架构（4层BERT变体）：\n- 层数：4层\n- 隐层维度：384\n"
        "- FFN维度：1536\n\n- Embedding层：30522×768≈23M"
    )
    assert not rights(text)


def test_field_names_of_gpt_2_are_no_bert() -> None:
    gpt = real("GPT2Model", vocab_size=50304, n_positions=1024, n_layer=16)
    table = count(gpt.get_submodule("wte"))
    text = (
        "- n_layer = 16\n- n_embd = 768\n- n_head = 12\n- vocab_size = 50,304\n- block_size = 1024\n\n"
        f"Token embeddings: 50,304 × 768 = {table:,}\nAll layers: 16 × 12 × 768² = 113,246,208\n"
        f"LM head: 768 × 50,304 = {table:,}\n\nTotal: = {2 * table + 113_246_208 + 786_432:,}"
    )
    assert proofread(text).assumed
    assert not rights(text)


def test_memory_of_a_stated_count_is_not_compared_with_the_models() -> None:
    sizes = "Model: 600 MB\nGradients: 600 MB\nOptimizer (Adam): 1200 MB"
    text = f"GPT-2 small has 124M parameters.\n\n**Example (150M params, FP32):**\n{sizes}"
    assert not rights(text)
    total = count(real("GPT2Model"))
    assert rights(f"GPT-2 training (FP32):\nOptimizer (Adam): {4 * total / 1e6:.0f} MB") == [8 * total]


def test_a_repeated_result_of_lora_is_not_compared_with_other_targets() -> None:
    text = (
        "LoRA on GPT-2 small, r = 8, per projection: 8 * (768 + 768) = 12,288.\n"
        "Per attention (Q, K, V, O): 4 * 12,288 = 49,152.\nPer layer: **49,152** params."
    )
    assert not rights(text)


def test_a_wrong_chain_shows_its_sides_as_numbers() -> None:
    [claim] = proofread("BERT: 2*768*3072 = 768*3071 + 2").of("wrong")
    assert str(claim.reason) == "The calculation gives 4,718,592, not 768 × 3,071 + 2 = 2,358,530."


@pytest.mark.parametrize(
    ("name", "architecture", "sizes"),
    [
        ("Longformer", "LongformerModel", {}),
        ("MobileBERT", "MobileBertModel", {}),
        ("SqueezeBERT", "SqueezeBertModel", {}),
        ("ConvBERT-base", "ConvBertModel", {}),
        ("LayoutLM", "LayoutLMModel", {}),
        ("TinyBERT6", "BertModel", {"num_hidden_layers": 6}),
        ("BERT-PKD", "BertModel", {"num_hidden_layers": 6}),
        ("KoBERT", "BertModel", {"vocab_size": 8002}),
        ("I-BERT", "RobertaModel", {}),
    ],
)
def test_the_total_of_a_model_that_is_not_known_is_not_compared_with_berts(
    name: str, architecture: str, sizes: dict[str, int]
) -> None:
    millions = round(count(real(architecture, **sizes)) / 10**6)
    assert not rights(f"BERT-base has 110M parameters, while {name} has only {millions}M parameters.")
    assert not rights(f"| model | params |\n|---|---|\n| BERT-base | 110M |\n| {name} | {millions}M |")
    assert rights(f"{name} has {millions}M parameters, while BERT-base has 85M parameters in all.")
