"""The simulated peaks of models with relative positions equal the peaks of transformers 4."""

from dataclasses import asdict, replace
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from bertcalc import ARCHITECTURES, BertConfig
from bertcalc.config.fields import POSITION_EMBEDDING_TYPES
from bertcalc.families import class_of
from bertcalc.forward.outputs import Call
from bertcalc.memory.optimizers import ITEM_BYTES, PRECISIONS
from bertcalc.memory.peak import changes_in, curve
from bertcalc.memory.plan import ATTENTIONS, Inference, Plan
from bertcalc.model.freezing import TRAIN, Freezing
from tests.examples import sampled
from tests.memory.live import tops
from tests.oracle import Case, arguments, ask_transformers4
from tests.strategies import ACTIVATIONS_OF_4, WITHOUT_AUTOCAST, passes

Run = tuple[Case, Call, Plan | Inference, bool]
# Xielu cannot be built on the meta device in transformers 4.
ACTIVATIONS = [name for name in ACTIVATIONS_OF_4 if name != "xielu"]
PLANS = st.builds(
    Plan,
    st.just("fp32") | st.sampled_from(WITHOUT_AUTOCAST),
    st.just("adamw") | st.sampled_from(("sgd", "momentum", "adafactor")),
    st.sampled_from(ATTENTIONS),  # transformers 4 always uses eager attention
    st.booleans(),
    st.sampled_from(("none", "none", "full")),  # transformers 4 cannot recompute only the attention core
    freezing=st.just(Freezing()) | st.builds(Freezing, st.booleans(), st.integers(0, 4), st.sampled_from(TRAIN)),
    keep_outputs=st.booleans(),
    accumulate=st.booleans(),
)
INFERENCES = st.builds(Inference, st.sampled_from(list(ITEM_BYTES)), st.sampled_from(ATTENTIONS))
WAYS = st.just(Plan()) | PLANS | st.just(Inference()) | INFERENCES


@st.composite
def runs(draw: st.DrawFn) -> Run:
    """Draw a model, a call, a way to run it, and whether it is padded."""
    case, call = draw(passes(tuple(ARCHITECTURES)))
    how = draw(WAYS)
    config = replace(
        case.config,
        position_embedding_type=draw(st.sampled_from(POSITION_EMBEDDING_TYPES[1:])),
        hidden_act=draw(st.sampled_from(ACTIVATIONS)),
    )
    config = replace(config, type_vocab_size=max(2, config.type_vocab_size))
    if isinstance(how, Plan):
        layers = min(how.freezing.layers, config.num_hidden_layers)
        how = how._replace(freezing=replace(how.freezing, layers=layers))
    return case._replace(config=config), call, how, draw(st.booleans())


def drawn(count: int) -> list[Run]:
    """Draw this number of runs with Hypothesis, to send them all at once."""
    found: list[Run] = []

    @settings(max_examples=count, phases=[Phase.generate], database=None)
    @given(runs())
    def collect(run: Run) -> None:
        found.append(run)

    collect()
    return found


def dtype_of(how: Plan | Inference) -> str:
    return PRECISIONS[how.precision].dtype if isinstance(how, Plan) else how.dtype


def question(run: Run) -> dict[str, Any]:
    """Return the run as a question for tests/transformers4_oracle.py."""
    case, call, how, padded = run
    plan = how if isinstance(how, Plan) else None
    call = call._replace(labels=plan is not None and bool(class_of(case.architecture).targets))
    given = {
        name: (list(tensor.shape), str(tensor.dtype).removeprefix("torch."))
        for name, tensor in arguments(case, call).items()
        if hasattr(tensor, "shape")
    }
    if padded:
        given |= dict.fromkeys(("attention_mask", "token_type_ids"), given["input_ids"])
    if "encoder_hidden_states" in given:
        given["encoder_hidden_states"] = (given["encoder_hidden_states"][0], dtype_of(how))
    return {
        "config": asdict(case.config),
        "architecture": case.architecture,
        "options": case.options,
        "live": given,
        "plan": plan and {name: value for name, value in plan._asdict().items() if name != "freezing"},
        "frozen": list(plan.freezing.names(case.ours())) if plan else [],
        "dtype": dtype_of(how),
        "cpu": on_cpu(run),
    }


def on_cpu(run: Run) -> bool:
    """Whether the real model has memory: it checks for padding, and mish has no backward pass on the meta device.

    Other models stay on the meta device. On the CPU, the means of LayerNorm have 16 bits in a 16-bit model, and a
    regression loss keeps the memory of its terms.
    """
    case, _call, how, _padded = run
    return dtype_of(how) == "float32" and case.config.num_labels > 1


def possible(run: Run) -> bool:
    """Whether transformers 4 can run it, and there is something to train."""
    case, _call, how, _padded = run
    if not on_cpu(run) and (case.config.hidden_act == "mish" or case.config.pad_token_id is not None):
        return False
    return not isinstance(how, Plan) or len(how.freezing.names(case.ours())) < len(list(case.ours().named_parameters()))


def simulated(run: Run) -> list[int]:
    """Return the local maxima of the simulated live memory."""
    case, call, how, padded = run
    sizes = call.batch
    changes = changes_in(case.ours(), how, sizes._replace(padded=padded))
    return tops(moment.live for moment in curve(changes))


def check(all_runs: list[Run]) -> None:
    for run, expected in zip(all_runs, ask_transformers4([question(run) for run in all_runs]), strict=True):
        assert simulated(run) == expected, run


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_every_class_in_training_and_inference(architecture: str) -> None:
    config = BertConfig(
        vocab_size=31,
        hidden_size=12,
        num_hidden_layers=3,
        num_attention_heads=3,
        intermediate_size=17,
        max_position_embeddings=11,
    )
    decoders: tuple[dict[str, Any], ...] = (
        {},
        {"is_decoder": True, "add_cross_attention": True},
        {"is_decoder": True, "use_cache": False},
    )
    seen = 7 if class_of(architecture).sees_encoder else None
    all_runs = [
        (
            Case(replace(config, position_embedding_type=positions, **decoder), architecture),
            Call(2, 5, seen if "add_cross_attention" in decoder else None, num_choices=3),
            how,
            False,
        )
        for positions in POSITION_EMBEDDING_TYPES[1:]
        for decoder in decoders
        for how in (Plan(), Inference())
    ]
    check(sampled(all_runs, 5, begin=[*ARCHITECTURES].index(architecture)))


def test_any_run() -> None:
    found = [run for run in drawn(40) if possible(run)]
    assert len(found) > 12
    check(found)
