"""Claims in the style of public notes and articles, compared with transformers' models."""

from fractions import Fraction

import pytest
import torch

from bertcalc.proofreading.claims import CheckedClaim
from bertcalc.proofreading.proofread import proofread
from tests.proofreading.real_models import LARGE, ROBERTA, count, real

CHINESE = {"vocab_size": 21128}
DEBERTA_V3 = {
    "vocab_size": 128100,
    "hidden_size": 768,
    "num_hidden_layers": 12,
    "num_attention_heads": 12,
    "intermediate_size": 3072,
    "type_vocab_size": 0,
    "max_relative_positions": -1,
    "relative_attention": True,
    "position_buckets": 256,
    "position_biased_input": False,
    "pos_att_type": "p2c|c2p",
    "share_att_key": True,
    "norm_rel_ebd": "layer_norm",
}
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
    [claim] = claims("BERT-base model size is 110MB.")
    assert (claim.verdict, claim.right_value) == ("conditional", Fraction(4 * count(real())))


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


def test_a_page_that_lost_its_plus_signs_is_read() -> None:
    table, projection = 30000 * 128, 128 * 4096
    text = (
        f"ALBERT-xxlarge：V * E   E * H = 30000*128 128*4096 = {table // 10_000}万   {projection // 10_000}万 = 436万"
    )
    assert not rights(text)
    assert rights(text.replace("384万", "284万"))


def test_the_style_of_a_model_is_not_its_name() -> None:
    patches = count(real("ViTModel", add_pooling_layer=False)) / 10**6
    text = f"# ViT-Base\n\nPer block (same as GPT-2-style): LN1: 1,536\n\nTotal: ~{patches:.1f}M parameters"
    assert proofread(text).model is None
    assert not rights(text)


