"""Values that transformers fills in for a nested configuration with one given field, compared with the real classes."""

from functools import partial
from math import inf

import transformers

from bertcalc.discover.search import build
from bertcalc.discover.search.config_integers import recipe_of
from bertcalc.discover.search.experiments import Lab
from bertcalc.discover.search.nested import Filled, filled_in


def filled(model_type: str, cls: str) -> Filled:
    with build.quiet():
        real = build.model_class(cls)
        recipe = recipe_of(build.config_class(model_type), real, {}, inf)
        lab = Lab(recipe, partial(build.tensors, real), until=inf, progress=lambda *_said: None)
        return filled_in(lab, [field for field in lab.sizes if "." in field])


def test_sizes_that_are_filled_in_are_those_of_the_real_class() -> None:
    usual = transformers.CanaryConfig().encoder_config
    after = transformers.CanaryConfig(encoder_config={"hidden_size": usual.hidden_size}).encoder_config
    result = filled("canary", "CanaryForConditionalGeneration")
    sizes = {field.partition(".")[2]: size for field, size in result.sizes.items()}
    assert sizes == {field: getattr(after, field) for field in ("num_hidden_layers", "num_mel_bins")}
    assert all(getattr(usual, field) != size for field, size in sizes.items())
    assert not result.fixed
    assert not result.reset


def test_a_switch_that_is_reset_fixes_its_configuration() -> None:
    usual = transformers.UltraVBertConfig().vision_config
    after = transformers.UltraVBertConfig(vision_config={"hidden_size": usual.hidden_size}).vision_config
    assert after.vision_use_head != usual.vision_use_head
    result = filled("ultravbert", "UltraVBertForMaskedLM")
    assert result.reset == {"vision_config": [f"vision_use_head = {after.vision_use_head}"]}
    assert {condition.field.partition(".")[0] for condition in result.fixed} == {"vision_config"}
    assert not result.sizes
