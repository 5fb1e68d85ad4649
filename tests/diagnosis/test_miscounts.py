"""The change by each miscount equals the same miscount written out as an expression of the dimensions."""

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bertcalc import BertConfig, Config, ModernBertConfig
from bertcalc.diagnosis.miscounts import HABITS, MISCOUNTS, MiscountSizes, counted, total
from bertcalc.families import build, family_of
from bertcalc.families.presets import PRESETS
from tests.examples import examples
from tests.oracle import Case
from tests.strategies import bert_cases, cases


def up(number: int, multiple: int) -> int:
    return next(number + more for more in range(multiple) if (number + more) % multiple == 0)


def by_hand(c: Any, case: Case) -> dict[str, int]:
    """The amount that each miscount adds to the total."""
    v, h, i, n, p, t, labels = (
        c.vocab_size,
        c.hidden_size,
        c.intermediate_size,
        c.num_hidden_layers,
        c.max_position_embeddings,
        c.type_vocab_size,
        c.num_labels,
    )
    size = h // c.num_attention_heads
    cross = n * c.add_cross_attention
    attentions = n + cross
    kind = case.architecture
    pooler = case.add_pooling_layer if kind == "BertModel" else kind in POOLED
    lm = kind in ("BertForPreTraining", "BertForMaskedLM", "BertLMHeadModel")
    nsp = kind in ("BertForPreTraining", "BertForNextSentencePrediction")
    classes = {"BertForMultipleChoice": 1}.get(kind, labels) if kind in CLASSIFY else 0
    untied = lm and not c.tie_word_embeddings
    act = (
        case.ours()
        .get_submodule(
            "encoder.layer.0.intermediate.intermediate_act_fn"
            if kind == "BertModel"
            else "bert.encoder.layer.0.intermediate.intermediate_act_fn"
        )
        .num_parameters()
    )
    head_norm = 2 * h * lm
    head_biases = lm * (h + v) + untied * v + 2 * nsp + classes
    head = lm * (h * h + act) + head_norm + untied * v * h + 2 * h * nsp + classes * h + head_biases
    one = 4 * (h * h + h) * (1 + c.add_cross_attention) + 2 * h * i + i + h + act
    norms = 2 * h * (2 + c.add_cross_attention)
    attention, forward = 4 * (h * h + h), 2 * h * i + i + h
    all_norms = 2 * h + n * norms + head_norm

    def feed_forward_of(width: Any) -> Any:
        return n * (2 * h + 1) * (width - i)

    def vocabulary(size: int) -> Any:
        return (size - v) * (h * (1 + untied) + lm + untied)

    def layers(count: int) -> Any:
        return (count - n) * (one + norms)

    return {
        "pooler added": 0 if pooler else h * h + h,
        "decoder again": v * h,
        "decoder bias again": v,
        "decoder of H": v * h,
        "final LayerNorm added": 2 * h,
        "next sentence added": (1 - nsp) * (2 * h + 2),
        "cross attention added": n * (attention + 2 * h),
        "third LayerNorm": n * 2 * h,
        "pooler in every layer": (n - 1) * pooler * (h * h + h),
        "words in every layer": (n - 1) * v * h,
        "positions in every layer": (n - 1) * p * h,
        "embedding LayerNorm in every layer": (n - 1) * 2 * h,
        "embeddings in every layer": (n - 1) * (v + p + t + 2) * h,
        "decoder layers": n * (one + norms + attention + 2 * h),
        "all in every layer": (n - 1) * (pooler * (h * h + h) + (v + p + t + 2) * h),
        "output bias again": attentions * h,
        "up bias again": n * i,
        "down bias again": n * h,
        **dict.fromkeys(ELSEWHERE, 0),
        "qkv biases": -attentions * 3 * h,
        "value bias": -attentions * h,
        "output bias": -attentions * h,
        "matrix of the output projection": -attentions * h * h,
        "matrix of the second": -n * i * h,
        "first matrix": -n * (i * h + i),
        "up bias": -n * i,
        "down bias": -n * h,
        "decoder bias": -lm * (1 + untied) * v,
        "head LayerNorm": -head_norm,
        "transform bias": -lm * h,
        "classifier bias": -(2 * nsp + classes),
        "next sentence": -nsp * (2 * h + 2),
        "classifier": -(2 * nsp + classes) * (h + 1),
        **{
            f"labels={size}": (kind in CLASSIFY and kind != "BertForQuestionAnswering") * (size - classes) * (h + 1)
            for size in (1, 2, 3, 4, 5, 6, 7, 9, 10, 20)
        },
        "transform": -lm * (h * h + h),
        "small output projection": -attentions * h * (h - size),
        "wide output projection": attentions * h * h * (c.num_attention_heads - 1),
        "heads times without bias": attentions * 3 * (h * h * (c.num_attention_heads - 1) - h),
        "three times": feed_forward_of(3 * h),
        "two times": feed_forward_of(2 * h),
        **{f"I={size}": feed_forward_of(size) for size in (1024, 2048, 3072, 4096)},
        "intermediate as hidden": feed_forward_of(h),
        "feed-forward biases of H": -n * (i - h),
        "feed-forward biases of I": n * (i - h),
        **{f"V={size}": vocabulary(size) for size in VOCABULARIES},
        **{f"P={size}": (size - p) * h for size in (512, 514, 1024, 128, 256, 384, 2048)},
        **{f"T={size}": (size - t) * h for size in (1, 2, 3)},
        "LayerNorm 4H": all_norms,
        "layer LayerNorms 4H": n * norms,
        "LayerNorm P x H": (p - 1) * all_norms,
        "embedding LayerNorm P x H": (p - 1) * 2 * h,
        "embedding LayerNorm of V": 2 * (v - h),
        "embedding LayerNorm of H": 0,  # BERT's has this size
        "head LayerNorm of V": lm * 2 * (v - h),
        "pooler again": pooler * (h * h + h),
        "matrices of one head": -attentions * 3 * h * (h - size),
        "heads times the matrices": attentions * 3 * h * h * (c.num_attention_heads - 1),
        "gated with bias": n * (h * i + i),
        "feed-forward matrices of H": n * 2 * h * (h - i),
        "attention scores": n * p * p,
        "attention scores of heads": n * c.num_attention_heads * p * p,
        "value": -attentions * (h * h + h),
        "qkv biases of one head": -attentions * 3 * (h - size),
        "bias H x H": attentions * (h * h - h),
        "classifier of P x H": (2 * nsp + classes) * h * (p - 1),
        "classifier of 2H": (2 * nsp + classes) * h,
        "decoder bias of H": lm * (1 + untied) * (h - v),
        "words V x V": v * (v - h),
        "words of P rows": (p - v) * h,
        "words of P": v * (p - h),
        "positions of V rows": (v - p) * h,
        "positions of H rows": (h - p) * h,
        "positions and types of V rows": (2 * v - p - t) * h,
        "token types of P rows": (p - t) * h,
        "token types H x H": t * h * (h - 1),
        "LayerNorm of two": 2 * (1 + n * (2 + c.add_cross_attention) + lm) - all_norms,
        "LayerNorm of I": n * 2 * (i - h),
        "embedding LayerNorm H x H": 2 * h * (h - 1),
        "embeddings again": (v + p + t + 2) * h,
        "output projection again": attentions * (h * h + h),
        "attention twice": attentions * attention,
        "feed-forward twice": n * forward,
        "layer more": one + norms,
        **{f"L={count}": layers(count) for count in (2, 3, 4, 6, 8, 10, 12, 16, 18, 24, 36)},
        "biases": -(attentions * 4 * h + n * (i + h) + pooler * h + head_biases),
        "layer biases": -(attentions * 4 * h + n * (i + h)),
        "attention biases": -attentions * 4 * h,
        "feed-forward biases": -n * (i + h),
        "pooler bias": -pooler * h,
        "head biases": -head_biases,
        "LayerNorm half": -(2 * h + n * norms + head_norm) // 2,
        "LayerNorm": -(2 * h + n * norms + head_norm),
        "embedding LayerNorm": -2 * h,
        "layer LayerNorms": -n * norms,
        "layer LayerNorms half": -n * norms // 2,
        "query, key and value once": -(attentions - 1 - c.add_cross_attention) * 3 * (h * h + h),
        "output projection once": -(attentions - 1 - c.add_cross_attention) * (h * h + h),
        "first matrix once": -(n - 1) * (h * i + i),
        "second matrix once": -(n - 1) * (h * i + h),
        "layer biases once": -(n - 1) * (4 * h * (1 + c.add_cross_attention) + i + h),
        "cross attention once": -(n - 1) * c.add_cross_attention * (attention + 2 * h),
        "LayerNorms once": -(n - 1) * norms,
        "second LayerNorm": -n * 2 * h,
        "embeddings": -(v + p + t + 2) * h,
        "words": -v * h,
        "positions": -p * h,
        "token types": -t * h,
        "cross attention": -cross * (attention + 2 * h),
        "output projection": -attentions * (h * h + h),
        "second matrix": -n * (i * h + h),
        "pooler": -pooler * (h * h + h),
        "head": -head,
        "one of three": -attentions * 2 * (h * h + h),
        "one head": -attentions * 3 * (h + 1) * (h - size),
        "heads times": attentions * 3 * (h + 1) * h * (c.num_attention_heads - 1),
        "gated": n * i * h,
        "four times": n * (2 * h + 1) * (4 * h - i),
        **{
            f"padded to {multiple}": (up(v, multiple) - v) * (h * (1 + untied) + lm + untied)
            for multiple in (8, 64, 128)
        },
        "padded to 100": vocabulary(int(v / 100 + 0.5) * 100 or v),
        "padded to 1000": vocabulary(int(v / 1000 + 0.5) * 1000 or v),
        "padded to 10000": vocabulary(int(v / 10000 + 0.5) * 10000 or v),
        "attention once": -(attentions - 1 - c.add_cross_attention) * attention,
        "feed-forward once": -(n - 1) * forward,
        "encoder once": -(n - 1) * (one + norms),
        "layer less": -(n > 1) * (one + norms),
    }


