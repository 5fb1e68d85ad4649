"""Differences between models are explained exactly, and each prepared pair shows what its text says."""

from dataclasses import replace
from fractions import Fraction
from itertools import pairwise, permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bertcalc import ARCHITECTURES, AlbertConfig, BertConfig
from bertcalc.change_steps.effects import with_steps
from bertcalc.change_steps.step_texts import read_steps
from bertcalc.explore.compare import PAIRS, WELL_KNOWN, FieldChange, differing, explain, path, shapes
from bertcalc.explore.model_values import FIELDS, model_of_preset, values_of
from bertcalc.explore.quantities import EVERY_QUANTITY, QUANTITIES, Case, components
from bertcalc.families.presets import PRESETS
from bertcalc.model.batch import Batch
from bertcalc.model.model import Model
from bertcalc.model_ref import read
from tests import oracle
from tests.examples import examples
from tests.explore.test_model_values import models

PARAMETERS, WEIGHTS = QUANTITIES["parameters"], QUANTITIES["weights"]
sizes = st.tuples(st.integers(1, 3), st.integers(1, 8))


def real(model: Model) -> int:
    return sum(tensor.numel() for tensor in oracle.Case.of(model).real().parameters())


def pair(name: str) -> list[Model]:
    items, wrong = read(PAIRS[name].models)
    assert not wrong
    return [item.model() for item in items]


def difference(name: str, quantity: str) -> int:
    here, there = map(Case, pair(name))
    return explain(here, there, QUANTITIES[quantity]).difference


@examples(2)
@given(models(), models(), sizes)
def test_the_parts_sum_to_the_difference_of_every_quantity(here: Model, there: Model, sizes: tuple[int, int]) -> None:
    length = min(sizes[1], here.config.max_position_embeddings, there.config.max_position_embeddings)
    one, two = (Case(model, Batch(sizes[0], length)) for model in (here, there))
    stages = [case for _changes, case in path(one, two)]
    for quantity in QUANTITIES.values():
        if any(quantity.known(case) is None for case in (one, two, *stages)):
            continue
        found = explain(one, two, quantity)
        assert found.before == quantity.of(one)
        assert found.after == quantity.of(two)
        assert sum(part.difference for part in found.parts) == quantity.of(two) - quantity.of(one) == found.difference
        totals = [found.before, *(part.total for part in found.parts)]
        assert [later - earlier for earlier, later in pairwise(totals)] == [part.difference for part in found.parts]


@pytest.mark.parametrize(("measure", "each"), [("parameters", 1), ("weights", 4)])
def test_what_goes_and_comes_in_one_step_is_not_nothing(measure: str, each: int) -> None:
    """DeBERTa-v3 has no token types, but relative positions with a LayerNorm, which have as many parameters."""
    here, there = (Case(model_of_preset(name)) for name in ("bert-base-uncased", "deberta-v3-base"))
    found = explain(here, there, QUANTITIES[measure])
    [part] = [part for part in found.parts if part.moved]
    assert [change.field for change in part.changes] == ["type_vocab_size", "architecture"]
    assert (part.difference, part.moved) == (0, each * (512 + 2) * 768)
    came = [
        tensor.numel()
        for name, tensor in oracle.Case.of(there.model).real().named_parameters()
        if name.startswith(("encoder.rel_embeddings.", "encoder.LayerNorm."))
    ]
    assert part.moved == each * sum(came)


@given(models(), models())
def test_every_model_on_the_way_can_be_built_and_differs_in_what_is_said(here: Model, there: Model) -> None:
    before = here
    said = []
    for changes, case in path(Case(here), Case(there)):
        after = case.model
        old, new = values_of(before), values_of(after)
        assert {change.field: (change.before, change.after) for change in changes} == {
            field: (old[field], new[field]) for field in FIELDS if field in {*old} & {*new} and old[field] != new[field]
        }
        assert after.num_parameters() > 0
        said += [change.field for change in changes]
        before = after
    assert before == there
    # Fields that only one family has change together with the class.
    both = values_of(here).keys() & values_of(there).keys()
    assert said == [field for field in differing([here, there]) if field in both]
    assert said == [field for field in FIELDS if field in said]


