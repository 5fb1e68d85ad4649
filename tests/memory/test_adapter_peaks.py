"""The simulated peaks of models with adapters against peft's, followed storage by storage."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bertcalc.forward.outputs import Call
from bertcalc.memory.optimizers import PRECISIONS
from bertcalc.memory.peak import NotSimulatedError
from bertcalc.memory.plan import Plan
from tests.adapters import Adapter, adapters
from tests.examples import examples
from tests.memory.test_peak import check_training, plans, simulated
from tests.oracle import Case
from tests.strategies import SIMULATED, passes


def check(case: Case, call: Call, plan: Plan, adapter: Adapter) -> None:
    """Where the memory is not simulated, the sentence says so; everywhere else it is peft's."""
    autocast = PRECISIONS[plan.precision].autocast
    fits = adapter.change.under_autocast if autocast else adapter.change.in_16_bits or plan.precision == "fp32"
    if "mixed" in plan.precision or not fits:
        with pytest.raises(NotSimulatedError, match="not simulated"):
            simulated(plan._replace(recompute="none"), case, call, adapter=adapter)
        return
    check_training(case, call, plan._replace(freezing=Plan().freezing), adapter)


@examples(40)
@given(passes(SIMULATED), st.booleans(), st.data())
def test_a_training_step_holds_what_pefts_holds(
    run: tuple[Case, Call], keep_outputs: bool, data: st.DataObject
) -> None:
    check(*run, Plan(keep_outputs=keep_outputs), data.draw(adapters(run[0])))


@examples(40)
@given(passes(SIMULATED), plans(), st.booleans(), st.data())
def test_any_plan_with_an_adapter(run: tuple[Case, Call], plan: Plan, hooked: bool, data: st.DataObject) -> None:
    check(*run, plan._replace(input_require_grads=hooked), data.draw(adapters(run[0])))
