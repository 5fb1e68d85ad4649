"""Hand counts, term by term: the five write-ups, and counts that Hypothesis generates from real models."""

from fractions import Fraction

import pytest
import torch
import transformers
from hypothesis import given
from hypothesis import strategies as st

import bertcalc
from bertcalc import BertConfig, Config, build
from bertcalc.diagnosis.count_lines import LONGEST, MOST_LINES, problem, read
from bertcalc.diagnosis.hand_count import TermsReport, check, judge
from bertcalc.diagnosis.layer_parts import PARTS
from bertcalc.diagnosis.miscounts import MISCOUNTS, MiscountSizes, counted, total
from bertcalc.families.presets import PRESETS
from tests.examples import examples
from tests.oracle import Case, owned
from tests.strategies import cases

CHINESE = PRESETS["bert-base-chinese"].config
LARGE_CHINESE = PRESETS["bert-large-chinese"].config


def report(text: str, config: Config, architecture: str = "BertModel", **options: bool) -> TermsReport:
    return check(build(config, architecture, **options), config, read(text, config))


def miscounts(found: TermsReport) -> list[list[tuple[str, int]]]:
    return [[(cause.miscount, cause.amount) for cause in verdict.explanation or ()] for verdict in found.verdicts]


def test_a_total_has_as_many_mistakes_as_a_whole_count() -> None:
    """The rule of thumb VH + 12LH² counts only matrices, without positions, token types and the pooler."""
    config = BertConfig()
    [verdict] = check(build(config), config, read("total = 30522*768 + 12*(4*768*768 + 8*768*768)", config)).verdicts
    assert verdict.counted
    assert verdict.counted.part == "the whole model"
    left_out = sum(cause.amount for cause in verdict.explanation or ())
    assert verdict.counted.right + left_out == verdict.line.value == 108_375_552


def test_write_up_004() -> None:
    found = report(
        """embeddings = (21128 + 512 + 2) * 768
        self-attention = (768*64)*3*12 + 768*768
        feed forward = 12 * (768*3072 + 3072*768)
        LayerNorm = 768*2 + 768*2*12 + 768*2*12""",
        CHINESE,
    )
    assert [verdict.line.value for verdict in found.verdicts] == [16_621_056, 2_359_296, 56_623_104, 38_400]
    assert [verdict.is_right for verdict in found.verdicts] == [True, False, False, True]
    assert miscounts(found)[1:3] == [
        [("attention biases", -36_864), ("attention once", -25_952_256)],
        [("feed-forward biases", -46_080)],
    ]
    [gap] = found.gaps
    assert (gap.component, gap.parameters) == ("pooler", 590_592)
    assert found.typed == 75_641_856
    assert found.right == 102_267_648


def test_write_up_002_comes_out_right() -> None:
    found = report(
        """Embedding-Token = 21128*1024
        Embedding-Segment = 2*1024
        Embedding-Position = 512*1024
        Embedding-Norm = 2048
        MultiHeadSelfAttention = 4 * (1024*1024 + 1024)
        its norm = 2048
        FeedForward = 4,198,400 + 4,195,328
        its norm = 2048
        the other 23 transformer layers = 23 * 12,596,224""",
        LARGE_CHINESE,
        add_pooling_layer=False,
    )
    assert all(verdict.is_right for verdict in found.verdicts)
    assert not found.gaps
    assert found.typed == found.right == 324_472_832


def test_write_up_001_comes_out_right() -> None:
    found = report(
        """word_embeddings = 30522*768 = 23,440,896
        position_embeddings = 512*768
        token_type_embeddings = 2*768
        LayerNorm = 768 + 768
        encoder = 85,054,464
        pooler.dense.weight = 589,824
        pooler.dense.bias = 768""",
        BertConfig(),
    )
    assert all(verdict.is_right for verdict in found.verdicts)
    assert not found.gaps
    assert found.typed == found.right == 109_482_240


