"""The simulated peaks of models with adapters against peft's, followed storage by storage."""

import dataclasses
from collections.abc import Sequence
from typing import Any

import peft
import pytest
from hypothesis import given, reject
from hypothesis import strategies as st

from bertcalc.changes.ia3 import IA3, LNTuning
from bertcalc.changes.lora import Lora
from bertcalc.families import CLASSES
from bertcalc.forward.outputs import Call
from bertcalc.memory.optimizers import PRECISIONS
from bertcalc.memory.plan import Plan
from bertcalc.model.model import Model
from bertcalc.model.modules import Conv1D, Convolution, Embedding, Linear, Norm
from bertcalc.text.problem import InputError
from tests.examples import examples
from tests.memory.test_peak import Adapter, check_training, plans
from tests.oracle import Case
from tests.strategies import SIMULATED, passes

KINDS = {Lora: peft.LoraConfig, IA3: peft.IA3Config, LNTuning: peft.LNTuningConfig}


def last_names(model: Model, kinds: tuple[type, ...]) -> list[str]:
    """The last parts of the names of modules."""
    modules = [(path, module) for path, module, _copies in model.modules() if isinstance(module, kinds)]
    return sorted({path.rpartition(".")[2] for path, _module in modules} - {"", "*"})


def some(names: Sequence[str]) -> st.SearchStrategy[list[str]]:
    return st.lists(st.sampled_from(names), min_size=1, max_size=3, unique=True)


@st.composite
def adapters(draw: st.DrawFn, case: Case) -> Adapter:
    """An adapter that peft adds to a model."""
    model = case.ours()
    kind = draw(st.sampled_from([Lora, Lora, Lora, IA3, LNTuning]))
    options: dict[str, Any] = {}
    if kind is Lora:
        linear = last_names(model, (Linear, Conv1D, Embedding, Convolution))
        options = draw(
            st.fixed_dictionaries(
                {"target_modules": some(linear), "r": st.integers(1, 3)},
                optional={
                    "lora_dropout": st.just(0.1),
                    "bias": st.sampled_from(["all", "lora_only"]),
                    "lora_bias": st.just(True),
                    "use_dora": st.just(True),
                    "layers_to_transform": st.sampled_from([[0], [1], [0, 2]]),
                    "modules_to_save": some(linear),
                },
            )
        )
    elif kind is IA3:
        names = draw(some(last_names(model, (Linear, Conv1D))))
        options = {"target_modules": names, "feedforward_modules": draw(st.sampled_from([[], names[:1]]))}
    else:
        norms = last_names(model, (Norm,))
        if not norms:
            reject()
        options = {"target_modules": draw(some(norms))}
    try:
        model.changed(changes=(kind(**options),))
    except InputError:  # peft refuses most of them, too: tests/changes
        reject()
    return Adapter(kind(**options), KINDS[kind](**options))


def check(case: Case, call: Call, plan: Plan, adapter: Adapter) -> None:
    unknown = "mixed" in plan.precision or (plan.precision != "fp32" and not adapter.change.in_16_bits)
    if unknown:
        reject()
    if isinstance(adapter.change, Lora) and adapter.change.use_dora and plan.precision == "amp-fp16":
        reject()
    check_training(case, call, plan._replace(freezing=Plan().freezing), adapter)


@examples(40)
@given(passes(SIMULATED), st.booleans(), st.data())
def test_a_training_step_holds_what_pefts_holds(run: tuple[Case, Call], keep_outputs: bool, data: st.DataObject) -> None:
    check(*run, Plan(keep_outputs=keep_outputs), data.draw(adapters(run[0])))


@examples(40)
@given(passes(SIMULATED), plans(), st.booleans(), st.data())
def test_any_plan_with_an_adapter(run: tuple[Case, Call], plan: Plan, hooked: bool, data: st.DataObject) -> None:
    check(*run, plan._replace(input_require_grads=hooked), data.draw(adapters(run[0])))