VOCABULARIES = (
    *(18000, 20000, 21128, 28996, 30000, 30522, 32000, 37000, 40000, 50257, 50265, 50280),
    *(100000, 105879, 110000, 119547, 250002),
)
# Miscounts that BERT's tensors do not allow. Tests below, and planted_counts.csv, use families that allow them.
ELSEWHERE = (
    *("embeddings of H", "words of H", "tables of H", "transform of H", "embedding map", "map bias", "task types"),
    *("layers not shared", "positions added", "token types added", "embedding LayerNorm added", "layer biases added"),
    *("betas added", "position projections added", "final LayerNorm", "distances' LayerNorm", "head dense"),
    *("attention biases added", "feed-forward biases added", "keys for all heads", "distances=256", "distances=1024"),
    *("positions of H", "positions and types of H", "distances in every layer", "embedding map in every layer"),
    *("attention not shared", "feed-forward not shared", "distances once", "final LayerNorm in every layer"),
    *("gate once", "gate again", "qkv biases added", "distances=512", "matrix of the map", "position matrices added"),
    *("position projections", "position keys", "position queries", "position biases", "position keys added"),
    "convolution",
)
POOLED = (
    "BertForPreTraining",
    "BertForNextSentencePrediction",
    "BertForSequenceClassification",
    "BertForMultipleChoice",
)
CLASSIFY = (
    "BertForSequenceClassification",
    "BertForMultipleChoice",
    "BertForTokenClassification",
    "BertForQuestionAnswering",
)