def test_the_inventory_of_000_comes_out_right() -> None:
    text = "Dropout = 1 + (1+1+1)*12 = 37\nLayerNorm = 1 + (1+1)*12\ndense = (1+1+1)*12 + 1\nLinear = 6*12 + 1"
    found = report(text, BertConfig())
    assert [(verdict.kind, verdict.is_right) for verdict in found.verdicts] == [("modules", True)] * 4
    assert not found.gaps


def test_a_wrong_result_of_a_right_calculation_is_named() -> None:
    [line] = read("pooler = H*H + H = 590,000", BertConfig())
    assert line.value == 590_592
    assert str(line.problem) == "The calculation gives 590,592, not 590,000."


@pytest.mark.parametrize("text", ["pooler = H*Q", "pooler = ", "= = =", "pooler: 1/0", "12 *"])
def test_a_line_that_cannot_be_read_says_why(text: str) -> None:
    [verdict] = report(text, BertConfig()).verdicts
    assert verdict.line.problem
    assert not verdict.is_right


def test_what_is_counted_twice_is_named() -> None:
    found = report("pooler = H*H + H\nthe pooler again = H*H + H\nthe rest = 1", BertConfig())
    assert [(gap.component, gap.parameters) for gap in found.gaps] == [
        ("embeddings", 23_837_184),
        ("encoder", 85_054_464),
        ("pooler", -590_592),
    ]


def test_limits() -> None:
    assert problem("a = 1\n" * MOST_LINES) is None
    assert problem("a = 1\n" * (MOST_LINES + 1))
    assert problem("a" * (LONGEST + 1))
    assert len(read("a = 1\n" * 10_000, BertConfig())) == MOST_LINES


@given(st.text(max_size=300))
def test_any_text_gets_a_report(text: str) -> None:
    found = report(text, BertConfig())
    assert found.typed == sum(verdict.line.value or Fraction(0) for verdict in found.verdicts if verdict.is_term)


@given(cases(), st.data())
def test_the_terms_of_a_model_are_right_and_complete(case: Case, data: st.DataObject) -> None:
    """Each tensor of the real model is a line under its own name."""
    tensors = [tensor for tensor in counted(case.ours()) if tensor.copies]
    lines = [f"{tensor.name} = {tensor.copies} * {' * '.join(map(str, tensor.shape))}" for tensor in tensors]
    left = data.draw(st.sampled_from(tensors))
    text = "\n".join(line for line, tensor in zip(lines, tensors, strict=True) if tensor != left)
    found = check(case.ours(), case.config, read(text, case.config))
    assert all(verdict.is_right for verdict in found.verdicts)
    real = sum(tensor.numel() for tensor in case.real().parameters())
    assert found.right == real == found.typed + sum(gap.parameters for gap in found.gaps)


@given(cases(), st.sampled_from(list(MISCOUNTS)), st.sampled_from(["attention", "feed-forward", "pooler", "layers"]))
def test_a_miscount_in_a_term_is_found(case: Case, miscount: str, name: str) -> None:
    of_one = check(case.ours(), case.config, read(f"{name} = 1", case.config)).verdicts[0]
    found = of_one.counted
    if found is None:
        assert name == "pooler" or (name, of_one.kind, case.config.num_hidden_layers) == ("layers", "size", 1)
        return
    after = total(MISCOUNTS[miscount].make(found.tensors, MiscountSizes.of(case.config)))
    called = "one layer" if (name, found.layers) == ("layers", "one") else name  # the nearest count to 1
    [verdict] = check(case.ours(), case.config, read(f"{called} = {after}", case.config)).verdicts
    assert verdict.counted
    is_tiny = case.config.hidden_size < 16  # small sizes explain every number, so no single cause is certain
    if verdict.explanation is not None:
        assert verdict.counted.right + sum(cause.amount for cause in verdict.explanation) == after
        assert len(verdict.explanation) <= 1 or is_tiny
    else:
        assert verdict.kind == "modules" or is_tiny


@examples(6)
@given(cases())
def test_every_part_is_found_under_its_own_name(case: Case) -> None:
    for part in PARTS:
        [verdict] = check(case.ours(), case.config, read(f"{part} = 0", case.config)).verdicts
        there = any(map(PARTS[part][0], counted(case.ours())))
        assert verdict.counted or not there