def test_labels_that_a_program_prints_name_parts() -> None:
    layers = count(real("DistilBertModel").transformer)
    lines = ("Per layer total: ~5,310,000", "6 layers total: 6 × 5,310,000 = 31,860,000")
    text = "\n".join(("DistilBERT", *(f'print("   - {line}")' for line in lines)))
    assert rights(text) == [layers // 6, layers]
    assert not rights(text.replace("5,310,000", f"{layers // 6:,}").replace("31,860,000", f"{layers:,}"))


def test_a_total_for_each_layer_is_a_layer() -> None:
    layers = count(real().encoder)
    text = (
        "# BERT\nTotal Parameters per Encoder Layer: 8.8M (self-attention) + 4.6M (FFN) ≈ 13.4M parameters\n"
        "Total Parameters for all 12 Encoder Layers: 12 x 13.4M ≈ 160.8M parameters"
    )
    assert rights(text)[-2:] == [layers // 12, layers]


def test_the_label_of_a_row_decides_among_the_parts_that_its_cells_list() -> None:
    layer = count(real().encoder.layer[0])
    table = "BERT-base\n\n| Component | Specification | Parameters |\n|---|---|---|\n"
    row = "| **Encoder Layer 1** | MHSA ($4d^2$) + FFN ($8d^2$) + LayerNorms | {:,} |"
    assert rights(table + row.format(7_161_667)) == [layer]
    assert not rights(table + row.format(layer))


def test_words_before_a_share_name_the_count_in_brackets_behind_it() -> None:
    norms = sum(count(module) for module in real().modules() if type(module).__name__ == "LayerNorm")
    text = "BERT-base\n  LayerNorm:    0.1%  (12 × 4 × 1,536 + 1,536 = 75,264)"
    assert rights(text) == [norms]
    assert not rights("BERT-base\n  LayerNorm:    0.04%  (12 × 2 × 1,536 + 1,536 = 38,400)")


def test_bert_without_a_size_may_be_bert_large_in_chinese_too() -> None:
    large = round(count(real(**LARGE)) / 10**7) * 10
    text = f"BERT模型的参数量大约是{large}M个参数。BERT-Base具有110M个参数，BERT-Large更大。"
    assert not rights(text)
    assert rights(text.replace(f"{large}M", "250M"))


def test_embeddings_with_a_projection_are_compared_with_both_counts() -> None:
    albert = real("AlbertModel", hidden_size=2048, num_attention_heads=16, intermediate_size=8192, num_hidden_layers=24)
    table = "| Model | Params | Embedding |\n|---|---|---|\n| ALBERT-xlarge | 60M | {}M |"
    embeddings = count(albert.embeddings)
    projection = count(albert.encoder.embedding_hidden_mapping_in)
    assert rights(table.format(8)) == [embeddings]
    for right in (embeddings, embeddings + projection):
        assert not rights(table.format(f"{right / 10**6:.1f}"))


def test_the_bytes_of_a_wrong_count_in_a_row_are_wrong() -> None:
    total = count(real("DebertaV2Model", **DEBERTA_V3))
    table = "| Model | Precision | Parameters | Weights |\n|---|---|---|---|\n| DeBERTa-v3-base | FP32 | {} | {} MB |"
    assert rights(table.format("124.4M", "497.6")) == [total, 4 * total]
    assert not rights(table.format(f"{total / 10**6:.1f}M", f"{4 * total / 10**6:.1f}"))


def test_a_count_below_the_product_in_its_row_is_wrong() -> None:
    table = "BERT-base\n\n| Layer | Math | Parameters |\n|---|---|---|\n"
    row = "| Token Classifier Head | Linear Projection ($768 \\times 42 + 42$) | {:,} |"
    assert rights(table + row.format(768 * 42)) == [768 * 42 + 42]
    assert not rights(table + row.format(768 * 42 + 42))
    assert not rights(table + "| Query with LoRA | Linear ($768 \\times 768 + 768$) | 12,288 |")


def test_the_result_of_a_subtraction_is_not_the_whole_model() -> None:
    base, multilingual = count(real()), count(real(vocab_size=119547))
    rest = base - 30522 * 768
    text = (
        f"# BERT-Base, Multilingual Cased and BERT-Base, Uncased\n\n{base:,} - 30,522 * 768 = {rest:,}\n"
        f"{multilingual:,} - 119,547 * 768 = {rest:,}"
    )
    assert not rights(text)
    assert rights(text.replace(f"= {rest:,}", f"= {rest + 768:,}")) == [rest, rest]


def test_the_last_row_of_a_table_of_ranks_may_be_full_fine_tuning() -> None:
    text = (
        "LoRA on bert-base-uncased, query and value\n\nRank | Params | Memory\n-----|--------|-------\n"
        "16 | 1.18M | 1.9 GB\n32 | 2.36M | 2.7 GB\nFull | 110M | 4.5 GB"
    )
    assert rights(text) == [12 * 2 * 16 * 2 * 768, 12 * 2 * 32 * 2 * 768]


def test_a_variant_of_a_model_has_its_own_sizes() -> None:
    small = real(hidden_size=384, num_hidden_layers=4, intermediate_size=1536, num_attention_heads=6)
    text = (
        "目标：BERT-base → 移动端模型\n\n**学生模型架构**（4层BERT-small变体）：\n- 层数：4层\n- 隐层维度：384\n"
        "- 注意力头数：6\n- FFN维度：1536\n- 参数量：约{}M"
    )
    assert not rights(text.format(f"{count(small) / 10**6:.1f}"))
    assert "right" not in [claim.verdict for claim in claims(text.format(29)) if claim.value == 29_000_000]


def test_a_product_with_the_feed_forward_width_is_no_attention() -> None:
    text = "BERT-base, feed-forward\n\nParameters per layer = (768 × 3,072 + 3,072) = 2,362,368"
    [claim] = claims(text)
    assert (claim.verdict, str(claim.counts)) == ("right", "first matrix of the feed-forward network of one layer")


def test_albert_xxl_is_albert_xxlarge() -> None:
    [claim] = claims("| Model | Params |\n|---|---|\n| ALBERT-XXL | 223M |")
    assert claim.verdict == "right"


def test_a_mistake_that_the_text_rules_out_leaves_the_label() -> None:
    sizes = {"hidden_size": 256, "intermediate_size": 1024, "num_attention_heads": 4, "num_hidden_layers": 12}
    layers = count(real("ElectraModel", **sizes).encoder)
    gates = 12 * 256 * 1024  # a third matrix in each layer, although no word names a gate
    assert rights(f"electra-small-discriminator, all 12 layers: {layers + gates:,}") == [layers]


@pytest.mark.parametrize(
    "shape", ["({rows}, {columns})  ", "| [{rows} × {columns}] | ", "torch.Size([{rows}, {columns}])  "]
)
def test_the_elements_of_the_shape_in_a_row_are_right(shape: str) -> None:
    columns, rows = real().encoder.layer[0].intermediate.dense.weight.shape
    text = f"GPT-2 small, one block\n\nMLP c_fc   {shape.format(rows=rows, columns=columns)}{{:,}}"
    assert not rights(text.format(rows * columns))
    row = "| wq, wk, wv, wo | [768 × 768] × 4 | 2,359,296 |"
    assert not rights(f"GPT-2 small\n\n| Tensors | Shape | Parameters |\n|---|---|---|\n{row}")


def test_a_result_with_biases_beside_a_product_without_them_is_conditional() -> None:
    dense = real().encoder.layer[0]
    feed_forward = count(dense.intermediate) + count(dense.output.dense)
    [claim] = claims(f"BERT-base. FFN parameters = 768 × 3072 + 3072 × 768 = {feed_forward:,}")
    assert (claim.verdict, claim.right_value) == ("conditional", Fraction(feed_forward))
    assert "leaves out the biases" in str(claim.reasons[0])


def test_the_shape_of_a_product_of_matrices_is_no_count() -> None:
    assert not rights("BERT-base. QK^T: (512 × 64) × (64 × 512) = 512 × 512, then (512 × 512) × (512 × 64) = 512 × 64")
    assert rights("BERT-base. (512 × 64) × (64 × 512) = 512 × 511")


def test_printed_lines_are_read_as_text() -> None:
    attention = count(real().encoder.layer[0].attention.self) + count(real().encoder.layer[0].attention.output.dense)
    text = (
        'print("BERT-base:")\nprint("\\n2. Transformer layers (each):")\n'
        'print("   - Self-attention: 768 × 768 = 589,824")\n'
        'print("\\n4. Final Classification Layer:")\nprint("   - Parameters: ~768 × 2 = 1,536")'
    )
    found = proofread(text).of("wrong")
    assert [claim.right_value for claim in found] == [attention, 2 * 769]
    assert [text[claim.start : claim.end] for claim in found] == ["768 × 768 = 589,824", "768 × 2 = 1,536"]


def test_one_matrix_is_not_the_whole_attention() -> None:
    layer = real().encoder.layer[0].attention
    assert rights("BERT-base, one layer\n- Self-attention: 768 × 768 = 589,824") == [
        count(layer.self) + count(layer.output.dense)
    ]
    assert not rights("BERT-base, one layer\n- Self-attention, each matrix: 768 × 768 = 589,824")


def test_a_class_in_brackets_behind_a_count_is_counted() -> None:
    total = count(real("BertForMaskedLM"))
    text = "Full fine-tuning of bert-base-uncased trains all {:.1f}M parameters (`BertForMaskedLM`, AdamW)."
    assert not rights(text.format(total / 10**6))
    assert rights(text.format(109.8)) == [total]


def test_a_label_may_multiply_the_layers() -> None:
    layers = count(real(**LARGE).encoder)
    text = "bert-large-uncased\n\n24 × Layers:   24 × {}M = {}M"
    assert rights(text.format(11, 264)) == [layers]
    assert not rights(text.format("12.6", "302.4"))


def test_a_total_below_the_sum_of_its_lines_is_wrong() -> None:
    text = "My encoder\n```\nEmbeddings: 98M\nLayers: 85M\n-----\nTotal: {}\n```"
    [claim] = proofread(text.format("128M")).of("wrong")
    assert claim.right_value == 183_000_000
    assert not rights(text.format("183M"))
    assert not rights("My model\n\nWords: 38M\nLayers: 85M\nDecoder (tied): 38M\nTotal: 123M")  # a sum of some lines


def test_a_label_may_join_two_parts() -> None:
    text = "# BERT-base, embeddings\n\n* Segment Embeddings & LayerNorm: it normalizes.\n   Parameters = {}"
    assert not rights(text.format("(2 × 768) + (2 × 768) = 3,072"))


def test_a_pooler_of_a_model_without_one_is_wrong_before_other_models() -> None:
    text = "DistilBERT\n\n3. Pooling Layer:\n   - Parameters: 768 × 768 = 589,824\n\nBERT-base has 110M parameters."
    assert rights(text) == [0]


def test_parameters_outside_the_embeddings_are_counted() -> None:
    model = real()
    outside = count(model) - count(model.embeddings)
    text = "BERT-base\n\nNon-embedding parameters: {:,}"
    assert not rights(text.format(outside))
    assert not rights(text.format(count(model) - count(model.embeddings.word_embeddings)))
    assert rights(text.format(outside - 51_000)) == [outside]


def test_a_list_with_lines_for_biases_counts_matrices_apart() -> None:
    layer = real().encoder.layer[0].attention
    lines = "* Q = 589,824\n* K = 589,824\n* V = 589,824\n* Q/K/V bias = 768 × 3 = 2,304\n"
    text = f"BERT-base, self-attention of one layer\n\n{lines}* Output dense = 589,824\n* Output bias = 768"
    assert not rights(text)
    assert rights(text.replace("* Output dense = 589,824", f"* Query = {count(layer.self.query) + 999:,}"))


def test_biases_that_follow_at_the_end_are_not_missing() -> None:
    text = (
        "BERT-base. {}\n\n1. One attention sublayer $= 4 \\times 768^2 = 2{{,}}359{{,}}296$.\n"
        "2. One block $= 2{{,}}359{{,}}296 + 4{{,}}722{{,}}432 + 3{{,}}072 = 7{{,}}084{{,}}800$."
    )
    assert not rights(text.format("Attention projection biases are counted separately at the end."))
    assert rights(text.format("The attention has four projections."))


def test_a_column_of_an_unlisted_model_is_not_judged_by_another() -> None:
    row = "| Embeddings | 92,208,384 | 23,436,288 |"
    table = f"bert-base-multilingual-cased\n\n| Part | mBERT | {{}} |\n|---|---:|---:|\n{row}"
    assert not rights(table.format("CAMeLBERT"))
    assert rights(table.format("bert-base-uncased"))


def test_a_difference_in_a_row_explains_its_count() -> None:
    total = count(real())
    row = "| Model | Parameters | Delta |\n|---|---:|---:|\n| BERT with 4 case states | {:,} | {} |"
    assert not rights("bert-base-uncased\n\n" + row.format(total + 3072, "+3,072"))
    assert rights("bert-base-uncased\n\n" + row.format(total + 3072, "+1"))


def test_the_sizes_in_a_heading_describe_the_model_that_the_text_names() -> None:
    blocks = count(real(hidden_size=384, num_hidden_layers=16, intermediate_size=1536, num_attention_heads=6).encoder)
    text = (
        "GPT-2 in two sizes\n\n### `d=384`, `L=16`, `n_head=6`\n\n| Component | Params |\n|---|---:|\n"
        f"| Transformer blocks (x16) | {blocks:,} |\n| Token embedding | {50257 * 384:,} |\n"
        f"| Positional embedding | {{:,}} |\n\n### `d=768`, `L=12`, `n_head=12` (GPT-2 Small)\n\ntext"
    )
    assert not rights(text.format(1024 * 384))
    assert rights(text.format(512 * 384))


def test_a_stated_width_of_the_feed_forward_changes_the_model() -> None:
    changed = real(intermediate_size=3376)
    text = "# GPT-2 of 130M\n\nTotal: {:,}. The original has 124M; we increase the MLP width to **3376**.\n\nMLP: {:,}"
    wider = 2 * 768 * (3376 - 3072) + 3376 - 3072
    mlp = 12 * (count(changed.encoder.layer[0].intermediate) + count(changed.encoder.layer[0].output.dense))
    assert not rights(text.format(124_439_808 + 12 * wider, mlp))


def test_the_width_beside_a_number_may_be_anothers() -> None:
    text = "GPT-2 Small. **FFN has ~2.1M parameters for d_model={}!**"
    assert not rights(text.format(512))
    assert rights(text.format(768))


def test_a_calculation_with_other_sizes_is_not_of_this_model() -> None:
    text = "GPT-2 large has 774M parameters. With {} 1600, tokens: 50,257 × 1600 = 80,411,200."
    assert not rights(text.format("d_model ="))
    assert not rights("GPT-2 large. One attention: 4 × 1600² = 10,240,000.")


@pytest.mark.parametrize("amount", ["39.3 \\text{万}", "39.3万", "0.39m", "0.39M"])
def test_a_unit_may_be_set_as_text_or_in_lower_case(amount: str) -> None:
    assert not rights(f"BERT-base：位置嵌入 $512 \\times 768 = 393{{,}}216 \\approx {amount}$")
    assert rights(f"BERT-base：位置嵌入 $512 \\times 768 = 393{{,}}216 \\approx {amount.replace('39', '49')}$")


def test_operands_may_be_in_ten_thousands() -> None:
    assert not rights("BERT-base：每层 attn(236万)+ffn(472万)=708万，一共12层，708*12 = 85m")
    assert rights("BERT-base：每层 attn(236万)+ffn(472万)=708万，一共12层，708*12 = 95m")


def test_the_tied_output_matrix_has_no_mistyped_digit() -> None:
    [*_others, claim] = claims(
        "GPT-2 small\n\n* **Output head:** `emb_dim × vocab_size = 768 × 50257 = 38{,}597{,}376`"
    )
    assert claim.verdict != "wrong"


def test_a_condition_is_not_called_a_mistake() -> None:
    [claim] = claims("BERT-base：12层，每层约7.08M，12×7.08M=84.96M")[-1:]
    assert claim.verdict == "conditional"
    assert str(claim.reasons[0]).endswith("This number fits if the biases of attention and feed-forward are left out.")


def test_the_parts_behind_the_last_name_are_that_models() -> None:
    text = "BERT-large has 340M parameters, BERT-base 110M: the embeddings take 23.8M, each layer {} and the pooler {}."
    assert not rights(text.format("7.1M", "0.6M"))
    assert rights(text.format("7.1M", "0.7M"))


@pytest.mark.parametrize(
    ("text", "sizes"),
    [
        ("骨干：bert-base-chinese（Google 发布，12 层 Transformer，768 维隐藏层，1.1 亿参数）", CHINESE),
        ("bert-base-chinese (12 layers, 768 hidden, 110M parameters) is fine-tuned.", CHINESE),
        (
            "| 层级 | 工具 |\n|---|---|\n| 模型 | `google-bert/bert-base-chinese`（12 层，768 维，1.1 亿参数） |",
            CHINESE,
        ),
        ("Google的BERT-large模型参数规模已经达到了34亿，是当时最大的编码器。", LARGE),
    ],
)
def test_a_total_behind_the_sizes_of_its_model(text: str, sizes: dict[str, int]) -> None:
    right = count(real(**sizes))
    assert rights(text) == [right]
    wide = text.replace("bert-base-chinese", "bert-base-uncased").replace("34亿", "3.4亿")
    assert not rights(wide)


def test_the_heads_lack_biases_that_the_text_counts_elsewhere() -> None:
    attention = real().encoder.layer[0].attention.self
    right = sum(map(count, (attention.query, attention.key, attention.value)))
    text = "BERT-base 多头分成12份。\n\n单个head的参数是 768 * 64 * 3\n\n12个head就是 768 * 768/12 * 3 * 12\n\n{}"
    assert rights(text.format("前馈第一层：768 * 3072 + 3072 = 2362368")) == [right // 12, right]
    assert not rights(text.format("词表：30522 * 768"))
    weights = text.replace("的参数", "的权重").replace("head就是", "head的权重是")
    assert not rights(weights.format("前馈第一层：768 * 3072 + 3072 = 2362368"))


def test_a_row_may_name_a_variable_of_tensorflow() -> None:
    bias = real().encoder.layer[0].attention.self.value.bias
    text = "| 参数 | 说明 | 参数量 |\n|---|---|---|\n"
    text += "| name = bert/encoder/layer_0/attention/self/value/bias:0, shape = (768,) | 偏置 | {} |"
    assert rights(text.format(768 * 768)) == [bias.numel()]
    assert not rights(text.format(bias.numel()))


def test_a_size_that_repeats_a_wrong_one_is_wrong_again() -> None:
    text = (
        "BERT-base\n\n12 * (768 * 3072 + 3072 * 768) = 56623104\n"
        "16621056 + 2359296 + 56623104 + 38400 = 75641856\n75641856 / 1024 / 1024 = 72.1 MB\n\n"
        "# Summary\n\nabout 75641856, {} MB"
    )
    *_counts, size, _count, again = rights(text.format("72.1"))
    assert again == size
    assert rights(text.format("302.6")).count(size) == 1


@pytest.mark.parametrize("subscript", ["{\\text{model}}", "{\\mathrm{model}}", "{model}", "model"])
def test_a_subscript_is_part_of_a_size(subscript: str) -> None:
    tokens = "$50{,}257 \\times 1600 = 80{,}411{,}200$"
    assert not rights(f"GPT-2 large has 774M parameters. Another has $d_{subscript} = 1600$: tokens {tokens}.")


@pytest.mark.parametrize(
    "text",
    [
        "BERT-base\n- Full model: 109,482,240\n- LoRA rank 8: 294,912\n- Total trainable: 296,450",
        "- teacher: 110M\n- student: 14.5M\n- Total per device: 20M",
        "- Teacher: 300M\n- Student: 110M\n- Summarizer: 60M",
        "- BERT-base: 110M\n- DistilBERT: 66M\n- Total: 70M",
    ],
)
def test_lines_that_are_not_terms_have_no_sum(text: str) -> None:
    assert not [claim for claim in proofread(text).of("wrong") if "add up" in str(claim.reasons[0])]


def test_the_total_of_a_larger_model_is_the_sum_of_its_rows() -> None:
    head = torch.nn.Linear(768, 512), torch.nn.Linear(512, 5)
    parts = {
        "Embeddings": count(real().embeddings),
        "Encoder": count(real().encoder),
        "Pooler": count(real().pooler),
        "Situation MLP": count(head[0]),
        "Option head": count(head[1]),
    }
    total = sum(parts.values())
    rows = "\n".join(f"| {name} | {number:,} |" for name, number in parts.items())
    table = f"BERT-base\n\n| Component | Parameters |\n|---|---|\n{rows}\n| **TOTAL** | {{}} |"
    for written in (f"{total:,}", f"≈ {total / 10**6:.1f} million"):
        claim = claims(table.format(written))[-1]
        assert (claim.verdict, "sum of the lines above" in claim.reason) == ("unknown", True)
    assert rights(table.format(f"{total + 10**6:,}")) == [count(real())]
    lines = "\n".join(f"{name}: {number:,}" for name, number in parts.items())
    assert not rights(f"BERT-base\n{lines}\nTotal params: {total:,}")


def test_a_rounded_total_may_leave_out_small_parts() -> None:
    matrices = sum(tensor.numel() for tensor in real().parameters() if tensor.dim() > 1) - 768 * 768
    text = f"BERT-base 总计：23.8 + 85 ≈ {matrices / 10**6:.1f}M ≈ 110M"
    claim = claims(text)[-1]
    assert (claim.verdict, claim.right_value) == ("conditional", Fraction(count(real())))
    assert rights(f"BERT-base 总计：{matrices:,}") == [count(real())]
    assert rights("BERT-base 总计：107.8M") == [count(real())]


def test_bytes_of_a_stated_count_name_that_count() -> None:
    for text in ("110M params × 4 bytes = 440MB", "110 × 10^6 × 4 bytes = 440 MB"):
        claim = claims(f"BERT-base: {text}")[-1]
        assert (claim.verdict, "110,000,000 parameters of 4 bytes" in claim.reason) == ("right", True)
    assert claims("BERT-base: 130M × 4 bytes = 520 MB")[-1].verdict == "unknown"


def test_bytes_with_a_wide_space_before_their_unit_are_calculated() -> None:
    for product in ("128 × 32 × 768 × 12 × 4  字节", r"$128 \times 32 \times 768 \times 12 \times 4 \text{ bytes}$"):
        assert rights(f"BERT-base 激活值占用的显存为 {product} ≈ 1.5 GB") == [128 * 32 * 768 * 12 * 4]
        assert not rights(f"BERT-base 激活值占用的显存为 {product} ≈ 151 MB")


def test_a_size_in_brackets_belongs_to_the_name() -> None:
    assert rights("BERT(base)的参数量是110M,BERT(large)的参数量是380M。") == [count(real(**LARGE))]


def test_a_count_in_other_digits_repeats_the_one_before_it() -> None:
    assert rights("BERT-Base:具有110M个参数,约1.15亿参数量。") == [count(real())]
    assert not rights("BERT-base has 110M parameters, about 109.5 million.")


def test_memory_of_training_is_not_the_size_of_the_weights() -> None:
    text = "Training per phase (bf16, gradient checkpointing, batch_size=64): ~4GB for BERT, ~5GB for ModernBERT."
    assert not rights(text)
    assert rights("Weights (bf16): 0.3 GB for BERT-base, 5 GB for ModernBERT")


def test_a_running_total_is_not_the_total() -> None:
    wte, wpe, layers = (count(part) for part in (real("GPT2Model").wte, real("GPT2Model").wpe, real("GPT2Model").h))
    assert not rights(f"GPT-2\n\n| Part | Parameters |\n|---|---|\n| **So far** | {wte + wpe + layers:,} |")
    total = count(real("GPT2Model"))
    sums = (
        f"The rows sum exactly: {wte:,} (wte) + {wpe:,} (wpe) + {layers:,} (12 blocks)\n+ 1,536 (ln_f) + 0 = {total:,}."
    )
    assert not rights(f"GPT-2 small.\n{sums}")


def test_an_example_behind_a_count_has_that_count() -> None:
    assert rights("如果模型有1.5亿个参数(如BERT-Base),使用FP32精度。") == [count(real())]
    assert not rights("Suppose a model has 110M parameters (such as BERT-base).")


def test_parameters_outside_the_embeddings_are_the_models() -> None:
    gpt2 = real("GPT2Model")
    outside = count(gpt2) - count(gpt2.wte) - count(gpt2.wpe)
    rows = f"GPT-2 small\nTotal Parameters{' ' * 36}124,439,808\nNon-embedding Parameters{' ' * 28}{{:,}}"
    assert not rights(rows.format(outside))
    assert rights(rows.format(outside - 10_000)) == [outside]


def test_lora_in_a_table_has_the_rank_of_its_row() -> None:
    rows = "| LoRA rank | 8 |\n| LoRA target modules | `q`, `v` |\n| LoRA α | 8 (α/r = 1) |\n| LoRA parameters | {:,} |"
    assert not rights(f"MPNet-base\n\n| Setting | Value |\n|---|---|\n{rows.format(12 * 2 * 8 * (768 + 768))}")
    adapted = count(real("RobertaModel", **ROBERTA)) + 12 * 2 * 4 * (768 + 768)
    lines = f"- Total Params : {adapted}\n- Trainable Params : 147456 (0.12%)\n- Ranks (r) : 4"
    assert not rights(f"A reimplementation of LoRA.\n\nWe touch `RobertaModel`'s query and value.\n{lines}")


def test_the_layers_that_get_adapters_are_not_the_models() -> None:
    text = "roberta-base, {} parameters\nLoRA Rank: 8\nLayers to Transform: [9, 10, 11]\nNumber of Layers: 3"
    assert not rights(text.format(f"{count(real('RobertaModel', **ROBERTA)):,}"))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("BERT-base\nattention：\n layer_norm：w (768) + b(768)=1536", "a LayerNorm"),
        ("BERT-base\n│    └─LayerNorm: 3-4    [1, 64, 768]    1,536", "a LayerNorm"),
        ("GPT-2\nPer Transformer Block:\n  LayerNorm 1    (768,) × 2    1,536", "a LayerNorm"),
        ("GPT-2\nfinal LayerNorm: 2 × 768 = 1,536", "LayerNorm after the last layer"),
        ("BERT embedding LayerNorm: 1,536", "LayerNorm of the embeddings"),
        ("BERT-base token type embeddings: 1,536", "token type embeddings"),
    ],
)
def test_a_layer_norm_has_the_place_that_the_words_state(text: str, reason: str) -> None:
    assert [(claim.verdict, str(claim.reason)) for claim in claims(text)][-1] == ("right", reason)


def test_a_comment_that_repeats_a_sum_is_checked() -> None:
    code = "# ALBERT-base\nembed_params = 30000 * 128 + 128 * 768  # {:,} + {:,} = {:,}"
    assert not rights(code.format(30000 * 128, 128 * 768, 30000 * 128 + 128 * 768))
    assert rights(code.format(3_936_384, 128 * 768, 3_936_384 + 128 * 768)) == [30000 * 128 + 128 * 768]


def test_a_total_identifies_the_model_of_a_text_without_names() -> None:
    model = real(**CHINESE)
    text = "# linear1: w(768 * 3072) + b(768) = 2,360,064\n# 总的参数量：{} = {:,}"
    parts = " + ".join(f"{count(part):,}" for part in (model.embeddings, model.encoder, model.pooler))
    assert rights(text.format(parts, count(model))) == [count(model.encoder.layer[0].intermediate)]


def test_a_running_sum_goes_on_from_its_result() -> None:
    attention = real().encoder.layer[0].attention
    with_norm = count(attention)
    text = f"BERT-base attention: 4 × 590,592 = {with_norm - 1536:,} + 1,536 = {{:,}}"
    assert not rights(text.format(with_norm))
    assert rights(text.format(with_norm + 9))


def test_a_product_with_another_models_width_is_not_the_students() -> None:
    text = (
        "把 BERT-base 蒸馏为学生模型：\n- 隐藏层维度：384（原768的1/2）\n- 层数：6\n- FFN维度：1536\n\n"
        "**敏感性分析**：\n- **Embedding层**：参数多（30522×768≈23M）但对量化不敏感"
    )
    assert not rights(text)


def test_bytes_of_a_single_vector_are_bytes() -> None:
    assert not rights(
        "BERT-base\n\n| Thing | Size | Calculation |\n|---|---|---|\n| one embedding | 1 KB | 256 × 4 = 1024 B |"
    )


def test_the_size_without_the_embeddings_is_not_the_models() -> None:
    assert not rights("借助量化，BERT-base 非嵌入表部分的模型大小从 350 MB（FP32 模型）减少到 90 MB（INT8 模型）。")


def test_a_chinese_base_is_the_chinese_model() -> None:
    total = count(real(**CHINESE))
    assert not rights(f"中文BERT-Base的参数量经计算为{total / 10**6:.1f}M，而谷歌英文BERT-Base参数量为110M。")
    assert rights("中文BERT-Base的参数量为122.3M") == [total]


def test_a_share_of_the_row_with_all_parameters_is_not_wrong() -> None:
    text = "BERT-base 的一个矩阵：\n原始：768×768 = 589,824 参数（100%）\nLoRA： 768×8 + 8×768 = 12,288 参数（2.1%）"
    assert not rights(text)
    assert not rights("BERT-large has 334M parameters. ALBERT-xxlarge has 223M, 67% of those of BERT-large.")


def test_a_maximum_length_of_training_does_not_change_the_model() -> None:
    model = real("DistilBertForSequenceClassification")
    head = count(model.pre_classifier, model.classifier)
    adapted = count(model) + head + 6 * 2 * 8 * (768 + 768)  # PEFT keeps a second copy of the trained head
    settings = "Backbone: `distilbert-base-uncased`. fp16, bs=32, max_len=128, LoRA r=8 on q_lin and v_lin."
    trained = head + 6 * 2 * 8 * (768 + 768)
    assert not rights(f"{settings}\n- Verified: total {adapted:,}; trainable {trained:,}; adapter {trained - head:,}")


def test_distilgpt2_has_a_hyphen_in_some_texts() -> None:
    assert rights("DistilGPT-2 has 150M parameters.") == [count(real("GPT2Model", n_layer=6))]
    assert not rights("DistilGPT-2 has 82M parameters.")


@pytest.mark.parametrize(
    "text",
    [
        "bert-base-uncased has 110M parameters (like RoBERTa-base).",
        "GPT-2 has 124M parameters (such as BERT-base).",
        "```diff\n- BERT-base parameters: 119,482,240\n+ 109,482,240\n```",
        "BERT-base: Encoder 85,054,464 of 109,482,240",
    ],
)
def test_numbers_that_are_right_beside_similar_words_stay_right(text: str) -> None:
    assert all(claim.verdict in ("right", "conditional") for claim in claims(text) if "119" not in claim.text)


@pytest.mark.parametrize(
    ("text", "right"),
    [
        ("BERT-base total: 119,482,240\n+ (see below)", count(real())),
        ("The largest BERT so far: BERT-large total 390,141,888 parameters", count(real(**LARGE))),
        ("BERT-base:\nEncoder: 85,054,464\nOther: 54,945,536\nBERT-base total: 140,000,000", count(real())),
        ("BERT-base in fp16: 110M × 4 bytes = 440 MB", 2 * count(real())),
        (
            "BERT-base FFN: from 4096 to 768: 4096 × 768 = 3,145,728 parameters",
            count(real().encoder.layer[0].intermediate, real().encoder.layer[0].output.dense),
        ),
    ],
)
def test_numbers_that_are_wrong_beside_similar_words_stay_wrong(text: str, right: int) -> None:
    assert rights(text) == [right]


def test_rounded_totals_leave_the_search_to_exact_ones() -> None:
    rounded = "\n".join(f"BERT-base has {number}M parameters." for number in (130, 140, 150, 160))
    total = count(real()) - count(real().pooler) - 2 * 768
    assert any("pooler" in claim.reason for claim in claims(f"{rounded}\nBERT-base total: {total:,}")[-1:])
