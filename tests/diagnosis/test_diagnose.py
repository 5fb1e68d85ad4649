"""The diagnosis of a typed number."""

import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from bertcalc import BertConfig, Config
from bertcalc.change_steps.step_texts import read_steps
from bertcalc.diagnosis.diagnose import Diagnosis, Match, OtherModelMatch, OwnPart, diagnose, told_apart
from bertcalc.diagnosis.explain import Cause
from bertcalc.diagnosis.known_counts import KnownCount
from bertcalc.diagnosis.typos import is_slip, slips_to
from bertcalc.families import family_of
from bertcalc.families.presets import PRESETS
from bertcalc.model.model import Model
from bertcalc.text.amounts import typed
from tests.examples import sampled
from tests.oracle import Case

CHINESE = PRESETS["bert-base-chinese"].config


def of(text: str, config: Config = BertConfig(), architecture: str = "BertModel") -> Diagnosis:  # noqa: B008 # the default is frozen
    model = Model(config, architecture)
    return diagnose(KnownCount(model, model.num_parameters()), typed(text))


def test_a_known_count_needs_no_miscounts() -> None:
    found = of("109,514,298")
    assert [
        (match.total, {known_count.model.architecture for known_count in match.known_counts}) for match in found.matches
    ] == [(109_514_298, {"BertForMaskedLM", "BertLMHeadModel"})]
    assert not found.miscounted


def test_a_checkpoint_file_with_its_buffer() -> None:
    [match] = of("110,106,940").matches
    assert [(known_count.model.architecture, known_count.buffers) for known_count in match.known_counts] == [
        ("BertForPreTraining", 512)
    ]


def test_bytes_of_a_known_count() -> None:
    [match] = of("437,928,960").matches
    assert (match.reading.key, match.total) == ("float32", 109_482_240)


def test_bytes_of_a_count_with_a_miscount() -> None:
    right, positions = 109_482_240, 393_216
    [miscounted] = of(str(4 * (right - positions))).miscounted
    assert miscounted.reading.key == "float32"
    assert [cause.miscount for cause in miscounted.explanation] == ["positions"]


def test_a_miscount_in_another_architecture_is_found() -> None:
    found = of("132,955,194").miscounted
    assert {one.known_count.model.architecture for one in found} == {"BertForMaskedLM", "BertLMHeadModel"}
    assert {cause.miscount for one in found for cause in one.explanation} == {"decoder again"}


def test_all_that_rounds_to_a_number_is_listed() -> None:
    found = of("110M")
    typed_exactly = {match.total for match in found.matches if not match.reading.rounded}
    assert typed_exactly == {109_514_298, 110_106_428}
    assert 109_482_240 in {match.total for match in found.matches if match.reading.rounded}


@pytest.mark.parametrize("config", [BertConfig(), CHINESE])
def test_write_up_004_is_said_to_be_what_it_is_whatever_is_shown(config: Config) -> None:
    found = of("75,641,856", config)
    assert found == Diagnosis(hand=found.hand)
    assert found.hand
    hand, miscounted = found.hand
    assert hand.preset == "bert-base-chinese"
    # The terms by which the write-up differs from the exact 102,267,648 follow from its formulas.
    assert miscounted.known_count.parameters == 102_267_648
    assert [tuple(cause) for cause in miscounted.explanation] == [
        ("layer biases", -36_864 - 46_080),
        ("pooler", -590_592),
        ("attention once", -11 * 2_359_296),
    ]


@pytest.mark.parametrize(
    ("text", "part", "layers"),
    [
        ("28,348,416", "attention", "all"),  # 12 x 4 x (768 x 768 + 768)
        ("7,087,872", "layers", "one"),
        ("85,054,464", "layers", "all"),
        ("23,440,896", "word embeddings", "all"),  # 30,522 x 768
        ("2,359,296", "encoder.layer.*.intermediate.dense.weight", "one"),  # 768 x 3,072
        ("85M", "layers", "all"),
    ],
)
def test_a_part_of_the_model_is_no_miscount(text: str, part: str, layers: str) -> None:
    found = of(text)
    assert (part, layers) in [(own.counted.part, own.counted.layers) for own in found.parts]
    assert {own.reading.key for own in found.parts} == {"parameters"}
    assert not found.miscounted


def test_bytes_of_a_part() -> None:
    [own] = of(str(4 * 7_087_872)).parts
    assert (own.reading.key, own.counted.part, own.counted.layers) == ("float32", "layers", "one")