@given(bert_cases())
def test_a_miscount_changes_the_total_by_what_it_says(case: Case) -> None:
    tensors, sizes = counted(case.ours()), MiscountSizes.of(case.config)
    real = sum(tensor.numel() for tensor in case.real().parameters())
    assert total(tensors) == real
    expected = by_hand(case.config, case)
    assert {name: total(MISCOUNTS[name].make(tensors, sizes)) - real for name in expected} == expected


def test_every_miscount_is_tried() -> None:
    elsewhere = {"distances", "gate", "first layer alike"}  # BERT does not allow these; other tests cover them
    assert set(by_hand(BertConfig(), Case(BertConfig(), "BertModel", True))) == set(MISCOUNTS) - elsewhere


def real_total(config: Config, architecture: str) -> int:
    return sum(tensor.numel() for tensor in Case(config, architecture).real().parameters())


def miscounted(preset: str, miscount: str, architecture: str = "") -> int:
    """The total after a miscount in a class of a preset, by default its base model."""
    config = PRESETS[preset].config
    tensors = counted(build(config, architecture or family_of(config).base.name))
    return total(MISCOUNTS[miscount].make(tensors, MiscountSizes.of(config)))


def test_an_albert_that_does_not_share_its_layers() -> None:
    """Without sharing, ALBERT has the parameters of 11 more layers: the real model has those of one."""
    config = PRESETS["albert-base-v2"].config
    real = Case(config, "AlbertModel").real()
    layer = sum(tensor.numel() for tensor in real.encoder.albert_layer_groups.parameters())
    assert miscounted("albert-base-v2", "layers not shared") - real_total(config, "AlbertModel") == 11 * layer