@given(models(), models())
def test_from_a_model_to_itself_there_is_nothing_to_explain(here: Model, there: Model) -> None:
    assert not explain(Case(here), Case(here), PARAMETERS).parts
    assert bool(differing([here, there])) == (here != there)


def test_each_part_is_what_the_real_model_has_more() -> None:
    base, large = PRESETS["bert-base-uncased"].config, PRESETS["bert-large-uncased"].config
    steps = [
        base,
        BertConfig(num_hidden_layers=24),
        BertConfig(num_hidden_layers=24, num_attention_heads=16),
        BertConfig(num_hidden_layers=24, num_attention_heads=16, hidden_size=1024),
        large,
    ]
    counts = [real(Model(step)) for step in steps]
    found = explain(Case(Model(base)), Case(Model(large)), PARAMETERS)
    assert [part.total for part in found.parts] == counts[1:]
    assert found.difference == 225_659_648
    assert [str(change) for part in found.parts for change in part.changes] == [
        "12 more layers",
        "4 more heads",
        "256 more hidden units",
        "1,024 more feed-forward units",
    ]


def test_what_cannot_change_alone_changes_together() -> None:
    here, there = (
        Model(BertConfig(hidden_size=size, num_attention_heads=heads)) for size, heads in ((896, 14), (384, 6))
    )
    [(changes, after)] = path(Case(here), Case(there))
    assert [change.field for change in changes] == ["num_attention_heads", "hidden_size"]
    assert after.model.config == there.config


def test_a_pooler_that_comes_with_the_class_is_a_part_of_its_own() -> None:
    here = Case(Model(BertConfig()))
    there = Case(Model(BertConfig(), "BertForTokenClassification"))
    parts = explain(here, there, PARAMETERS).parts
    assert [(str(part.changes[0]), part.difference) for part in parts] == [
        ("without a pooler", -(768 * 768 + 768)),
        ("BertForTokenClassification instead of BertModel", 2 * 768 + 2),
    ]


@pytest.mark.parametrize(
    ("change", "phrase"),
    [
        (FieldChange("num_hidden_layers", 12, 13), "1 more layer"),
        (FieldChange("num_hidden_layers", 13, 12), "1 fewer layer"),
        (FieldChange("vocab_size", 30522, 21128), "9,394 fewer word pieces"),
        (FieldChange("tie_word_embeddings", True, False), "decoder with its own matrix"),
        (FieldChange("add_pooling_layer", False, True), "with a pooler"),
        (FieldChange("pad_token_id", None, 0), "pad_token_id 0 instead of None"),
        (FieldChange("architecture", "BertModel", "BertForMaskedLM"), "BertForMaskedLM instead of BertModel"),
    ],
)
def test_a_change_is_said_in_words(change: FieldChange, phrase: str) -> None:
    assert str(change) == phrase


def test_a_share_is_one_of_the_first() -> None:
    base = Case(Model(BertConfig(num_hidden_layers=1)))
    none = Case(Model(BertConfig(num_hidden_layers=1), "BertForMaskedLM"))
    assert explain(base, none, QUANTITIES["head"]).share is None
    found = explain(none, base, QUANTITIES["head"])
    assert found.share == Fraction(-1)


@given(models())
def test_components_and_shapes_are_the_models(model: Model) -> None:
    assert sum(components(model).values()) == model.num_parameters()
    config = model.config
    assert list(shapes(model).values()) == [
        (config.vocab_size, config.hidden_size),
        (config.max_position_embeddings, config.hidden_size),
        (config.hidden_size, config.hidden_size),
        (config.intermediate_size, config.hidden_size),
    ]


def test_base_and_large() -> None:
    base, large = pair("size")
    assert large.config.num_hidden_layers == 2 * base.config.num_hidden_layers
    assert 3 < real(large) / real(base) < 3.1
    one, two = (
        PARAMETERS.of(Case(model).replace(num_hidden_layers=2))
        - PARAMETERS.of(Case(model).replace(num_hidden_layers=1))
        for model in (base, large)
    )
    assert 1.7 < two / one < 1.8


def test_uncased_and_chinese() -> None:
    uncased, chinese = pair("vocabulary")
    assert differing([uncased, chinese]) == ["vocab_size"]
    assert real(uncased) - real(chinese) == 9394 * 768
    assert difference("vocabulary", "encoder") == difference("vocabulary", "forward") == 0