@pytest.mark.parametrize(
    ("preset", "architecture"),
    sampled(
        [
            ("bert-base-uncased", "BertModel"),
            ("bert-large-uncased", "BertForMaskedLM"),
            ("roberta-base", "RobertaForSequenceClassification"),
            ("albert-base-v2", "AlbertModel"),
            ("bert-base-chinese", "BertModel"),
            ("ModernBERT-base", "ModernBertModel"),
            ("gpt2", "GPT2Model"),
        ],
        3,
    ),
)
def test_few_random_numbers_get_a_confident_explanation(preset: str, architecture: str) -> None:
    """The numbers differ from the right count by at most 200 times the hidden size, in whole multiples."""
    config = PRESETS[preset].config
    right = Model(config, architecture).num_parameters()
    chosen = random.Random(23).sample([step for step in range(-200, 201) if step], 100)
    confident = [step for step in chosen if of(f"{right + step * config.hidden_size}", config, architecture).confident]
    assert len(confident) <= 3


def test_several_unrelated_mistakes_are_possible_only() -> None:
    found = of(str(109_482_240 + (6 - 36 + 24) * 768 - 12 * 3072 - 7_087_872))
    assert not found.miscounted
    assert found.possible
    assert min(one.ideas for one in found.possible) >= 3


def test_equals_are_told_apart_by_their_terms() -> None:
    found = of("109,454,592")
    assert [[cause.miscount for cause in one.explanation] for one in found.miscounted] == [
        ["qkv biases"],
        ["feed-forward biases of H"],
    ]
    attention, forward = 12 * 4 * (768**2 + 768), 12 * (2 * 768 * 3072 + 3072 + 768)
    assert told_apart(found.miscounted) == [
        ("attention", (attention - 12 * 3 * 768, attention)),
        ("feed-forward", (forward, forward - 12 * (3072 - 768))),
    ]


@pytest.mark.parametrize("text", ["109,482,241", "109,428,240", "109,482,24", "1,094,822,240", "109482340"])
def test_a_slip_of_the_keyboard_is_recognised(text: str) -> None:
    found = of(text.replace(",", ""))
    assert 109_482_240 in [slip.meant for slip in found.slips]
    assert not found.confident or found.miscounted[0].known_count.model.architecture == "BertModel"


def test_a_neighbour_comes_before_a_wrong_digit() -> None:
    found = slips_to(KnownCount(Model(BertConfig()), 109_482_240), 135_063_810)
    assert [slip.meant for slip in found] == [135_063_809, 435_063_810]


def test_a_digit_is_lost_of_no_model_of_another_size() -> None:
    assert not of("158,243,328", CHINESE).slips  # a small model has 15,843,328


@pytest.mark.parametrize(
    ("text", "preset", "fields", "sister", "causes"),
    [
        ("194,536,704", "bert-large-uncased", {"hidden_size", "intermediate_size"}, "bert-base-uncased", []),
        ("158,809,088", "bert-large-uncased", {"num_hidden_layers", "intermediate_size"}, "bert-base-uncased", []),
        (
            "157,759,488",
            "bert-large-uncased",
            {"num_hidden_layers", "intermediate_size"},
            "bert-base-uncased",
            ["pooler"],
        ),
        ("209,494,272", "gpt2-medium", {"hidden_size", "intermediate_size"}, "gpt2", []),
        (
            f"{209_494_272 + 50_257 * 768}",
            "gpt2-medium",
            {"hidden_size", "intermediate_size"},
            "gpt2",
            ["decoder again"],
        ),
    ],
)
def test_sizes_of_two_published_models(
    text: str, preset: str, fields: set[str], sister: str, causes: list[str]
) -> None:
    [one] = of_preset(text, preset).miscounted
    assert one.known_count.mix
    assert (set(one.known_count.mix.fields), one.known_count.mix.preset) == (fields, sister)
    assert [cause.miscount for cause in one.explanation[1:]] == causes
    assert f"{one.total:,}" == text or f"{one.total}" == text


def of_preset(text: str, preset: str) -> Diagnosis:
    config = PRESETS[preset].config
    return of(text, config, family_of(config).base.name)


@pytest.mark.parametrize("preset", ["bert-base-chinese", "roberta-base", "bert-base-multilingual-cased"])
@pytest.mark.parametrize("text", ["110M", "110000000", "110 million"])
def test_a_rounded_number_of_another_model_names_it(preset: str, text: str) -> None:
    found = of_preset(text, preset)
    assert found.elsewhere[0].preset == "bert-base-uncased"
    assert not found.matches