@pytest.mark.parametrize(
    ("preset", "architecture"), [("albert-base-v2", "AlbertModel"), ("electra-small-discriminator", "ElectraModel")]
)
def test_a_model_without_a_projection_of_its_embeddings(preset: str, architecture: str) -> None:
    """Without a projection, ELECTRA's embeddings are as wide as its layers. ALBERT's projection becomes square."""
    config = PRESETS[preset].config
    wide = type(config)(**{**config.shared(), "embedding_size": config.hidden_size})
    real = Case(wide, architecture).real()
    map_of = [tensor.numel() for name, tensor in real.named_parameters() if "mapping_in" in name or "_project" in name]
    assert miscounted(preset, "embeddings of H") == sum(tensor.numel() for tensor in real.parameters()) - sum(map_of)
    usual = Case(config, architecture).real()
    map_of = [tensor.numel() for name, tensor in usual.named_parameters() if "mapping_in" in name or "_project" in name]
    assert real_total(config, architecture) - miscounted(preset, "embedding map") == sum(map_of) > 0


@pytest.mark.parametrize(
    ("preset", "architecture", "miscount", "changes"),
    [
        ("roberta-base", "RobertaModel", "P=512", {"max_position_embeddings": 512}),
        ("roberta-base", "RobertaModel", "T=2", {"type_vocab_size": 2}),
        ("all-mpnet-base-v2", "MPNetModel", "P=512", {"max_position_embeddings": 512}),
        ("all-mpnet-base-v2", "MPNetModel", "L=6", {"num_hidden_layers": 6}),
        ("ernie-3.0-base-zh", "ErnieModel", "task types", {"use_task_id": False}),
        ("distilbert-base-uncased", "DistilBertModel", "L=12", {"num_hidden_layers": 12}),
        ("ModernBERT-base", "ModernBertModel", "layer biases added", {"attention_bias": True, "mlp_bias": True}),
        ("ModernBERT-base", "ModernBertModel", "attention biases added", {"attention_bias": True}),
        ("ModernBERT-base", "ModernBertModel", "feed-forward biases added", {"mlp_bias": True}),
        ("ModernBERT-base", "ModernBertModel", "betas added", {"norm_bias": True}),
        ("ModernBERT-base", "ModernBertModel", "L=12", {"num_hidden_layers": 12}),
        ("EuroBERT-610m", "EuroBertModel", "keys for all heads", {"num_key_value_heads": 18}),
        ("deberta-v3-base", "DebertaV2Model", "positions added", {"position_biased_input": True}),
        ("deberta-v3-base", "DebertaV2Model", "position projections added", {"share_att_key": False}),
        ("deberta-v3-base", "DebertaV2Model", "distances=256", {"position_buckets": 128}),
        ("deberta-v3-base", "DebertaV2Model", "distances=1024", {"position_buckets": 512}),
        ("deberta-v3-base", "DebertaV2Model", "distances' LayerNorm", {"norm_rel_ebd": "none"}),
        ("gpt2-medium", "GPT2Model", "I=3072", {"intermediate_size": 3072}),
    ],
)
def test_a_miscount_that_is_another_configuration(
    preset: str, architecture: str, miscount: str, changes: dict[str, Any]
) -> None:
    config = PRESETS[preset].config
    other = type(config)(**{**config.shared(), **changes})
    assert miscounted(preset, miscount) == real_total(other, architecture)


