"""Adapters of ours beside peft's: what Hypothesis draws for tests of all rooms."""

import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple

from hypothesis import reject
from hypothesis import strategies as st

from bertcalc.changes.ia3 import IA3, LNTuning
from bertcalc.changes.lora import Lora
from bertcalc.model.model import Model
from bertcalc.model.modules import Conv1D, Convolution, Embedding, Linear, Norm
from bertcalc.text.problem import InputError
from tests.oracle import Case


class Adapter(NamedTuple):
    """A change of our model, with the arguments of peft's configuration."""

    kind: type[Any]
    options: dict[str, Any]

    @property
    def change(self) -> Any:
        return self.kind(**self.options)

    def added(self, real: Any) -> Any:
        """The real model with the adapter, in peft's wrapper."""
        import peft

        kinds = {Lora: peft.LoraConfig, IA3: peft.IA3Config, LNTuning: peft.LNTuningConfig}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # LNTuning warns of every LayerNorm
            return peft.get_peft_model(real, kinds[self.kind](**self.options))


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
    return Adapter(kind, options)