@pytest.mark.parametrize("text", ["104.4M", "104,400,000"])
def test_millions_of_2_to_the_20(text: str) -> None:
    matches = of(text).matches  # 109,482,240 / 2**20 = 104.41
    assert {match.reading.key for match in matches} == {"mebi"}
    assert 109_482_240 in [match.total for match in matches]


@pytest.mark.parametrize(
    ("text", "preset"),
    [
        ("117M", "gpt2"),
        ("117,000,000", "gpt2"),
        ("345M", "gpt2-medium"),
        ("762M", "gpt2-large"),
        ("0.139B", "ModernBERT-base"),
        ("1.5B", "gpt2-xl"),
    ],
)
def test_a_published_number_that_is_no_count_is_said_to_be_that(text: str, preset: str) -> None:
    assert [claim.preset for claim in of(text).claims] == [preset]


@pytest.mark.parametrize("text", ["1.2e8", "117 MB", "117,653,760"])
def test_what_only_comes_near_a_published_number_is_not_that(text: str) -> None:
    assert not of(text).claims


def test_half_of_another_models_count() -> None:
    [found] = of_preset("54,741,120", "distilbert-base-uncased").elsewhere
    assert (found.reading.key, found.preset) == ("half", "bert-base-uncased")


@pytest.mark.parametrize(
    ("text", "preset", "causes"),
    [
        (f"{102_267_648 + 11 * (768 * 768 + 768)}", "bert-base-chinese", [{"pooler in every layer"}]),
        (f"{12 * 102_267_648 - 11 * 85_054_464}", "bert-base-chinese", [{"all in every layer"}]),
        (f"{109_482_240 + 12 * 1536}", "bert-base-uncased", [{"third LayerNorm"}]),
        (f"{102_267_648 + 12 * 768}", "bert-base-chinese", [{"down bias again"}, {"output bias again"}]),
        (f"{11_683_584 + 512 * (768 - 128)}", "albert-base-v2", [{"positions of H"}]),
        (f"{183_831_552 + 12 * 2 * (768 * 768 + 768)}", "deberta-v3-base", [{"position projections added"}]),
        (f"{149_014_272 + 22 * 768 * (2 * 3072 - 3 * 1152)}", "ModernBERT-base", [{"gate", "four times"}, {"I=2048"}]),
    ],
)
def test_what_is_said_first(text: str, preset: str, causes: list[set[str]]) -> None:
    found = of_preset(text, preset).miscounted
    assert [{cause.miscount for cause in one.explanation} for one in found] == causes


@given(st.integers(10**6, 10**9), st.data())
def test_one_wrong_digit_is_a_slip_and_two_are_none(count: int, data: st.DataObject) -> None:
    digits = list(str(count))
    places = data.draw(st.lists(st.integers(1, len(digits) - 1), min_size=2, max_size=2, unique=True))
    first, second = places
    digits[first] = str((int(digits[first]) + data.draw(st.integers(1, 9))) % 10)
    once = int("".join(digits))
    assert is_slip(once, count)
    digits[second] = str((int(digits[second]) + 5) % 10)
    twice = int("".join(digits))
    if abs(first - second) > 1 and abs(twice - count) != 1:
        assert not is_slip(twice, count)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("85,646,592", "no embeddings"),
        ("110,104,890", "pooler"),
        ("109,483,264", "both buffers"),
        ("109,487,623", "labels"),  # BertForSequenceClassification with 7 labels
    ],
)
def test_counts_by_other_conventions_are_known(text: str, said: str) -> None:
    assert {known_count.convention for match in of(text).matches for known_count in match.known_counts} == {said}


@pytest.mark.parametrize(
    ("text", "preset"),
    [
        ("178,565,115", "bert-base-multilingual-cased"),
        ("168,054,423", "bert-base-multilingual-uncased"),
        ("102,880,904", "bert-base-chinese"),
    ],
)
def test_counts_of_other_models_by_other_conventions_are_known(text: str, preset: str) -> None:
    [found] = of(text).elsewhere
    assert (found.preset, found.known_count and found.known_count.convention) == (preset, "pooler")


def test_what_rounds_to_a_part_of_another_model_is_not_read_as_bytes_first() -> None:
    found = of("85M", PRESETS["bert_uncased_L-4_H-512_A-8"].config)
    assert not found.parts
    assert "parameters" not in {match.reading.key for match in found.matches}
    assert "bert-base-uncased" in {one.preset for one in found.elsewhere}


def test_a_rounding_to_another_model_does_not_come_before_the_present_one() -> None:
    assert not of("110M").elsewhere
    assert of("110M").matches


def test_bytes_in_every_type() -> None:
    for per, key in ((1, "8-bit"), (2, "16-bit"), (4, "float32"), (8, "float64")):
        [match] = of(f"{per * 109_482_240} bytes").matches
        assert match.reading.key == key