def test_query_key_value_and_output_are_lines_of_their_own() -> None:
    found = report(
        """embeddings = (V+P+T+2)*H
        Q = L*(H*H+H)
        key = L*(H*H+H)
        W_v = L*(H*H+H)
        O = L*(H*H+H)
        LayerNorms of the layers = 4*L*H
        intermediate = L*(H*I+I)
        output = L*(I*H+H)
        pooler = H*H+H""",
        BertConfig(),
    )
    assert all(verdict.is_right for verdict in found.verdicts)
    assert not found.gaps
    assert [verdict.counted.part for verdict in found.verdicts[1:5] if verdict.counted] == [
        "query of the attention",
        "key of the attention",
        "value of the attention",
        "output projection of the attention",
    ]


def test_the_parts_of_a_head_are_lines_of_their_own() -> None:
    found = report(
        """embeddings = (V+P+T+2)*H
        encoder = L*(4H^2+2HI+9H+I)
        pooler = H*(H+1)
        transform = H*H+H
        its LayerNorm = 2H
        decoder bias = V
        NSP = 2H+2""",
        BertConfig(),
        "BertForPreTraining",
    )
    assert all(verdict.is_right for verdict in found.verdicts)
    assert not found.gaps
    assert found.typed == found.right == Case(BertConfig(), "BertForPreTraining").real().num_parameters()


def test_cross_attention_and_distances_are_lines_of_their_own() -> None:
    config = BertConfig(is_decoder=True, add_cross_attention=True, position_embedding_type="relative_key")
    found = report(
        """embeddings = (V+P+T+2)*H
        layers = L*(4H^2+2HI+9H+I)
        cross attention = L*(4H^2+6H)
        relative distances = L*(2P-1)*H/A
        pooler = H*H+H""",
        config,
    )
    assert all(verdict.is_right for verdict in found.verdicts)
    assert not found.gaps


@pytest.mark.parametrize("line", ["head = H^2+3H+V + V*H", "decoder = V*H"])
def test_a_tied_decoder_that_is_counted_again_is_found(line: str) -> None:
    assert miscounts(report(line, BertConfig(), "BertForMaskedLM")) == [[("decoder again", 30_522 * 768)]]


def test_a_pooler_that_is_not_there_is_found() -> None:
    assert miscounts(report("pooler = H*H+H", BertConfig(), "BertForMaskedLM")) == [[("pooler added", 768 * 768 + 768)]]


@pytest.mark.parametrize(
    ("line", "part", "layers"),
    [
        ("W1 = H*I", "weight of the first matrix of the feed-forward network", "one"),
        ("W_2 = L*H*I", "weight of the second matrix of the feed-forward network", "all"),
        ("b1 = I", "bias of the first matrix of the feed-forward network", "one"),
        ("b2 = H", "bias of the second matrix of the feed-forward network", "one"),
        ("Wq = H*H", "weight of the query", "one"),
        ("W_O = 12*H*H", "weight of the output projection", "all"),
        ("b_q = H", "bias of the query", "one"),
        ("gamma = 25*H", "gamma of all LayerNorms", "all"),
        ("beta = H", "beta of the embeddings' LayerNorm", "all"),
        ("fc1 = H*I + I", "first matrix of the feed-forward network", "one"),
        ("fc2 = L*(H*I + H)", "second matrix of the feed-forward network", "all"),
        ("ln1 = 2*H", "LayerNorm of the embeddings", "all"),
        ("emb = (V+P+T+2)*H", "embeddings", "all"),
        ("pos_emb = P*H", "position embeddings", "all"),
        ("bias = L*(4*H + I + H)", "biases of the layers", "all"),
        ("查询 = H*H + H", "query of the attention", "one"),
        ("前馈 = L*(2*H*I + I + H)", "feed-forward", "all"),
        ("偏置 = L*4*H", "biases of the attention", "all"),
        ("词嵌入 = V*H", "word embeddings", "all"),
        ("层归一化 = 25*2*H", "all LayerNorms", "all"),
    ],
)
def test_short_and_chinese_names_are_understood(line: str, part: str, layers: str) -> None:
    [verdict] = report(line, BertConfig()).verdicts
    assert verdict.is_right
    assert verdict.counted
    assert (verdict.counted.part, verdict.counted.layers) == (part, layers)