def test_heads() -> None:
    few, many = pair("heads")
    assert (few.config.num_attention_heads, many.config.num_attention_heads) == (3, 12)
    assert real(few) == real(many)
    for quantity in ("parameters", "embeddings", "encoder", "pooler", "head", "forward", "training", "weights"):
        assert difference("heads", quantity) == 0
    assert difference("heads", "activations") > 0


def test_wide_and_narrow() -> None:
    wide, narrow = pair("shape")
    assert real(wide) == real(narrow) == 85_109_376
    assert (wide.config.num_hidden_layers, narrow.config.num_hidden_layers) == (6, 39)
    assert difference("shape", "embeddings") < 0
    assert difference("shape", "forward") > 0
    for model in (wide, narrow):
        config = model.config
        assert config.hidden_size % 64 == config.intermediate_size % 64 == 0
        assert 3.8 < config.intermediate_size / config.hidden_size < 4.4


def test_all_architectures() -> None:
    models = pair("tasks")
    assert [model.architecture for model in models] == list(ARCHITECTURES)
    bodies = [components(model) for model in models]
    assert all(
        (body["embeddings"], body["encoder"]) == (bodies[0]["embeddings"], bodies[0]["encoder"]) for body in bodies
    )
    assert all(abs(real(model) / real(models[0]) - 1) < 0.01 for model in models)


def test_tied_and_untied() -> None:
    tied, untied = pair("tied")
    assert real(untied) - real(tied) == 30522 * 768 + 30522
    assert difference("tied", "head") == 30522 * 768 + 30522


@pytest.mark.parametrize("name", PAIRS)
def test_a_pair_is_a_link_of_its_own(name: str) -> None:
    here, *others = pair(name)
    assert others
    assert len({pair.models for pair in PAIRS.values()}) == len(PAIRS)
    assert here not in others


def test_between_any_two_well_known_models_the_parts_sum_up_and_each_is_said() -> None:
    for one, two in permutations(map(model_of_preset, WELL_KNOWN), 2):
        found = explain(Case(one), Case(two), PARAMETERS)
        total = found.before + sum(part.difference for part in found.parts)
        assert total == found.after == two.num_parameters()
        assert all(part.changes for part in found.parts)
        said = [change.field for part in found.parts for change in part.changes]
        assert len(said) == len(set(said))


@pytest.mark.parametrize("name", WELL_KNOWN)
def test_a_well_known_model_is_as_large_as_the_real_one(name: str) -> None:
    model = model_of_preset(name)
    assert PARAMETERS.of(Case(model)) == real(model)


def test_a_smaller_family_is_said_part_by_part() -> None:
    base, distil, albert = map(model_of_preset, ("bert-base-uncased", "distilbert-base-uncased", "albert-base-v2"))
    assert _parts(base, distil) == {
        "6 fewer layers": real(Model(replace(base.config, num_hidden_layers=6))) - real(base),
        "without a pooler": -(768 * 768 + 768),
        "without token types, DistilBertModel instead of BertModel": -2 * 768,
    }
    wide = AlbertConfig(**{**vars(albert.config), "embedding_size": 768})
    parts = _parts(base, albert)
    assert parts["embedding_size 128 instead of 768"] == real(albert) - real(Model(wide, "AlbertModel"))
    assert parts["one layer, run 12 times"] == -77_376_000
    assert _parts(albert, base)["embedding_size 768 instead of 128"] > 0


def _parts(here: Model, there: Model) -> dict[str, int]:
    found = explain(Case(here), Case(there), PARAMETERS)
    return {", ".join(map(str, part.changes)): part.difference for part in found.parts if part.difference}


NF4 = "bitsandbytes,load_in_4bit=true,bnb_4bit_quant_type=nf4"


def stepped(preset: str, steps: str) -> Case:
    changed = with_steps(model_of_preset(preset), read_steps(steps))
    return Case(changed.model, base=changed.base)