def test_a_rounded_number_is_not_explained_by_chance() -> None:
    """For many totals that round to a given number, some miscount always leads to one of them."""
    assert not of("72.1 MB", CHINESE).miscounted
    found = of("437.9 MB")
    assert 109_482_240 in {match.total for match in found.matches}
    assert not found.miscounted


@pytest.mark.parametrize(
    ("text", "preset", "architecture", "count", "causes"),
    [
        ("132.96M", "bert-base-uncased", "BertForMaskedLM", 109_514_298 + 30_522 * 768, {"decoder again"}),
        ("132,960,000", "bert-base-uncased", "BertForMaskedLM", 109_514_298 + 30_522 * 768, {"decoder again"}),
        ("531.8 MB", "bert-base-uncased", "BertForMaskedLM", 109_514_298 + 30_522 * 768, {"decoder again"}),
        ("470.3M", "xlm-roberta-base", "XLMRobertaForMaskedLM", 278_295_186 + 250_002 * 768, {"decoder again"}),
        ("89.65M", "albert-base-v2", "AlbertModel", 11_683_584 + 11 * 7_087_872, {"layers not shared"}),
    ],
)
def test_a_rounded_number_with_a_usual_miscount(
    text: str, preset: str, architecture: str, count: int, causes: set[str]
) -> None:
    found = of(text, PRESETS[preset].config, architecture)
    assert found.usual
    assert found.confident
    assert [one.total for one in found.miscounted] == [count]
    assert [{cause.miscount for cause in one.explanation} for one in found.miscounted] == [causes]


@pytest.mark.parametrize(
    ("text", "preset", "architecture", "count"),
    [
        ("163.01M", "gpt2", "GPT2LMHeadModel", 124_439_808 + 50_257 * 768 - 12 * 3 * 768),
        ("1.0797亿", "bert-base-uncased", "BertModel", 12 * 12 * 768**2 + 30_000 * 768),
    ],
)
def test_a_rounded_number_with_two_miscounts_is_possible_only(
    text: str, preset: str, architecture: str, count: int
) -> None:
    found = of(text, PRESETS[preset].config, architecture)
    assert found.possible[0].total == count
    assert not found.miscounted
    assert not found.elsewhere


def test_a_rounded_number_by_a_usual_habit_is_a_hint() -> None:
    found = of("108.4M", PRESETS["bert-base-uncased"].config, "BertModel")
    assert found.miscounted[0].total == 12 * 12 * 768**2 + 30_522 * 768
    assert not found.confident


@pytest.mark.parametrize(
    ("preset", "architecture", "digits"),
    sampled(
        [
            ("bert-base-uncased", "BertModel", 1),
            ("bert-base-uncased", "BertModel", 2),
            ("gpt2", "GPT2LMHeadModel", 1),
            ("gpt2", "GPT2LMHeadModel", 2),
        ],
        3,
    ),
)
def test_few_random_rounded_numbers_are_explained(preset: str, architecture: str, digits: int) -> None:
    config = PRESETS[preset].config
    right = Model(config, architecture).num_parameters()
    drawn = random.Random(23)
    numbers = [f"{right * drawn.uniform(0.9, 1.1) / 10**6:.{digits}f}M" for _number in range(150)]
    found = [of(number, config, architecture) for number in numbers]
    assert sum(one.confident for one in found) <= 4
    assert sum(bool(one.miscounted) for one in found) <= 9  # including hints, such as 12 L H^2 + V H for 108.4M


@pytest.mark.parametrize("preset", ["bert-base-uncased", "bert-base-chinese", "bert-base-multilingual-cased"])
@pytest.mark.parametrize("text", ["85.6M", "85,600,000", "342.6 MB"])
def test_a_rounded_count_without_embeddings_is_known(preset: str, text: str) -> None:
    matches = of_preset(text, preset).matches
    assert 85_646_592 in [match.total for match in matches]
    assert {known_count.convention for match in matches for known_count in match.known_counts} == {"no embeddings"}


@pytest.mark.parametrize(
    ("text", "key"),
    [
        (f"{3 * 109_482_240}", "moments"),
        (f"{4 * 109_482_240} parameters", "training"),
        (f"{12 * 109_482_240} bytes", "moments float32"),
        ("1.31 GB", "moments float32"),
        (f"{16 * 109_482_240}", "training float32"),
        ("1.75 GB", "training float32"),
        ("1.97 GB", "training mixed"),
    ],
)
def test_all_of_a_training_checkpoint(text: str, key: str) -> None:
    matches = of(text).matches
    assert 109_482_240 in [match.total for match in matches]
    assert {match.reading.key for match in matches} == {key}