@pytest.mark.parametrize(
    ("preset", "architecture", "miscount", "tensors"),
    [
        ("gpt2", "GPT2Model", "final LayerNorm", r"ln_f"),
        ("distilbert-base-uncased", "DistilBertForSequenceClassification", "head dense", r"pre_classifier"),
        ("albert-base-v2", "AlbertModel", "map bias", r"mapping_in.bias"),
        (
            "albert-base-v2",
            "AlbertModel",
            "layer biases",
            r"layers.*(ffn|attention|output|query|key|value|dense).*bias",
        ),
        ("albert-base-v2", "AlbertForPreTraining", "next sentence", r"sop_classifier"),
        ("albert-base-v2", "AlbertModel", "embedding LayerNorm", r"embeddings.LayerNorm"),
    ],
)
def test_a_miscount_that_leaves_out_tensors(preset: str, architecture: str, miscount: str, tensors: str) -> None:
    real = Case(PRESETS[preset].config, architecture).real()
    left_out = [(name, tensor.numel()) for name, tensor in real.named_parameters() if re.search(tensors, name)]
    left_out = [(name, count) for name, count in left_out if "LayerNorm" not in name or "LayerNorm" in tensors]
    assert real.num_parameters() - miscounted(preset, miscount, architecture) == sum(count for _, count in left_out) > 0


@pytest.mark.parametrize(
    ("preset", "miscount", "tensors", "times"),
    [
        ("all-mpnet-base-v2", "distances in every layer", r"relative_attention_bias", 11),
        ("deberta-v3-base", "distances in every layer", r"rel_embeddings", 11),
        ("gpt2", "final LayerNorm in every layer", r"ln_f", 11),
        ("albert-base-v2", "embedding map in every layer", r"mapping_in", 11),
        ("albert-base-v2", "attention not shared", r"layers.0.attention.(query|key|value|dense)", 11),
        ("albert-base-v2", "feed-forward not shared", r"layers.0.ffn", 11),
        ("ModernBERT-base", "query, key and value once", r"layers.(?!0\.).*Wqkv", -1),
    ],
)
def test_what_is_there_once_and_is_counted_in_every_layer(preset: str, miscount: str, tensors: str, times: int) -> None:
    config = PRESETS[preset].config
    real = dict(Case(config, family_of(config).base.name).real().named_parameters())
    some = sum(tensor.numel() for name, tensor in real.items() if re.search(tensors, name))
    assert miscounted(preset, miscount) - sum(tensor.numel() for tensor in real.values()) == times * some != 0


def test_embeddings_that_are_narrower_than_the_layers() -> None:
    """ALBERT's E is 128. With E = 768, the real model's tables, head and projection have this width."""
    config = PRESETS["albert-base-v2"].config
    wide = type(config)(**{**config.shared(), "embedding_size": config.hidden_size})
    real, hidden = {
        name: dict(Case(one, "AlbertForMaskedLM").real().named_parameters())
        for name, one in (("real", config), ("wide", wide))
    }.values()

    def more(pattern: str) -> int:
        return sum(hidden[name].numel() - real[name].numel() for name in real if re.search(pattern, name))

    whole = sum(tensor.numel() for tensor in real.values())
    added = {
        name: miscounted("albert-base-v2", name, "AlbertForMaskedLM") - whole
        for name in (
            *("words of H", "tables of H", "transform of H", "decoder again", "decoder of H"),
            *("positions of H", "positions and types of H"),
        )
    }
    words = "albert.embeddings.word_embeddings.weight"
    assert added == {
        "words of H": more("word_emb"),
        "positions of H": more("position_emb"),
        "positions and types of H": more("position_emb|token_type_emb"),
        "tables of H": more("albert.embeddings"),
        "transform of H": more("predictions.(dense|LayerNorm)"),
        "decoder again": real[words].numel(),
        "decoder of H": hidden[words].numel(),
    }


def test_a_layernorm_that_gpt_2_does_not_have() -> None:
    last = Case(PRESETS["gpt2"].config, "GPT2Model").real().ln_f
    right = real_total(PRESETS["gpt2"].config, "GPT2Model")
    assert miscounted("gpt2", "embedding LayerNorm added") - right == sum(one.numel() for one in last.parameters())


