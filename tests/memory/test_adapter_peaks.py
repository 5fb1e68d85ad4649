"""The simulated peaks of models with adapters against peft's, followed storage by storage."""

from hypothesis import given, reject
from hypothesis import strategies as st

from bertcalc.forward.outputs import Call
from bertcalc.memory.plan import Plan
from tests.adapters import Adapter, adapters
from tests.examples import examples
from tests.memory.test_peak import check_training, plans
from tests.oracle import Case
from tests.strategies import SIMULATED, passes


def check(case: Case, call: Call, plan: Plan, adapter: Adapter) -> None:
    unknown = "mixed" in plan.precision or (plan.precision != "fp32" and not adapter.change.in_16_bits)
    if unknown:
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