def test_who_makes_three_mistakes_and_is_a_digit_away_has_mistyped() -> None:
    found = of_preset("270,843,648", "xlm-roberta-base")  # 278,043,648 with two digits exchanged
    assert [slip.meant for slip in found.slips] == [278_043_648]
    assert not found.miscounted
    assert found.possible


def test_nothing_is_made_up() -> None:
    assert of("123,456,789") == Diagnosis()


def test_a_simple_miscount_is_said_beside_the_known_count_that_it_leads_to() -> None:
    gpt2, distilbert = PRESETS["gpt2"].config, PRESETS["distilbert-base-uncased"].config
    found = of("163,037,184", gpt2, "GPT2Model")  # the count of GPT-2 with an untied head
    assert {known_count.model.architecture for match in found.matches for known_count in match.known_counts} == {
        "GPT2LMHeadModel"
    }
    assert [[cause.miscount for cause in one.explanation] for one in found.miscounted] == [["decoder again"]]
    found = of("66,955,008", distilbert, "DistilBertModel")
    assert found.elsewhere[0].preset == "bert_uncased_L-6_H-768_A-12"
    assert {cause.miscount for cause in found.miscounted[0].explanation} == {"token types added", "pooler added"}


def test_the_hubs_number_for_gpt_2_has_its_masks() -> None:
    """The masks of 12 layers, 1,024 × 1,024 each, are in the file, and the Hub counts what a file contains."""
    [match] = of("137,022,720", PRESETS["gpt2"].config, "GPT2Model").matches
    assert {known_count.convention for known_count in match.known_counts} == {"masks"}


def test_a_rarer_cause_in_another_class_is_no_equal() -> None:
    found = of("124,401,408", PRESETS["gpt2"].config, "GPT2Model").miscounted
    assert {one.known_count.model.architecture for one in found} == {"GPT2Model"}


@pytest.mark.parametrize("preset", ["distilbert-base-uncased", "gpt2", "ModernBERT-base", "deberta-v3-base"])
def test_no_cause_is_named_that_changes_nothing(preset: str) -> None:
    config = PRESETS[preset].config
    model = Model(config, family_of(config).base.name)
    right = model.num_parameters()
    for step in (-12, -2, 1, 2, 24, -config.vocab_size):
        found = of(f"{right + step * config.hidden_size}", config, model.architecture)
        for one in (*found.miscounted, *found.behind, *found.possible):
            assert all(cause.amount for cause in one.explanation)


@pytest.mark.parametrize(
    ("preset", "changes"),
    [
        ("bert-base-uncased", {"intermediate_size": 3702}),
        ("bert-base-uncased", {"hidden_size": 786, "num_attention_heads": 6}),
        ("bert-base-uncased", {"vocab_size": 35022}),
        ("gpt2", {"vocab_size": 50527}),
        ("albert-base-v2", {"hidden_size": 786, "num_attention_heads": 6}),
        ("electra-small-discriminator", {"embedding_size": 182}),
        ("ModernBERT-base", {"intermediate_size": 1125}),
    ],
)
@pytest.mark.parametrize("without_pooler", [False, True])
def test_a_mistyped_size(preset: str, changes: dict[str, int], without_pooler: bool) -> None:
    """The number is the count of the real model with another size, possibly without its pooler."""
    config = PRESETS[preset].config
    other = type(config)(**{**config.shared(), **changes})
    real = Case(other, family_of(config).base.name).real()
    poolers = sum(tensor.numel() for name, tensor in real.named_parameters() if "pooler" in name)
    found = of_preset(f"{real.num_parameters() - poolers * without_pooler}", preset).miscounted[0]
    assert found.known_count.mix
    assert found.known_count.mix.fields == (next(iter(changes)),)
    assert [cause.miscount for cause in found.explanation[1:]] == ["pooler"] * (without_pooler and poolers > 0)


@pytest.mark.parametrize(
    ("text", "preset", "architecture", "miscount"),
    [
        ("1.31亿", "bert-base-chinese", "BertModel", "gated"),
        ("31,705,344", "albert-base-v2", "AlbertModel", "embedding_size"),  # 768, and a projection of 768 x 768
        ("about 343 million", "bert-base-uncased", "BertModel", "heads times"),
        ("1.84e8", "bert-large-uncased", "BertModel", "intermediate as hidden"),
        ("~90.0M", "bert-base-uncased", "BertModel", "one head"),
        ("34M", "albert-base-v2", "AlbertForMaskedLM", "decoder of H"),
    ],
)
def test_a_mistake_stands_among_three_at_most(text: str, preset: str, architecture: str, miscount: str) -> None:
    found = of(text, PRESETS[preset].config, architecture)
    assert miscount in [cause.miscount for one in found.miscounted for cause in one.explanation]
    assert len(found.miscounted) <= 3