def test_token_types_that_a_model_does_not_have() -> None:
    """A DistilBERT with token types is a BERT with six layers and without a pooler."""
    bert = Case(BertConfig(num_hidden_layers=6), "BertModel", False).real().num_parameters()
    assert miscounted("distilbert-base-uncased", "token types added") == bert
    assert miscounted("bert-base-uncased", "token types added") == real_total(BertConfig(), "BertModel")


def test_matrices_of_three_and_of_two() -> None:
    """ModernBERT has query, key and value in one matrix, and the first feed-forward matrix and its gate in another."""
    real = Case(PRESETS["ModernBERT-base"].config, "ModernBertModel").real()
    whole = real.num_parameters()
    fused = sum(tensor.numel() for name, tensor in real.named_parameters() if "Wqkv" in name)
    gated = sum(tensor.numel() for name, tensor in real.named_parameters() if ".Wi." in name)
    assert whole - miscounted("ModernBERT-base", "gate") == gated / 2 > 0
    assert whole - miscounted("ModernBERT-base", "one of three") == fused * 2 / 3 > 0
    assert whole - miscounted("ModernBERT-base", "one head") == fused * 11 / 12


@pytest.mark.parametrize("name", HABITS)
def test_a_habit_is_made_of_miscounts_in_words(name: str) -> None:
    assert set(HABITS[name].miscounts) <= set(MISCOUNTS)
    assert len(HABITS[name].miscounts) > 1
    assert HABITS[name].bits < sum(MISCOUNTS[one].bits for one in HABITS[name].miscounts)


@pytest.mark.parametrize("layers", [1, 2, 22])
def test_modernberts_fused_matrices_and_first_layer(layers: int) -> None:
    config = ModernBertConfig(num_hidden_layers=layers)
    h, i, sizes = config.hidden_size, config.intermediate_size, MiscountSizes.of(config)
    tensors = counted(build(config))
    whole = Case(config, "ModernBertModel").real().num_parameters()
    attention, feed_forward = 4 * h * h, 3 * h * i
    one = attention + feed_forward + (1 if layers == 1 else 2) * h
    expected = {
        "gate": -layers * h * i,
        "first layer alike": h if layers > 1 else 0,
        "final LayerNorm": -h,
        "final LayerNorm added": 0,
        "one of three": -layers * 2 * h * h,
        "heads times": layers * 3 * h * h * (config.num_attention_heads - 1),
        "attention once": -(layers - 1) * attention,
        "feed-forward once": -(layers - 1) * feed_forward,
        "encoder once": one + h - (layers * (attention + feed_forward + 2 * h) - h) - h,
    }
    assert {name: total(MISCOUNTS[name].make(tensors, sizes)) - whole for name in expected} == expected


def test_relative_distances() -> None:
    config = BertConfig(position_embedding_type="relative_key")
    tensors = counted(build(config))
    assert (
        total(tensors) - total(MISCOUNTS["distances"].make(tensors, MiscountSizes.of(config)))
        == 110_267_904 - 109_482_240
    )
    once = MISCOUNTS["distances once"].make(tensors, MiscountSizes.of(config))
    assert total(tensors) - total(once) == (110_267_904 - 109_482_240) * 11 // 12


@pytest.mark.parametrize("name", MISCOUNTS)
def test_a_miscount_is_said_in_words(name: str) -> None:
    assert MISCOUNTS[name].description[0].islower()
    assert not MISCOUNTS[name].description.endswith(".")


@examples(4)
@given(cases(), st.sampled_from(list(MISCOUNTS)))
def test_a_miscount_changes_only_tensors_that_it_concerns(case: Case, earlier: str) -> None:
    sizes = MiscountSizes.of(case.config)
    tensors = counted(case.ours())
    for tensor in {*tensors, *MISCOUNTS[earlier].make(tensors, sizes)}:
        for name, miscount in MISCOUNTS.items():
            assert miscount.concerns(tensor) or miscount.make((tensor,), sizes) == (tensor,), (name, tensor)