def test_a_walk_through_one_layer_is_understood() -> None:
    found = report(
        """Q = 768*64*12
        K = 768*64*12
        V = 768*64*12
        11 other layers = 11 * 7,087,872""",
        BertConfig(),
    )
    assert [(verdict.counted and verdict.counted.layers) for verdict in found.verdicts] == ["one"] * 3 + ["others"]
    assert miscounts(found)[0] == [("attention biases", -768)]
    assert report("Q = 768*64*12", BertConfig()).verdicts[0].counted == found.verdicts[0].counted


@pytest.mark.parametrize("architecture", ["BertModel", "BertForMaskedLM"])
def test_a_decoder_that_is_counted_as_a_linear_is_known(architecture: str) -> None:
    found = miscounts(report("decoder = 30522*768 + 30522", BertConfig(), architecture))
    assert found[0][0] == ("decoder again", 30_522 * 768)


def test_a_number_that_is_right_for_two_things_is_not_called_right_for_one() -> None:
    [verdict] = report("28,348,416", BertConfig()).verdicts
    assert verdict.counted
    assert [verdict.counted.part, *(found.part for found in verdict.also)] == [
        "attention",
        "first matrix of the feed-forward network",
    ]
    [named] = report("attention = 28,348,416", BertConfig()).verdicts
    assert not named.also


def kinds(found: TermsReport) -> list[str]:
    return [verdict.kind for verdict in found.verdicts]


WHOLE = "embeddings = (V+P+T+2)*H\nlayers = L*(4H^2+2HI+9H+I)\npooler = H*H + H\n"


@pytest.mark.parametrize(("total", "right"), [("109482240", True), ("109.48M", True), ("108,891,648", False)])
def test_a_total_is_no_term(total: str, right: bool) -> None:
    found = report(f"{WHOLE}total = {total}", BertConfig())
    assert kinds(found) == ["parameters"] * 3 + ["total"]
    assert found.verdicts[-1].is_right == right
    assert not found.gaps
    real = sum(tensor.numel() for tensor in Case(BertConfig()).real().parameters())
    assert found.typed == found.right == found.verdicts[-1].above == real


def test_a_total_that_the_lines_add_up_to_has_no_mistake_of_its_own() -> None:
    found = report("embeddings = (V+P+T)*H; layers = 85,054,464; total = 108,890,112", BertConfig())
    assert found.verdicts[-1].above == found.verdicts[-1].line.value
    assert found.verdicts[-1].explanation is None
    alone = report("total = 108,891,648", BertConfig())
    assert miscounts(alone) == [[("pooler", -590_592)]]


def test_a_subtotal_is_no_term() -> None:
    found = report("word = V*H; pos = P*H; type = T*H; LN = 2H; embeddings total = 23,837,184", BertConfig())
    assert kinds(found)[-1] == "total"
    assert found.typed == 23_837_184
    assert {gap.component for gap in found.gaps} == {"encoder", "pooler"}
    found = report("total attention = L*4*(H*H + H); pooler = H*H + H", BertConfig())
    assert kinds(found) == ["parameters"] * 2


def test_weights_and_biases_on_lines_of_their_own_are_right_together() -> None:
    weights = "attention = L*4*H*H\nfeed-forward = L*2*H*I\n"
    assert [verdict.is_right for verdict in report(weights, BertConfig()).verdicts] == [False, False]
    for biases in ("biases = L*(5H+I)", "attention biases = L*4*H; FFN biases = L*(H+I)"):
        found = report(f"{weights}{biases}\nLayerNorm = 25*2*H\nembeddings = (V+P+T)*H\npooler = H*H+H", BertConfig())
        assert all(verdict.is_right for verdict in found.verdicts)
        assert not found.gaps
        assert found.typed == found.right
    [attention, _biases] = report("attention = L*4*H*H\nFFN biases = L*(H+I)", BertConfig()).verdicts
    assert not attention.is_right