def test_no_small_mistake_is_added_that_a_rounded_number_does_not_show() -> None:
    found = of("343M").miscounted
    assert {len(one.explanation) for one in found} == {1}


def test_a_rounded_number_of_another_size_that_no_model_has() -> None:
    # It would match 85 to 95 million if the typed zero did not count.
    assert not {one.preset for one in of("90.0M").elsewhere}


def test_the_hubs_rounded_number_for_gpt_2() -> None:
    matches = of("137M", PRESETS["gpt2"].config, "GPT2Model").matches
    assert {known_count.convention for match in matches for known_count in match.known_counts} == {"masks"}


@pytest.mark.parametrize(
    ("text", "preset"), [("270M", "xlm-roberta-base"), ("0.55B", "xlm-roberta-large"), ("117M", "gpt2")]
)
def test_a_published_number_of_the_model_itself_is_nothing_else(text: str, preset: str) -> None:
    found = of_preset(text, preset)
    assert [claim.preset for claim in found.claims] == [preset]
    assert found == Diagnosis(claims=found.claims)


@pytest.mark.parametrize(
    ("text", "architecture", "amount"),
    [
        ("109,777,152", "BertModel", "all"),
        ("296,450", "BertForSequenceClassification", "trained"),
        ("1,339,392", "BertModel", "trained"),
        ("109,483,010", "BertForQuestionAnswering", "all"),
    ],
)
def test_a_model_with_adapters_is_known(text: str, architecture: str, amount: str) -> None:
    first, *_more = of(text, architecture=architecture).changed
    assert (first.model.architecture, first.amount) == (architecture, amount)
    count = first.model.num_parameters(only_trainable=amount == "trained")
    assert f"{count:,}" == text


def test_adapters_of_another_class_are_known_where_nothing_explains_a_number() -> None:
    first, *_more = of("109,777,152", architecture="BertForSequenceClassification").changed
    assert first.model.architecture == "BertModel"
    # It is also the count of a token classifier with adapters.
    found = of("109,483,010", architecture="BertForSequenceClassification")
    assert not found.matches
    assert [cause.miscount for cause in found.miscounted[0].explanation] == ["pooler bias"]


@pytest.mark.parametrize(
    ("text", "preset", "miscounts"),
    [
        ("1.095e8", "electra-base-discriminator", {"pooler added"}),
        ("277M", "xlm-roberta-base", {"biases", "LayerNorm", "positions", "token types", "pooler"}),
        ("366M", "bert-large-uncased", {"decoder again"}),
    ],
)
def test_a_usual_explanation_stands_beside_other_classes_that_round_to_a_number(
    text: str, preset: str, miscounts: set[str]
) -> None:
    found = of_preset(text, preset)
    assert found.matches
    assert miscounts in [{cause.miscount for cause in one.explanation} for one in found.miscounted]
    assert not found.confident


def test_two_very_common_mistakes_are_a_hint_for_a_rounded_number() -> None:
    found = of("133.5M", architecture="BertForMaskedLM").miscounted
    assert [cause.miscount for cause in found[0].explanation] == ["pooler added", "decoder again"]


def test_the_rule_of_thumb_with_a_decoder() -> None:
    [found] = of("162.1M", PRESETS["gpt2"].config, "GPT2Model").miscounted  # 12 H H L + 2 V H
    assert found.total == 12 * 12 * 768**2 + 2 * 50_257 * 768
    assert found.ideas == 1


def test_a_size_with_the_wrong_digit_doubled() -> None:
    [found] = of("109,505,280").miscounted  # V = 30,552
    assert found.known_count.mix
    assert found.known_count.model.config.vocab_size == 30_552


def test_half_of_the_model_with_twice_the_layers() -> None:
    [found] = of_preset("~55M", "distilbert-base-uncased").elsewhere
    assert (found.reading.key, found.preset) == ("half", "bert-base-uncased")


def test_three_numbers_for_each_parameter_stand_beside_a_model_that_rounds_to_it() -> None:
    found = of("about 330 million")
    assert {match.reading.key for match in found.matches} == {"moments"}
    assert found.elsewhere[0].preset == "bert-large-uncased"


