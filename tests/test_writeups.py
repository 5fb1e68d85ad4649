"""The counts of five public write-ups, and the terms that make one of them wrong."""

from collections import Counter
from dataclasses import replace

from bertcalc import BertConfig, build
from bertcalc.families.presets import PRESETS
from bertcalc.model.totals import place_of, submodule, totals_by_component, totals_by_part

BASE = build(BertConfig())
CHINESE = PRESETS["bert-base-chinese"].config
WALK = build(PRESETS["bert-large-chinese"].config, add_pooling_layer=False)


def test_000_kinds_of_modules_in_bert_base() -> None:
    modules = [(path.split(".")[-1], module.class_name) for path, module, _ in BASE.modules(folded=False)]
    kinds = Counter(kind for _, kind in modules)
    assert (kinds["Dropout"], kinds["LayerNorm"], kinds["Linear"]) == (37, 25, 73)
    assert sum(name == "dense" for name, _ in modules) == 37


def test_001_every_tensor_and_the_shares_of_the_components() -> None:
    sizes = [tensor.num_parameters() for tensor in BASE.tensors()]
    assert sizes[:5] == [23_440_896, 393_216, 1_536, 768, 768]
    assert sizes[-2:] == [589_824, 768]
    assert BASE.num_parameters() == 109_482_240
    assert {component: count / BASE.num_parameters() for component, count in totals_by_component(BASE).items()} == {
        "embeddings": 0.21772649152958506,
        "encoder": 0.776879099295009,
        "pooler": 0.005394409175405983,
    }


def test_001_the_classification_head() -> None:
    classifier = build(BertConfig(), "BertForSequenceClassification")
    assert classifier.num_parameters() - BASE.num_parameters() == 2 * 768 + 2


def test_002_the_walk_layer_by_layer() -> None:
    tensors = {tensor.name: tensor.num_parameters() for tensor in WALK.tensors()}
    assert tensors["embeddings.word_embeddings.weight"] == 21_635_072
    assert tensors["embeddings.token_type_embeddings.weight"] == 2_048
    assert tensors["embeddings.position_embeddings.weight"] == 524_288
    steps = {
        "embeddings": 22_163_456,
        "embeddings.LayerNorm": 2_048,
        "encoder.layer.*.attention.output.LayerNorm": 2_048,
        "encoder.layer.*.intermediate": 4_198_400,
        "encoder.layer.*.output.dense": 4_195_328,
        "encoder.layer.*.output.LayerNorm": 2_048,
        "encoder.layer.*": 12_596_224,
    }
    assert {path: submodule(WALK, path).num_parameters() for path in steps} == steps
    assert submodule(WALK, "encoder.layer.*.attention").num_parameters() - 2_048 == 4_198_400
    assert WALK.num_parameters() == 324_472_832
    assert build(PRESETS["bert-large-chinese"].config).num_parameters() == 325_522_432


def test_003_relative_positions_in_bert_base() -> None:
    relative = build(replace(BertConfig(), position_embedding_type="relative_key"))
    assert relative.num_parameters() == 110_267_904
    assert submodule(relative, "encoder.layer.*.attention.self.distance_embedding").parameters == {
        "weight": (2 * 512 - 1, 64)
    }


def test_004_the_exact_counts() -> None:
    # The write-up's configuration has 18 labels, but no tensor of BertModel depends on them.
    config = replace(CHINESE, num_labels=18)
    assert build(config, add_pooling_layer=False).num_parameters() == 101_677_056
    assert build(config).num_parameters() == 102_267_648


def test_004_what_the_write_up_left_out_is_all_that_it_misses() -> None:
    model = build(CHINESE)
    written = {
        "embeddings": (21_128 + 512 + 2) * 768,
        "attention": 768 * 64 * 3 * 12 + 768 * 768,
        "feed-forward": 12 * (768 * 3072 + 3072 * 768),
        "LayerNorm": 768 * 2 + 768 * 2 * 12 + 768 * 2 * 12,
    }
    assert sum(written.values()) == 75_641_856

    def size(part: str, biases: bool) -> int:
        found = [one for one in model.tensors() if one.name.endswith("bias") == biases]
        return sum(one.num_parameters() for one in found if place_of(one) == ("encoder", part))

    left_out = {
        "eleven of twelve layers": size("attention", biases=False) - written["attention"],
        "biases of attention": size("attention", biases=True),
        "biases of the feed-forward network": size("feed-forward", biases=True),
        "pooler": totals_by_component(model)["pooler"],
    }
    assert list(left_out.values()) == [25_952_256, 36_864, 46_080, 590_592]
    assert sum(written.values()) + sum(left_out.values()) == model.num_parameters()
    parts = totals_by_part(model)
    assert written["LayerNorm"] == parts["embeddings", "LayerNorm"] + parts["encoder", "LayerNorm"]
    assert written["feed-forward"] == size("feed-forward", biases=False)