@pytest.mark.parametrize("mark", ["\n", "; "])
@pytest.mark.parametrize("words", [("weights", "bias"), ("weight", "biases"), ("matrix", "bias")])
@pytest.mark.parametrize(
    ("name", "module"),
    [
        ("query", "attention.self.query"),
        ("key", "attention.self.key"),
        ("value", "attention.self.value"),
        ("Q", "attention.self.query"),
        ("attention output", "attention.output.dense"),
        ("output", "attention.output.dense"),
        ("output", "output.dense"),
        ("intermediate", "intermediate.dense"),
        ("attention LayerNorm", "attention.output.LayerNorm"),
    ],
)
def test_the_weight_and_the_bias_of_a_module_are_lines_of_their_own(
    name: str, module: str, words: tuple[str, str], mark: str
) -> None:
    config = BertConfig(num_hidden_layers=1)
    tensors = {
        kind: owned(Case(config, "BertModel").real())[f"encoder.layer.0.{module}.{kind}"] for kind in ("weight", "bias")
    }
    shapes = {kind: "*".join(map(str, tensor.shape)) for kind, tensor in tensors.items()}
    lines = [f"{name} {word} = {shape}" for word, shape in zip(words, (shapes["weight"], shapes["bias"]), strict=True)]
    report = check(build(BertConfig()), BertConfig(), read(mark.join(lines), BertConfig()))
    for verdict, kind in zip(report.verdicts, ("weight", "bias"), strict=True):
        assert verdict.is_right
        assert verdict.counted
        assert [tensor.name for tensor in verdict.counted.tensors] == [f"encoder.layer.*.{module}.{kind}"]


def test_the_weight_of_all_attention_is_not_that_of_a_part() -> None:
    """Three of its four matrices are not a right count of the attention's weights."""
    assert not judge(read("attention weights = 3*H*H", BertConfig())[0], build(BertConfig()), BertConfig()).is_right


def test_the_biases_of_one_layer_belong_to_the_weights_of_one_layer() -> None:
    config = BertConfig()
    weights = "Q: H*H; K: H*H; V: H*H; O: H*H"
    apart = check(build(config), config, read(f"{weights}; biases: 4*H", config))
    assert [verdict.is_right for verdict in apart.verdicts] == [True] * 5
    all_layers = check(build(config), config, read("Q: 12*H*H; biases of the attention: 4*H", config))
    assert not all_layers.verdicts[0].is_right


def test_layernorm_weights_and_biases_are_a_pair() -> None:
    text = "LayerNorm weights = 768\nLayerNorm bias = 768\nLayerNorm weights = 768\nLayerNorm bias = 768"
    report = check(build(BertConfig()), BertConfig(), read(text, BertConfig()))
    names = [[tensor.name for tensor in verdict.counted.tensors] for verdict in report.verdicts if verdict.counted]
    assert all(verdict.is_right for verdict in report.verdicts)
    modules = [name.rpartition(".")[0] for [name] in names]
    assert modules[0] == modules[1] != modules[2] == modules[3]


def test_what_a_later_line_multiplies_is_a_step() -> None:
    found = report("QKV of one head: (768*64+64)*3\nQKV = 147648*12\nQKV of all layers = 12*1771776", BertConfig())
    assert kinds(found) == ["step", "step", "parameters"]
    assert found.typed == 21_261_312
    counts = [(verdict.counted.heads, verdict.counted.layers) for verdict in found.verdicts if verdict.counted]
    assert counts == [("one", "one"), ("all", "one"), ("all", "all")]


def test_a_line_about_one_head_leaves_the_others_to_be_counted() -> None:
    [gap, *_others] = [gap for gap in report("W_q per head = H*H/A", BertConfig()).gaps if gap.component == "encoder"]
    assert gap.parameters == 85_054_464 - 768 * 64


def test_what_is_right_by_its_number_keeps_the_name_of_its_part() -> None:
    [verdict] = report("QKV+O = L*4*(H*H+H)", BertConfig()).verdicts
    assert verdict.is_right
    assert verdict.counted
    assert (verdict.counted.part, verdict.counted.layers) == ("attention", "all")


