"""The overrides of the memory simulation that each family has."""

import sys
from pathlib import Path

import pytest

import bertcalc
from bertcalc.memory import family_steps
from bertcalc.memory.family_steps import step_registry
from bertcalc.memory.family_steps.step_registry import overrides_for, register
from bertcalc.memory.simulator.forward_pass import Overrides
from bertcalc.transformers4.version import FOUR


def test_derived_configurations_have_the_overrides_of_the_nearest_class() -> None:
    roberta = overrides_for(bertcalc.RobertaConfig())
    assert roberta.ids.keys() == {"position"}
    assert overrides_for(bertcalc.XLMRobertaConfig()) is overrides_for(bertcalc.CamembertConfig()) is roberta
    assert overrides_for(bertcalc.BertConfig()) == overrides_for(bertcalc.ElectraConfig()) == Overrides()
    assert overrides_for(bertcalc.MPNetConfig()).ids.keys() == {"position", "relative position"}


def test_a_version_comes_before_the_class(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(step_registry, "_REGISTERED", dict(step_registry._REGISTERED))
    register(bertcalc.BertConfig, of_bert := Overrides(handed=("x",)))
    assert overrides_for(bertcalc.BertConfig()) is of_bert
    of_four = overrides_for(bertcalc.BertConfig(position_embedding_type="relative_key"))
    assert of_four is step_registry._REGISTERED[FOUR]


def test_every_module_of_steps_is_imported() -> None:
    names = [path.stem for path in Path(family_steps.__file__).parent.glob("*_step.py")]
    assert [name for name in names if f"{family_steps.__name__}.{name}" not in sys.modules] == []