@pytest.mark.parametrize(
    ("here", "there", "said"),
    [
        ("", "lora,r=4", "with Lora(r=4)"),
        ("lora,r=4", "", "without Lora(r=4)"),
        ("layers,layers=1+;lora,r=4", "layers,layers=1+;ia3", "IA3() instead of Lora(r=4)"),
        ("", NF4, "with BitsAndBytesConfig(load_in_4bit=True, bnb_4bit_quant_type='nf4')"),
        (f"{NF4};lora,r=4", f"{NF4};lora,r=8", "Lora(r=8) instead of Lora(r=4)"),
    ],
)
def test_steps_are_the_last_part_and_all_parts_sum_up(here: str, there: str, said: str) -> None:
    """Also with different sizes: the intermediate models have the steps of the first model."""
    for preset in ("bert-base-uncased", "bert-large-uncased"):
        first, second = stepped("bert-base-uncased", here), stepped(preset, there)
        for name in ("parameters", "weights", "file", "forward", "encoder"):
            quantity = EVERY_QUANTITY[name]
            found = explain(first, second, quantity)
            assert (found.before, found.after) == (quantity.of(first), quantity.of(second))
            assert sum(part.difference for part in found.parts) == found.difference
            assert str(found.parts[-1].changes[0]) == said
            assert len(found.parts) == (1 if preset == "bert-base-uncased" else 5)
    before, after = (stepped("bert-base-uncased", steps).changed.memory_bytes for steps in (here, there))
    assert explain(stepped("bert-base-uncased", here), stepped("bert-base-uncased", there), WEIGHTS).difference == (
        after - before
    )


@pytest.mark.parametrize(
    ("here", "there", "parts"),
    [
        (
            "",
            "layers,layers=1+3;vocabulary,new_num_tokens=20000;lora,r=4",
            ["with DropLayers(layers=[1, 3])", "with ResizeVocabulary(new_num_tokens=20000)", "with Lora(r=4)"],
        ),
        (
            "layers,layers=1+;lora,r=4",
            "layers,layers=1+3;lora,r=4",
            ["DropLayers(layers=[1, 3]) instead of DropLayers(layers=[1])"],
        ),
        (
            "vocabulary,new_num_tokens=20000;lora,r=4",
            "lora,r=8",
            ["without ResizeVocabulary(new_num_tokens=20000)", "Lora(r=8) instead of Lora(r=4)"],
        ),
        ("layers,layers=1+;ia3", "", ["without IA3()", "without DropLayers(layers=[1])"]),
    ],
)
def test_each_step_is_a_part_and_counts_what_it_adds(here: str, there: str, parts: list[str]) -> None:
    """The model after each part is a model that the library can make."""
    first, second = stepped("bert-base-uncased", here), stepped("bert-base-uncased", there)
    for measure in ("parameters", "forward", "training_memory", "file"):
        found = explain(first, second, EVERY_QUANTITY[measure])
        assert [str(part.changes[0]) for part in found.parts] == parts
        assert found.before + sum(part.difference for part in found.parts) == EVERY_QUANTITY[measure].of(second)
    if not here:
        made = there.split(";")
        totals = [stepped("bert-base-uncased", ";".join(made[: number + 1])).model for number in range(len(made))]
        found = explain(first, second, PARAMETERS)
        assert [part.total for part in found.parts] == [model.num_parameters() for model in totals]


def test_a_step_after_which_a_figure_is_not_known_is_a_part_with_the_next_one() -> None:
    """Nothing is trained in a quantized model without an adapter."""
    first, second = stepped("bert-base-uncased", ""), stepped("bert-base-uncased", f"{NF4};lora,r=4")
    trained, weights = (explain(first, second, EVERY_QUANTITY[name]).parts for name in ("trainable", "weights"))
    assert [len(part.changes) for part in trained] == [2]
    assert [len(part.changes) for part in weights] == [1, 1]


def test_layers_that_get_weights_of_their_own_are_called_so() -> None:
    parts = _parts(model_of_preset("albert-base-v2"), model_of_preset("bert-base-uncased"))
    assert parts["12 layers, each with its own weights"] > 70_000_000
    here, there = (Case(model_of_preset(name)) for name in ("bert-base-uncased", "albert-base-v2"))
    flops = explain(here, there, QUANTITIES["forward"])
    assert not any("run 12 times" in str(change) for part in flops.parts for change in part.changes)