@pytest.mark.parametrize(("line", "right"), [("Softmax: 0", True), ("Softmax: 64", False), ("activation = 0", False)])
def test_what_has_no_parameters_is_0(line: str, right: bool) -> None:
    """PReLU is an activation function that has a parameter in each layer."""
    [verdict] = report(line, BertConfig(hidden_act="prelu")).verdicts
    assert verdict.is_right == right
    assert not verdict.counted or not right


@pytest.mark.parametrize(
    "line", ["hidden_size = 768", "H = 768", "vocab size: 30522", "attention heads = 12", "num_hidden_layers = 12"]
)
def test_a_size_of_the_model_is_no_term(line: str) -> None:
    found = report(f"{WHOLE}{line}", BertConfig())
    assert (found.verdicts[-1].kind, found.verdicts[-1].is_right) == ("size", True)
    assert found.typed == found.right
    assert (
        not report(line.replace("12", "13").replace("768", "767").replace("30522", "3"), BertConfig())
        .verdicts[0]
        .is_right
    )


@pytest.mark.parametrize(
    "line",
    ["d_model = 768", "d_ff = 3072", "n_layers: 12", "layers: 12", "seq_len = 512", "head_dim = 64", "词表大小：30522"],
)
def test_names_of_sizes_in_papers_are_no_terms(line: str) -> None:
    [verdict] = check(build(BertConfig()), BertConfig(), read(line, BertConfig())).verdicts
    assert (verdict.kind, verdict.is_right) == ("size", True)


def test_a_tiny_model_gives_no_cause_by_chance() -> None:
    tiny = BertConfig(
        vocab_size=10, hidden_size=2, num_hidden_layers=2, num_attention_heads=1, intermediate_size=4,
        max_position_embeddings=4,
    )  # fmt: skip
    [verdict] = check(build(tiny), tiny, read("attention = 16", tiny)).verdicts
    assert verdict.explanation is None


def test_a_part_that_is_named_is_judged_by_its_number_first() -> None:
    [verdict] = check(build(BertConfig()), BertConfig(), read("QKV+O = L*4*(H*H+H)", BertConfig())).verdicts
    assert verdict.is_right


PER_LAYER = """embeddings = (V+P+T+2)*H
attention per layer: {attention}
FFN per layer: 2*H*I + H + I = 4,722,432
LayerNorms per layer: 4*H = 3,072
per layer: {layer}
12 layers: 85,054,464
pooler = H*H + H
total = 109,482,240"""


def test_lines_of_one_layer_are_steps_and_add_up_to_its_total() -> None:
    found = report(PER_LAYER.format(attention="4*(H*H + H)", layer="7,087,872"), BertConfig())
    assert kinds(found) == ["parameters", "step", "step", "step", "total", "parameters", "parameters", "total"]
    assert all(verdict.is_right or verdict.is_sum for verdict in found.verdicts)
    assert found.verdicts[4].above == 7_087_872
    real = sum(tensor.numel() for tensor in Case(BertConfig()).real().parameters())
    assert (found.typed, found.verdicts[-1].above, found.gaps) == (real, real, ())


def test_a_wrong_line_of_one_layer_is_corrected_for_one_layer() -> None:
    found = report(PER_LAYER.format(attention="4*H*H", layer="7,084,800"), BertConfig())
    attention = found.verdicts[1]
    assert attention.counted
    assert (attention.counted.layers, attention.counted.right, attention.kind) == ("one", 2_362_368, "step")
    assert miscounts(found)[1] == [("attention biases", -3_072)]


@pytest.mark.parametrize(("attention", "cause"), [("4*(H*H + H)", "layer LayerNorms"), ("no line", "attention biases")])
def test_a_cause_that_other_lines_rule_out_is_not_the_cause(attention: str, cause: str) -> None:
    found = report(f"attention per layer: {attention}\nper layer: 7,084,800", BertConfig())
    assert [name for name, _amount in miscounts(found)[-1]] == [cause]


