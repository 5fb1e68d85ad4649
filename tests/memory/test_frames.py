"""How long Python keeps simulated tensors alive changes no byte: their lifetimes are explicit."""

import gc
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from importlib import import_module
from pkgutil import iter_modules
from types import FunctionType, ModuleType
from typing import Any

import pytest

from bertcalc import BertConfig, DebertaConfig, DebertaV2Config, GPT2Config, ModernBertConfig, build
from bertcalc.changes.lora import Lora
from bertcalc.changes.prompts import PrefixTuning
from bertcalc.memory import family_steps, simulator
from bertcalc.memory.family_steps import overrides_of
from bertcalc.memory.peak import changes_in
from bertcalc.memory.plan import Inference, Plan
from bertcalc.memory.simulator import simulate
from bertcalc.memory.simulator.forward_pass import Overrides, Pass
from bertcalc.memory.simulator.frames import Frame, Variables, frame, operation
from bertcalc.memory.simulator.simulated_tensor import Memory, Node, ReleasedError, SimulatedTensor, Storage
from bertcalc.memory.simulator.tape import Tape
from bertcalc.memory.timeline import MemoryChange, alive
from bertcalc.model.batch import Batch
from bertcalc.model.model import Model
from bertcalc.storage.bitsandbytes_format import BitsAndBytesConfig
from bertcalc.storage.quantized_model import PackWeights

BERT = BertConfig(vocab_size=20, hidden_size=12, num_hidden_layers=2, num_attention_heads=3, intermediate_size=8)
DISTANCES: dict[str, Any] = {"relative_attention": True, "pos_att_type": "c2p|p2c", "num_hidden_layers": 2}
SMALL: dict[str, Any] = {"vocab_size": 20, "hidden_size": 12, "num_attention_heads": 3, "intermediate_size": 8}
GPT2 = GPT2Config(vocab_size=20, n_embd=12, n_layer=2, n_head=3)
MODERNBERT = ModernBertConfig(
    vocab_size=20, hidden_size=12, num_hidden_layers=2, num_attention_heads=3, intermediate_size=8, pad_token_id=0
)
RELATIVE = BertConfig(**SMALL, num_hidden_layers=2, position_embedding_type="relative_key_query")
NF4 = BitsAndBytesConfig(load_in_4bit=True, bnb_4bit_use_double_quant=True)
INT8 = BitsAndBytesConfig(load_in_8bit=True)
LORA, DORA = Lora(target_modules=["query"]), Lora(target_modules=["query", "word_embeddings"], use_dora=True)
RUNS: dict[str, tuple[Model, Plan | Inference]] = {
    "bert": (build(BERT, "BertForMaskedLM"), Plan()),
    "outputs": (build(BERT, "BertForPreTraining"), Plan(keep_outputs=True, optimizer="adafactor")),
    "inference": (build(BERT, "BertForQuestionAnswering"), Inference(attention="fused")),
    "full": (build(BERT, "BertForMaskedLM"), Plan(recompute="full", fused_dropout=True)),
    "selective": (build(BERT, "BertForTokenClassification"), Plan(recompute="selective", attention="fused")),
    "amp": (build(BERT, "BertForSequenceClassification"), Plan("amp-bf16")),
    "amp again": (build(BERT, "BertForMaskedLM"), Plan("amp-fp16", recompute="full")),
    "master weights": (build(BERT, "BertForNextSentencePrediction"), Plan("mixed-16")),
    "relative": (build(RELATIVE, "BertLMHeadModel"), Plan()),
    "deberta": (build(DebertaConfig(**SMALL, **DISTANCES), "DebertaForSequenceClassification"), Plan(recompute="full")),
    "deberta-v2": (build(DebertaV2Config(**SMALL, **DISTANCES, conv_kernel_size=3), "DebertaV2Model"), Plan()),
    "gpt2": (build(GPT2, "GPT2DoubleHeadsModel"), Plan("amp-bf16")),
    "modernbert": (build(MODERNBERT, "ModernBertForMaskedLM"), Plan("bf16", attention="fused")),
    "lora": (Model(BERT, changes=(LORA,)), Plan(input_require_grads=True, recompute="full")),
    "dora": (Model(BERT, changes=(DORA,)), Plan("bf16")),
    "4 bits": (Model(BERT, changes=(PackWeights(NF4), LORA)), Plan()),
    "8 bits": (Model(BERT, changes=(PackWeights(INT8), DORA)), Plan()),
    "prefix": (Model(BERT, changes=(PrefixTuning(num_virtual_tokens=2, task_type="FEATURE_EXTRACTION"),)), Plan()),
}
SIZES = Batch(2, 6)
runs = pytest.mark.parametrize("run", RUNS)


def changes(run: str) -> list[MemoryChange]:
    return changes_in(*RUNS[run], SIZES)


@contextmanager
def kept(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Any]]:
    """Keep all tensors, storages, nodes and passes alive in a reference cycle."""
    cycle: list[Any] = []
    cycle.append(cycle)
    with monkeypatch.context() as patch:
        for cls in (SimulatedTensor, Storage, Node, Tape, Pass):
            patch.setattr(cls, "__init__", _keeping(cls.__init__, cycle))
        yield cycle


def _keeping(init: Callable[..., None], cycle: list[Any]) -> Callable[..., None]:
    def keep(self: Any, *args: Any, **options: Any) -> None:
        cycle.append(self)
        init(self, *args, **options)

    return keep


@runs
def test_a_debugger_that_keeps_every_frame_changes_no_byte(run: str) -> None:
    """A Python frame keeps all its local variables alive."""
    alone = changes(run)
    frames = []
    before = sys.getprofile()
    sys.setprofile(lambda frame, _event, _value: frames.append(frame))
    try:
        watched = changes(run)
    finally:
        sys.setprofile(before)
    assert watched == alone
    assert len(frames) > len(alone)


