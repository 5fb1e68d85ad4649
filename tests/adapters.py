"""Random adapters, as peft's configurations and as bertcalc's changes."""

import copy
import warnings
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, get_args

import peft
import torch
from hypothesis import strategies as st

from bertcalc import IA3, InputError, LNTuning, Lora, PrefixTuning, PromptEncoder, PromptTuning
from bertcalc.changes.prompts import NAMES_OF_WIDTH
from bertcalc.changes.targets import TASK_TYPES, TaskType
from bertcalc.model.change import Change
from bertcalc.model.model import Model

KINDS: dict[type[Change], Any] = {
    Lora: peft.LoraConfig,
    IA3: peft.IA3Config,
    LNTuning: peft.LNTuningConfig,
    PromptTuning: peft.PromptTuningConfig,
    PrefixTuning: peft.PrefixTuningConfig,
    PromptEncoder: peft.PromptEncoderConfig,
}
TASKS = (None, *get_args(TaskType))
PATTERNS = (
    *(r".*\.(query|value|q_lin|c_attn)", r".*layer\.[01]\..*dense", r".*dense$", r".*(1|2).*(query|Wqkv|q_proj)"),
    *(r".*\.\d\..*(dense|proj)", r".*\.[^0-1]\..*", r".*er..\..*(query|dense)", r"(.*\.)?(embed_tokens|lm_head|wte)"),
)


class Adapter(NamedTuple):
    """An adapter: its class in bertcalc, its arguments, and further arguments that only peft needs.

    peft and bertcalc take the same ``arguments``.
    """

    kind: type[Change]
    arguments: dict[str, Any]
    more: Mapping[str, Any] = {}

    def ours(self) -> Change:
        return self.kind(**self.arguments)

    def theirs(self) -> Any:
        """Return peft's configuration. Lists are copied because peft appends to them."""
        copies = {name: list(value) if isinstance(value, list) else value for name, value in self.arguments.items()}
        return KINDS[self.kind](**copies, **self.more)

    def added(self, real: Any) -> Any:
        """Return the real model with the adapter, in peft's wrapper."""
        return with_peft(real, self.theirs())