@pytest.mark.parametrize(
    "name", ["attention of every layer", "每个编码器层的注意力", "attention in a single encoder layer"]
)
def test_one_layer_has_several_names(name: str) -> None:
    [verdict] = report(f"{name}: 4*H*H", BertConfig()).verdicts
    assert verdict.counted
    assert (verdict.counted.layers, verdict.counted.right) == ("one", 2_362_368)


def test_a_total_in_the_first_line_is_the_sum_of_the_others() -> None:
    found = report("total: 108,891,648\nembeddings: 23,837,184\nlayers: 85,054,464", BertConfig())
    first, *terms = found.verdicts
    assert first.kind == "total"
    assert first.is_sum
    assert all(verdict.is_right for verdict in terms)
    assert [gap.parameters for gap in found.gaps] == [590_592]


@pytest.mark.parametrize("line", ["12 层 85,054,464", "12层 85,054,464", "12 layers 85,054,464"])
def test_all_layers_are_a_line_without_a_colon(line: str) -> None:
    found = report(f"每层 7,087,872\n{line}", BertConfig())
    assert [verdict.kind for verdict in found.verdicts] == ["step", "parameters"]
    assert found.verdicts[1].is_right


@pytest.mark.parametrize(
    "text",
    [
        "Q, K, V: 3*H*H\nattention output: H*H\nfeed-forward: 2*H*I\n12 layers: 12*(4*H*H + 2*H*I)",
        "per layer:\nQKV: 3*H*H\noutput projection: H*H\nffn: 2*H*I\nx 12 layers = 12*(4*H*H + 2*H*I)",
        "每层：\n查询、键、值: 3*H*H\n注意力输出: H*H\n前馈: 2*H*I\n12层: 12*(4*H*H + 2*H*I)",
        "QKV = 3*H*H per layer\nout_proj = H*H per layer\nffn = 2*H*I per layer",
    ],
)
def test_lines_that_a_later_line_multiplies_are_of_one_layer_although_they_are_wrong(text: str) -> None:
    layer = Case(BertConfig()).real().encoder.layer[0]
    attention = layer.attention
    query_key_value = [attention.self.query, attention.self.key, attention.self.value]
    parts = [query_key_value, [attention.output.dense], [layer.intermediate.dense, layer.output.dense]]
    rights = [sum(tensor.numel() for module in modules for tensor in module.parameters()) for modules in parts]
    verdicts = report(text, BertConfig()).verdicts
    assert [verdict.counted and verdict.counted.right for verdict in verdicts[:3]] == rights
    assert all(verdict.explanation for verdict in verdicts[:3])


@pytest.mark.parametrize(
    "times", ["12 layers", "x 12", "× 12 layers:", "... x 12 identical layers", "12 层", "重复12次"]
)
def test_a_line_multiplies_the_lines_of_one_layer_above_it(times: str) -> None:
    real = Case(BertConfig()).real()
    layer = "Q, K, V: 3*(H*H+H)\noutput: H*H+H\nffn: 2*H*I+I+H\nLayerNorms: 4*H"
    found = report(f"embeddings: (V+P+T)*H + 2*H\n{layer}\n{times}\npooler: H*H+H", BertConfig())
    assert kinds(found) == ["parameters", *["step"] * 4, "parameters", "parameters"]
    assert all(verdict.is_right for verdict in found.verdicts)
    assert found.typed == real.num_parameters()
    layers = sum(tensor.numel() for tensor in real.encoder.parameters())
    assert found.verdicts[5].line.value == layers
    assert report(f"Q, K, V: 3*H*H\n{times}", BertConfig()).verdicts[1].line.value == 12 * 3 * 768 * 768


def test_a_line_that_multiplies_nothing_says_so() -> None:
    for text in ("12 layers\npooler: H*H+H", "pooler: H*H+H\nx 12"):
        [line] = [verdict.line for verdict in report(text, BertConfig()).verdicts if verdict.line.times]
        assert "counts a single layer, so there is nothing to multiply" in str(line.problem)