def test_a_slip_to_another_models_neighbour_is_none_where_a_miscount_is_plain() -> None:
    found = of_preset("109,483,008", "roberta-base")  # V = 30,522; a class of bert-base has one more
    assert found.confident
    assert not found.slips


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("14,155,776", ("query.weight", "key.weight")),  # in all layers
        ("24,427,776", ("embeddings", "pooler")),
        ("4,719,360", ("second matrix of the feed-forward network", "intermediate.dense.weight")),
    ],
)
def test_a_sum_of_two_parts_is_known(text: str, parts: tuple[str, str]) -> None:
    found = of(text)
    assert found.parts
    assert {one.right for one in found.parts} == {int(text.replace(",", ""))}
    assert any(
        one.added and one.counted.part.endswith(parts[0]) and one.added.part.endswith(parts[1]) for one in found.parts
    )


@pytest.mark.parametrize("preset", ["bert-base-uncased", "gpt2", "deberta-base", "EuroBERT-610m", "ModernBERT-base"])
def test_bytes_and_bits_never_stand_before_a_sum_of_tensors(preset: str) -> None:
    """The number is the sum of two tensors of one layer of the real model, whatever else it may mean."""
    config = PRESETS[preset].config
    real = dict(Case(config, family_of(config).base.name).real().named_parameters())
    layer = [tensor.numel() for name, tensor in real.items() if ".1." in name and tensor.dim() == 2]
    drawn = random.Random(5)
    for _number in range(12):
        number = sum(drawn.sample(layer, 2))
        found = of_preset(f"{number}", preset)
        some: tuple[Match | OwnPart | OtherModelMatch, ...] = (*found.matches, *found.parts, *found.elsewhere)
        meanings = {one.reading.key for one in some}
        assert meanings == {"parameters"}, number


def test_three_digits_stand_before_one() -> None:
    """DeBERTa's README gives 100M backbone parameters for its base model: all except the word embeddings."""
    real = Case(PRESETS["deberta-base"].config, "DebertaModel").real()
    backbone = real.num_parameters() - real.get_input_embeddings().weight.numel()
    found = of("100M", PRESETS["deberta-base"].config, "DebertaModel")
    assert found.matches[0].total == backbone
    assert not any(match.reading.rounded for match in found.matches)
    [elsewhere] = of("100M").elsewhere
    assert (elsewhere.preset, elsewhere.known_count and elsewhere.known_count.total) == ("deberta-base", backbone)


def real_size(preset: str, architecture: str, unless: str = "nothing") -> int:
    """The parameter count of the real model, without tensors that have ``unless`` in their names."""
    parameters = Case(PRESETS[preset].config, architecture).real().named_parameters()
    return sum(tensor.numel() for name, tensor in parameters if unless not in name)


@pytest.mark.parametrize(
    ("preset", "architecture"), [("bert-large-cased", "BertModel"), ("gpt2-xl", "GPT2LMHeadModel")]
)
@pytest.mark.parametrize("width", [4, 2])
def test_gigabytes_may_be_gibibytes(preset: str, architecture: str, width: int) -> None:
    count = real_size(preset, architecture)
    found = of(f"{width * count / 2**30:.2f} GB", PRESETS[preset].config, architecture)
    assert count in {match.total for match in found.matches}
    assert {match.reading.key.partition(" ")[0] for match in found.matches} == {"gibi"}


@pytest.mark.parametrize(
    ("preset", "millions"),  # github.com/microsoft/DeBERTa
    [("deberta-v3-xsmall", 22), ("deberta-v3-small", 44), ("deberta-v3-base", 86), ("deberta-v3-large", 304)],
)
def test_the_backbones_of_deberta_v3_are_those_of_the_masked_language_model(preset: str, millions: int) -> None:
    count = real_size(preset, "DebertaV2ForMaskedLM", unless="word_embeddings")
    assert round(count / 10**6) == millions
    first = of(f"{millions}M", PRESETS[preset].config, "DebertaV2Model").matches[0]
    assert (first.total, first.known_counts[0].convention) == (count, "backbone")


def test_zeros_at_the_end_of_a_mistake_are_no_rounding() -> None:
    count = real_size("mpnet-base", "MPNetModel") + 2 * 768  # 109,488,000
    assert count % 1000 == 0
    found = of(f"{count:,}", PRESETS["mpnet-base"].config, "MPNetModel")
    assert not found.matches
    assert [cause.miscount for cause in found.miscounted[0].explanation] == ["token types added"]