@runs
def test_a_garbage_collector_that_never_runs_changes_no_byte(run: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Everything is in a reference cycle, as if Python had no reference counts."""
    alone = changes(run)
    gc.disable()
    gc.freeze()
    try:
        with kept(monkeypatch) as cycle:
            assert changes(run) == alone
            assert sum(isinstance(thing, SimulatedTensor) for thing in cycle) > len(alone) / 4
    finally:
        gc.unfreeze()
        gc.enable()


def test_a_garbage_collector_that_always_runs_changes_no_byte() -> None:
    alone = changes("deberta")
    threshold = gc.get_threshold()
    gc.set_threshold(1)
    try:
        assert changes("deberta") == alone
    finally:
        gc.set_threshold(*threshold)


def between(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a helper that calls a function and keeps its arguments and results alive until the helper returns."""

    @wraps(function)
    def helper(*args: Any, **options: Any) -> Any:
        results = [function(*args, **options)]
        return results[0]

    return helper


def modules() -> list[ModuleType]:
    """The modules of the simulator and of the families' simulation steps."""
    return [
        import_module(f"{package.__name__}.{module.name}")
        for package in (simulator, family_steps)
        for module in iter_modules(package.__path__)
    ]


@runs
def test_a_function_that_is_extracted_changes_no_byte(run: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every function of the simulator is called through a helper."""
    model, how = RUNS[run]
    alone = simulate(model, how, SIZES, overrides_of(model))
    overrides = overrides_of(model)
    tables = {
        name: {key: between(function) for key, function in table.items()}
        for name, table in overrides._asdict().items()
        if name in ("steps", "modules", "ids", "asides", "losses", "adapters")
    }
    extracted = 0
    for owner in (*modules(), Tape, Pass):
        for name, function in vars(owner).items():
            ours = isinstance(function, FunctionType) and function.__module__.startswith("bertcalc.memory.")
            if ours and function not in (frame, operation) and not name.startswith("__"):
                monkeypatch.setattr(owner, name, between(function))
                extracted += 1
    assert extracted > 100
    assert simulate(model, how, SIZES, Overrides(**{**overrides._asdict(), **tables})) == alone


def tape() -> Tape:
    return Tape(Memory(), grad=True)


def live(tape: Tape) -> int:
    return sum(change.num_bytes for change in alive(tape.memory.changes))


def test_an_operation_releases_the_temporaries_that_it_takes() -> None:
    t = tape()
    x = t.new((2, 3)).own()
    y = t.scale(t.shift(t.scale(x)))
    assert live(t) == 2 * 24
    y.drop()
    assert live(t) == 24
    x.disown()
    assert live(t) == 0


def test_a_tensor_that_is_used_after_its_release_says_what_to_do() -> None:
    t = tape()
    t.memory.where = "encoder.layer.0.output"
    x = t.scale(t.new((2, 3)))
    t.shift(x).own()
    message = r"encoder\.layer\.0\.output: a tensor of shape \(2, 3\) was released .* bind it to a variable of a frame"
    for use in (t.shift, t.like, t.softmax, SimulatedTensor.own, SimulatedTensor.drop):
        with pytest.raises(ReleasedError, match=message):
            use(x)
    with pytest.raises(ReleasedError, match="a view of a released storage"):
        t.unsqueeze(x, 0)


def test_a_temporary_that_nothing_took_is_named() -> None:
    t = tape()
    t.memory.where = "loss"
    t.new((4,))
    with pytest.raises(RuntimeError, match=r"loss: nothing took a tensor of shape \(4,\)"):
        t.memory.check()


def test_variables_of_a_frame_live_until_they_are_bound_anew_deleted_or_the_function_returns() -> None:
    lives = []

    @frame
    def function(t: Tape, v: Frame, x: SimulatedTensor) -> SimulatedTensor:
        v.x = t.scale(x)
        v.x = t.scale(v.x)
        lives.append(live(t))  # the argument and the variable
        v.pieces = [t.new((1,)), t.new((1,))]
        lives.append(live(t))
        del v.pieces
        lives.append(live(t))
        return t.shift(v.x)

    t = tape()
    y = function(t, t.new((6,)))
    assert lives == [48, 56, 48]
    assert live(t) == 24
    assert t.memory.temporaries == {y: None}


def test_a_function_that_raises_releases_its_variables() -> None:
    @frame
    def function(t: Tape, v: Frame) -> None:
        v.x = t.new((6,))
        raise KeyError

    t = tape()
    with pytest.raises(KeyError):
        function(t)
    assert live(t) == 0


def test_a_function_can_return_its_argument_or_a_variable() -> None:
    @frame
    def function(t: Tape, v: Frame, x: SimulatedTensor) -> list[SimulatedTensor]:
        v.y = t.scale(x)
        return [x, v.y]

    t = tape()
    x, y = function(t, t.new((6,)))
    assert [*t.memory.temporaries] == [x, y]
    assert live(t) == 48


def test_variables_by_name_own_their_tensors() -> None:
    t = tape()
    values = Variables({"x": t.new((6,))})
    values["y"] = values["x"]
    del values["x"]
    assert live(t) == 24
    values["y"] = t.shift(values.pop("y"))
    assert live(t) == 24
    assert not t.memory.temporaries
    values.clear()
    assert live(t) == 0


def test_a_graph_deeper_than_pythons_stack_is_released() -> None:
    t = tape()
    x = t.leaf("weight", (1,)).own()
    y = t.function("tanh", x).own()
    for _time in range(2 * sys.getrecursionlimit()):
        before, y = y, t.function("tanh", y).own()
        before.disown()
    y.disown()
    assert live(t) == 4
