"""Each shipped formula is compared with the real class, at sizes that were not used to find it.

Fields change alone and together. The sizes are not those of ``bertcalc.discover.search.draws``: this file draws them
over a wide range, for every field.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from math import lcm
from random import Random
from signal import ITIMER_VIRTUAL, SIGVTALRM, setitimer, signal
from typing import Any

import pytest
import transformers

from bertcalc.discover.results.result import NOT_ASKED, Discovered
from bertcalc.discover.results.shipped import shipped, shipped_classes
from bertcalc.text.problem import InputError
from pages.ui.shell.i18n import catalogue
from tests.discover.real import counted
from tests.examples import sampled

transformers.logging.set_verbosity(transformers.logging.CRITICAL)
EXPLAINED = [key for key in shipped_classes() if (found := shipped(*key)) and not found.unexplained]
TRIED = 36  # changes tried for each class
DEEPEST = 56
SMALL = 16  # for a field up to this size, every value is tried, to twice the size and beyond
SLOW = 6.0  # CPU seconds after which a model counts as too large to build here


class TooSlowError(Exception):
    """The model takes too long to build."""


@contextmanager
def limited() -> Iterator[None]:
    def stop(*_said: Any) -> None:
        raise TooSlowError

    before = signal(SIGVTALRM, stop)
    setitimer(ITIMER_VIRTUAL, SLOW)
    try:
        yield
    finally:
        setitimer(ITIMER_VIRTUAL, 0)
        signal(SIGVTALRM, before)


def found_for(key: tuple[str, str]) -> Discovered:
    found = shipped(*key)
    assert found is not None
    return found


def another(found: Discovered, field: str, random: Random) -> int:
    """Draw another size for a field."""
    here, others = found.fields[field], list(found.fields.values())
    most = DEEPEST if "layer" in field and "size" not in field else 2**40
    kinds: list[Callable[[], int]] = [
        lambda: random.choice((1, 2, 3, 5, 7, 11, 13)),
        lambda: here + random.choice((-2, -1, 1, 2)),
        lambda: here * random.choice((2, 3, 5)),
        lambda: here // random.choice((2, 3, 4, 6)),
        lambda: 2 ** random.randint(0, here.bit_length() + 1),
        lambda: random.choice(others),
        lambda: random.randint(1, 3 * here + 9),
        lambda: here + random.randint(1, 9),
    ]
    while True:
        draw: Callable[[], int] = random.choice(kinds)
        if 0 < (size := draw()) <= most:
            return size


def changes(found: Discovered, random: Random) -> Iterator[dict[str, int]]:
    """Yield changes of single fields and of several fields, made multiples of each other where required."""
    fields = [field for field in found.fields if found.fields[field] > 0]
    while True:
        for field in random.sample(fields, len(fields)):
            yield {field: another(found, field, random)}
        for _field in fields:
            some = random.sample(fields, random.randint(min(2, len(fields)), len(fields)))
            drawn = {field: another(found, field, random) for field in some}
            yield found.whole(**made_multiples(found, drawn))


def made_multiples(found: Discovered, drawn: dict[str, int]) -> dict[str, int]:
    for field in drawn:
        values = found.completed(**drawn)
        by = lcm(*(one.step(values) for one in found.regime if (one.kind, one.field) == ("multiple", field)))
        drawn = {**drawn, field: max(1, drawn[field] // by) * by} if by else drawn
    return drawn


@pytest.mark.parametrize("key", sampled(EXPLAINED, 40, 7), ids="-".join)
def test_a_count_is_what_the_real_class_has_or_it_is_refused(key: tuple[str, str]) -> None:
    found, random = found_for(key), Random(f"shipped {key}")
    agreed = refused = 0
    for tried, fields in enumerate(changes(found, random)):
        if tried == TRIED:
            break
        try:
            count = found.count(**fields)
        except InputError:
            refused += 1
            continue
        if count > 10**13:
            continue
        try:
            with limited():
                there = counted(*key, found.given, fields)
        except TooSlowError:
            continue
        except Exception as error:
            pytest.fail(f"{key} {fields}: {count:,} is counted, and transformers refuses it: {error}")
        assert count == there, (key, fields)
        agreed += 1
    assert agreed or all(one.kind == "is" for one in found.regime) or refused


@pytest.mark.parametrize("key", sampled(EXPLAINED, 40, 11), ids="-".join)
def test_every_value_of_a_small_field_is_counted_right_or_refused(key: tuple[str, str]) -> None:
    found = found_for(key)
    for field, here in found.fields.items():
        for value in range(1, 2 * here + 3) if 0 < here <= SMALL else ():
            try:
                count = found.count(**{field: value})
            except InputError:
                continue
            try:
                with limited():
                    assert count == counted(*key, found.given, {field: value}), (key, field, value)
            except TooSlowError:
                break


def test_of_a_nested_configuration_each_given_value_is_what_transformers_builds() -> None:
    for key in EXPLAINED:
        found = found_for(key)
        first = {field.partition(".")[0]: field for field in reversed(found.fields) if "." in field}
        for field in first.values():
            try:
                count = found.count(**found.whole(**{field: found.fields[field]}))
            except InputError:
                continue
            assert count == counted(*key, found.given, found.whole(**{field: found.fields[field]})), (key, field)


def test_a_switch_that_transformers_would_reset_is_named() -> None:
    found = found_for(("speech-encoder-decoder", "SpeechEncoderDecoderModel"))
    with pytest.raises(InputError, match=r"resets the others \(add_cross_attention = False, is_decoder = False\)"):
        found.count(**{"decoder.num_hidden_layers": 12})
    assert found.count(**{"encoder.num_hidden_layers": 11}) == counted(
        found.model_type, found.cls, {}, {"encoder.num_hidden_layers": 11}
    )


CASES: list[tuple[str, str, dict[str, int]]] = [
    ("mllama", "MllamaForCausalLM", {"num_hidden_layers": 44}),  # its list of cross-attention layers ends at 38
    ("embedding_gemma2_text", "EmbeddingGemma2TextModel", {"num_key_value_heads": 1}),
    ("embedding_gemma2_text", "EmbeddingGemma2TextModel", {"head_dim": 128}),
    ("dots3_note", "Dots3NoteForCausalLM", {"num_hidden_layers": 47}),
    ("dots3_note", "Dots3NoteForCausalLM", {"v_head_dim": 129}),
    ("dots3_note", "Dots3NoteForCausalLM", {"q_lora_rank": 2048}),
    ("evolla", "EvollaModel", {"aligner_num_add_layers": 7}),
    ("evolla", "EvollaModel", {"aligner_num_add_layers": 9}),
    ("convbert", "ConvBertForMaskedLM", {"hidden_size": 1536}),
    ("blt", "BltForCausalLM", {"cross_attn_k": 4}),
    ("canary", "CanaryForConditionalGeneration", {"encoder_config.subsampling_conv_channels": 16}),
    ("olmo_hybrid", "OlmoHybridForCausalLM", {"num_attention_heads": 128}),  # int(0.75 * 3840 / 128) is rounded down
    ("encoder-decoder", "EncoderDecoderModel", {"decoder.intermediate_size": 3073}),
    # The default value, given explicitly.
    ("encoder-decoder", "EncoderDecoderModel", {"decoder.num_hidden_layers": 12}),
    ("speech-encoder-decoder", "SpeechEncoderDecoderModel", {"decoder.num_hidden_layers": 12}),
]


@pytest.mark.parametrize(("model_type", "cls", "fields"), CASES)
def test_what_was_counted_wrong_is_right_or_refused(model_type: str, cls: str, fields: dict[str, int]) -> None:
    found = shipped(model_type, cls)
    if found is None:  # the formula is not shipped, but searched on request
        return
    try:
        count = found.count(**fields)
    except InputError:
        return
    assert count == counted(model_type, cls, found.given, fields)


def test_a_field_that_has_to_follow_is_named_with_its_size() -> None:
    found = found_for(("convbert", "ConvBertForMaskedLM"))
    with pytest.raises(InputError, match=r"embedding_size would have to change to 1,536"):
        found.count(hidden_size=1536)
    both = found.whole(hidden_size=1536)
    assert both == {"hidden_size": 1536, "embedding_size": 1536}
    assert found.count(**both) == counted("convbert", "ConvBertForMaskedLM", {}, both)


def test_fields_that_transformers_would_fill_in_have_to_be_given() -> None:
    key = ("qwen3_asr", "Qwen3ASRForConditionalGeneration")
    found, change = found_for(key), {"text_config.vocab_size": 1000}
    with pytest.raises(InputError, match=r"text_config\.hidden_size would change from 2,048 to 4,096\. Give"):
        found.count(**change)
    assert counted(*key, {}, change) != found.count(**found.whole(**change)) == counted(*key, {}, found.whole(**change))


def test_stored_reasons_are_messages_of_the_catalogue() -> None:
    """A reworded message has to be reworded in the stored formulas, too: it is compared and translated."""
    formulas = (shipped(*key) for key in shipped_classes())
    reasons = {formula.no_flops.message for formula in formulas if formula and formula.no_flops}
    chinese = catalogue("zh").gettext
    assert NOT_ASKED.message in reasons
    assert [reason for reason in reasons if chinese(reason) == reason] == []