def test_a_heading_is_no_line_unless_only_a_number_is_below_it() -> None:
    assert [line.name for line in read("per layer:\nQ, K, V: 3*H*H\nW = H*I", BertConfig())] == ["Q, K, V", "W"]
    lines = read("per layer:\npooler: 590592\nLayer norms:\n36864\n12层：\n85054464\nhead:", BertConfig())
    names = [("pooler", 590_592), ("Layer norms", 36_864), ("12层", 85_054_464), ("head", None)]
    assert [(line.name, line.value) for line in lines] == names


def test_a_number_below_a_heading_is_judged_by_it() -> None:
    swapped = report("Word embeddings:\n393216\nPosition embeddings:\n23440896", BertConfig())
    assert not any(verdict.is_right for verdict in swapped.verdicts)
    assert all(verdict.is_right for verdict in report("Encoder:\n85054464\nPooler:\n590592", BertConfig()).verdicts)


REAL = Case(BertConfig(), "BertModel").real().num_parameters()


@pytest.mark.parametrize(
    ("text", "off"),
    [
        (
            "layer = 12*H*H + 13*H\nemb = (V+P+T+2)*H\npooler = H*H+H\ntotal = emb + 12*layer + pooler",
            0,
        ),
        (
            "E = V*H + P*H + T*H\nA = 4*H*H + 4*H\nF = 2*H*I + H + I\nN = 4*H\ntotal = E + L*(A+F+N) + H*H + H",
            -2 * 768,  # the LayerNorm of the embeddings
        ),
        ("嵌入 = 30522*768 + 514*768 + 2*768\n每层 = 12*768*768+13*768\n总 = 嵌入 + 12*每层", -768 * 768 - 768),
    ],
)
def test_a_total_may_use_the_names_of_the_lines_above(text: str, off: int) -> None:
    found = report(text, BertConfig())
    assert (found.typed, found.right) == (REAL + off, REAL)
    *above, whole = found.verdicts
    assert all(verdict.is_right for verdict in above)
    assert whole.is_right == (not off)
    assert sum(cause.amount for cause in whole.explanation or ()) == off


def test_a_letter_alone_is_no_layer() -> None:
    """Q, K, V and O are matrices, E is no part of the model, and V stays the vocabulary below its matrix."""
    found = report("E = V*H\nQ = H*H+H\nK = H*H+H\nV = H*H+H\nO = H*H+H\nx 12 layers\nword = V*H", BertConfig())
    assert all(verdict.is_right for verdict in found.verdicts)
    assert found.verdicts[-2].line.value == found.verdicts[-2].counted.right == 12 * 4 * (768 * 768 + 768)  # type: ignore[union-attr]


def test_the_factor_before_a_name_multiplies_the_calculation() -> None:
    text = "12 × attention: 4 × 768² = 28.3M\n12 layers FFN: 2*768*3072 = 56.6M"
    found = report(text, BertConfig())
    assert [verdict.line.problem for verdict in found.verdicts] == [None, None]
    assert found.typed == 12 * (4 * 768**2 + 2 * 768 * 3072)


@pytest.mark.parametrize(
    ("label", "is_first"),
    [(label, True) for label in ("FFN layer 1", "FFN expand", "MLP fc1", "升维", "前馈网络第一层", "first FFN layer")]
    + [
        (label, False)
        for label in ("FFN layer 2", "FFN contract", "FFN down", "降维", "FFN第二层", "feed-forward linear 2")
    ],
)
def test_a_label_of_one_linear_layer_is_not_the_other(label: str, is_first: bool) -> None:
    with torch.device("meta"):
        layer = transformers.BertModel(transformers.BertConfig(num_hidden_layers=1)).encoder.layer[0]
    first, second = (
        sum(parameter.numel() for parameter in module.parameters())
        for module in (layer.intermediate.dense, layer.output.dense)
    )
    own, other = (first, second) if is_first else (second, first)
    assert "right" in str(bertcalc.read(f"{label}: {own:,}"))
    for wrong in (other, own - 1000):
        assert f"{label}: {own:,} is right for" in str(bertcalc.read(f"{label}: {wrong:,}"))
