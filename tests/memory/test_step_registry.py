"""Which overrides of the memory simulation a family has."""

import sys
from pathlib import Path

import pytest

import bertcalc
from bertcalc.memory import family_steps
from bertcalc.memory.family_steps import step_registry
from bertcalc.memory.family_steps.step_registry import register, registered
from bertcalc.memory.simulator.forward_pass import Overrides
from bertcalc.transformers4.version import FOUR


def test_derived_configurations_have_the_overrides_of_the_nearest_class() -> None:
    roberta = registered(bertcalc.RobertaConfig())
    assert roberta.ids.keys() == {"position"}
    assert registered(bertcalc.XLMRobertaConfig()) is registered(bertcalc.CamembertConfig()) is roberta
    assert registered(bertcalc.BertConfig()) == registered(bertcalc.ElectraConfig()) == Overrides()
    assert registered(bertcalc.MPNetConfig()).ids.keys() == {"position", "relative position"}


def test_a_version_comes_before_the_class(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(step_registry, "_REGISTERED", dict(step_registry._REGISTERED))
    register(bertcalc.BertConfig, of_bert := Overrides(handed=("x",)))
    assert registered(bertcalc.BertConfig()) is of_bert
    of_four = registered(bertcalc.BertConfig(position_embedding_type="relative_key"))
    assert of_four is step_registry._REGISTERED[FOUR]


def test_every_module_of_steps_is_imported() -> None:
    names = [path.stem for path in Path(family_steps.__file__).parent.glob("*_step.py")]
    assert [name for name in names if f"{family_steps.__name__}.{name}" not in sys.modules] == []