@pytest.mark.parametrize("preset", ["bert-base-uncased", "bert-large-uncased", "roberta-base"])
def test_nobody_asks_for_the_bytes_of_vectors(preset: str) -> None:
    parameters = Case(PRESETS[preset].config, family_of(PRESETS[preset].config).base.name).real().named_parameters()
    biases = sum(
        tensor.numel() for name, tensor in parameters if name.endswith(("query.bias", "key.bias", "value.bias"))
    )
    architecture = family_of(PRESETS[preset].config).base.name
    assert {part.right for part in of(f"{biases}", PRESETS[preset].config, architecture).parts} == {biases}
    assert not of(f"{4 * biases}", PRESETS[preset].config, architecture).parts


@pytest.mark.parametrize(
    ("preset", "query", "transposed"),
    [
        ("bert-base-uncased", "encoder.layer.0.attention.self.query", False),
        ("roberta-base", "encoder.layer.0.attention.self.query", False),
        ("gpt2", "h.0.attn.c_attn", True),
    ],
)
def test_sums_of_the_tensors_of_a_head_come_before_bytes(preset: str, query: str, transposed: bool) -> None:
    config = PRESETS[preset].config
    architecture = family_of(config).base.name
    real = dict(Case(config, architecture).real().named_parameters())
    weight, bias = real[f"{query}.weight"], real[f"{query}.bias"]
    rows = slice(0, config.attention_head_size)
    of_head = (weight[:, rows] if transposed else weight[rows]).numel()
    biases = 3 * bias[rows].numel()
    for number, sums in (
        (2 * of_head, {"weight of the query", "weight of the key"}),
        (4 * of_head, {"weight of the output projection", "weights of query, key and value"}),
        (4 * of_head + biases, {"weight of the output projection", "query, key and value"}),
    ):
        parts = of(f"{number:,}", config, architecture).parts
        assert {part.reading.key for part in parts} == {"parameters"}
        assert all(part.right == number and part.added for part in parts)
        assert {parts[0].counted.part, parts[0].added.part if parts[0].added else ""} == sums
        assert {parts[0].counted.heads, parts[0].counted.layers} == {"one"}


def test_what_only_tiny_sizes_explain_is_no_more_than_possible() -> None:
    """With such tiny sizes, 16 is P * P as well as 4 H * H, so a rare mistake could explain any number."""
    tiny = BertConfig(
        hidden_size=2,
        num_attention_heads=1,
        num_hidden_layers=1,
        intermediate_size=3,
        vocab_size=5,
        max_position_embeddings=4,
        pad_token_id=0,
    )
    assert sum(parameter.numel() for parameter in Case(tiny, "BertModel").real().parameters()) == 81
    diagnosis = of("97", tiny)
    causes = {cause.miscount for one in diagnosis.miscounted for cause in one.explanation}
    assert not causes & {"attention scores", "attention scores of heads"}


def of_stepped(number: int, steps: str) -> Diagnosis:
    changes: Any = read_steps(steps)
    model = Model(BertConfig(), changes=changes)
    return diagnose(KnownCount(model, model.num_parameters()), typed(f"{number}"))


def test_a_size_at_which_the_steps_are_not_possible_is_not_tried() -> None:
    narrow = Case(BertConfig(vocab_size=30_252, intermediate_size=2048)).real()
    factorized = Case(BertConfig()).real()
    factorized.embeddings.word_embeddings = nn.Sequential(nn.Embedding(30_252, 512), nn.Linear(512, 768))
    for real, steps in (
        (narrow, "feed_forward,intermediate_size=2048"),
        (factorized, "embeddings,embedding_size=512"),
    ):
        [exchanged] = of_stepped(real.num_parameters(), steps).miscounted
        assert [cause.miscount for cause in exchanged.explanation] == ["vocab_size"]


def test_mistakes_in_a_model_with_steps_are_those_in_the_real_smaller_model() -> None:
    """One model has 10 layers and 9 poolers too many; the other has 30,100 tokens, padded to 30,104."""
    short, resized = Case(BertConfig(num_hidden_layers=10)).real(), Case(BertConfig()).real()
    poolers = 9 * sum(parameter.numel() for parameter in short.pooler.parameters())
    before = resized.resize_token_embeddings(30_100, mean_resizing=False).weight.numel()
    padding = resized.resize_token_embeddings(pad_to_multiple_of=8, mean_resizing=False).weight.numel() - before
    for number, steps, mistake in (
        (short.num_parameters() + poolers, "layers,layers=10+11", Cause("pooler in every layer", poolers)),
        (resized.num_parameters(), "vocabulary,new_num_tokens=30100", Cause("padded to 8", padding)),
    ):
        assert (mistake,) in [one.explanation for one in of_stepped(number, steps).miscounted]