def with_peft(real: Any, config: Any) -> Any:
    """Wrap a real model with peft. Warnings of peft and PyTorch are ignored: they do not change the model."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return peft.get_peft_model(real, config)


def peft_counts(real: Any, **lora: Any) -> tuple[int, int]:
    """Return how many parameters peft trains in a copy of a real model with LoRA, and how many it has."""
    with torch.device("meta"):
        trained, whole = with_peft(copy.deepcopy(real), peft.LoraConfig(**lora)).get_nb_trainable_parameters()
    return trained, whole


@st.composite
def adapters(
    draw: st.DrawFn,
    model: Model,
    kinds: Sequence[type[Change]] = (Lora, Lora, Lora, *KINDS),
    tasks: Sequence[str | None] = TASKS,
) -> Adapter:
    """Draw an adapter of any kind. peft refuses about half of them."""
    kind = draw(st.sampled_from(kinds))
    arguments: dict[str, Any] = {"task_type": draw(st.sampled_from(tasks))}
    if kind in (Lora, IA3, LNTuning):
        arguments |= draw(_targets(model, kind))
    match kind.__name__:
        case "Lora":
            arguments |= draw(_lora(model))
        case "IA3":
            targets = arguments["target_modules"]
            some = st.lists(st.sampled_from(targets), unique=True) if isinstance(targets, list) else st.just([])
            arguments["feedforward_modules"] = draw(st.none() | some | some | _names(model))
        case "PrefixTuning":
            arguments |= {"prefix_projection": draw(st.booleans()), "encoder_hidden_size": draw(_WIDTH)}
        case "PromptEncoder":
            arguments |= {"encoder_hidden_size": draw(_WIDTH), "encoder_num_layers": draw(st.integers(1, 3))}
            arguments["encoder_reparameterization_type"] = draw(st.sampled_from(["MLP", "LSTM"]))
            if arguments["encoder_reparameterization_type"] == "MLP":
                del arguments["encoder_num_layers"]  # peft warns that it ignores this argument
    if kind in (PromptTuning, PrefixTuning, PromptEncoder):
        arguments["num_virtual_tokens"] = draw(st.integers(1, 30))
    return Adapter(kind, arguments)


def running_adapters(model: Model) -> st.SearchStrategy[Adapter]:
    """Adapters without a head of their own that peft can add to the modules of a model."""

    def is_possible(adapter: Adapter) -> bool:
        try:
            model.changed(changes=(adapter.ours(),))
        except InputError:
            return False
        return True

    return adapters(model, (Lora, Lora, IA3, LNTuning), (None,)).filter(is_possible)


@st.composite
def running_prompts(
    draw: st.DrawFn, model: Model, kinds: Sequence[type[Change]] = (PromptTuning, PromptEncoder, PrefixTuning)
) -> Adapter:
    """Draw virtual tokens for the task of a model, as wide as its hidden size."""
    task = TASK_TYPES.get(model.cls.task, "FEATURE_EXTRACTION")
    adapter = draw(adapters(model, kinds, (task,)))
    config = model.config
    named = config.own_name("hidden_size") in NAMES_OF_WIDTH
    width = {} if named and draw(st.booleans()) else {"token_dim": config.hidden_size}
    # peft does not find the number of heads, either.
    hidden = {} if named else {"num_attention_heads": config.num_attention_heads}
    count = draw(st.integers(1, max(1, min(6, config.longest - 9))))
    return Adapter(
        kind=adapter.kind, arguments={**adapter.arguments, **width, "num_virtual_tokens": count}, more=hidden
    )


_WIDTH = st.none() | st.integers(1, 40)


def _names(model: Model, *, most: int = 3) -> st.SearchStrategy[list[str]]:
    """Lists of module names: full names, or their last one or two parts."""
    paths = [path for path, _module, _copies in model.modules(folded=False) if path]
    ends = sorted({".".join(path.split(".")[-length:]) for path in paths for length in (1, 2)})
    leaves = [end for end in ends if not end.rpartition(".")[2].isdecimal()]
    return st.lists(st.sampled_from(leaves) | st.sampled_from(paths), min_size=1, max_size=most, unique=True)


@st.composite
def _targets(draw: st.DrawFn, model: Model, kind: type[Change]) -> dict[str, Any]:
    names = _names(model)
    linear = [
        path.rpartition(".")[2]
        for path, module, _copies in model.modules()
        if module.class_name in ("Linear", "Conv1D")
    ]
    norms = [path.rpartition(".")[2] for path, module, _copies in model.modules() if module.place.role == "norm"]
    usual = st.lists(st.sampled_from(norms if kind is LNTuning else linear), min_size=1, max_size=3, unique=True)
    choices = (st.none(), usual, usual, names, st.sampled_from(PATTERNS))
    whole = () if kind is LNTuning else (st.just("all-linear"),)
    return {
        "target_modules": draw(st.one_of(*choices, *whole)),
        "modules_to_save": draw(st.none() | st.none() | names),
        "exclude_modules": draw(st.none() | st.none() | names | st.just(r".*\.0\..*")),
    }


@st.composite
def _lora(draw: st.DrawFn, model: Model) -> dict[str, Any]:
    usual = {"bias": "none", "use_dora": False, "use_rslora": False, "lora_bias": False, "lora_dropout": 0.0}
    choices: dict[str, Any] = {
        "r": st.integers(1, 9),
        "bias": st.sampled_from(["all", "lora_only"]),
        "use_dora": st.booleans(),
        "use_rslora": st.booleans(),
        "lora_bias": st.booleans(),
        "lora_dropout": st.just(0.1),
        "layers_to_transform": st.integers(0, 3) | st.lists(st.integers(0, 4), max_size=3, unique=True),
        "layers_pattern": st.sampled_from(["layer", "layers", "h", "x"]) | st.just(["h", "layer"]),
        "rank_pattern": st.dictionaries(st.sampled_from(["query", "dense", r"layer\.1\..*"]), st.integers(1, 5)),
    }
    names = draw(st.sets(st.sampled_from(sorted(choices)), max_size=3))
    return usual | {name: draw(choices[name]) for name in sorted(names)}
