"""The real models to compare with: transformers' classes on PyTorch's meta device, with shapes but without data."""

import atexit
import inspect
import json
import os
import subprocess
from dataclasses import asdict
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import torch
import torch.fx.experimental._config
import transformers
from transformers.initialization import no_init_weights

from bertcalc import Config
from bertcalc.families import CLASSES, FAMILIES, build, class_of
from bertcalc.forward.outputs import Call, Entry, needs_mask
from bertcalc.memory.plan import Recompute
from bertcalc.model.family import TARGETS
from bertcalc.model.model import Model
from bertcalc.proof.real_model import with_values

# DeBERTa's loss searches for the sequences that have labels.
torch.fx.experimental._config.meta_nonzero_assume_all_nonzero = True
transformers.logging.set_verbosity_error()  # BertLMHeadModel warns about every configuration without is_decoder


BASES = tuple(family.base.name for family in FAMILIES.values())  # the model classes without a head


class Case(NamedTuple):
    """The arguments of ``build``, which are also the real class's arguments."""

    config: Config
    architecture: str = "BertModel"
    add_pooling_layer: bool = True

    @classmethod
    def of(cls, model: Model) -> "Case":
        return cls(model.config, model.architecture, model.add_pooling_layer)

    @property
    def options(self) -> dict[str, bool]:
        """Keyword arguments besides the configuration. Only BertModel has any."""
        return {} if self.add_pooling_layer else {"add_pooling_layer": False}

    @property
    def model(self) -> Model:
        return Model(*self)

    def ours(self) -> Model:
        """The model from ``build``, which refuses add_pooling_layer for classes without that option."""
        return build(self.config, self.architecture, add_pooling_layer=self.add_pooling_layer)

    def real(self, device: str = "meta") -> Any:
        """The real model, built as by ``from_pretrained`` but without initialising weights, which halves the time."""
        with torch.device(device), no_init_weights():
            model = getattr(transformers, self.architecture)(real_config(self.config), **self.options)
        model.tie_weights()
        if device == "meta" and self.architecture == "ModernBertForMultipleChoice":
            model.forward = with_values(model.forward)
        return model


class Facts(NamedTuple):
    """Everything that bertcalc claims to know about a model."""

    tensors: list[tuple[str, tuple[int, ...]]]
    total: int
    text: str


def real_config(config: Config) -> Any:
    fields = asdict(config)
    if fields.pop("position_embedding_type", "absolute") != "absolute":
        raise ValueError("transformers 5 has absolute positions only")
    return getattr(transformers, type(config).__name__)(**fields)


def facts(model: Any) -> Facts:
    """Return the facts of a real model or of bertcalc's model.

    In bertcalc's model, a "parameter" is a shape, not a tensor.
    """
    tensors = [(name, tuple(getattr(tensor, "shape", tensor))) for name, tensor in model.named_parameters()]
    return Facts(tensors, model.num_parameters(), str(model))


class Output(NamedTuple):
    """An output of a real forward pass: its name (None in a tuple), its class, and (shape, dtype) pairs in order."""

    name: str | None
    kind: str
    tensors: list[tuple[tuple[int, ...], str]]


def flat(entry: Entry, named: bool) -> Output:
    """Convert one of bertcalc's outputs to the same form."""
    tensors = [(shape, str(entry.dtype)) for copies, shape in entry.tensors for _copy in range(copies)]
    return Output(entry.name if named else None, entry.container or ("Tensor" if tensors else "NoneType"), tensors)


def real_outputs(case: Case, call: Call) -> list[Output]:
    """Run the real forward method and return its outputs.

    Small models run on the CPU in a tenth of the meta device's time.
    """
    with torch.no_grad():
        returned = _eager(case)(**numbered(arguments(case, call)))
    pairs = [(None, value) for value in returned] if isinstance(returned, tuple) else list(returned.items())
    return [Output(name, type(value).__name__, tensors_in(value)) for name, value in pairs]


@lru_cache(8)
def _eager(case: Case) -> Any:
    """Return the real model with the attention that returns its weights.

    Calls do not change the model; its weights are arbitrary.
    """
    real = case.real("cpu")
    real.set_attn_implementation("eager")
    return real


def numbered(given: dict[str, Any]) -> dict[str, Any]:
    """Replace tensors on the meta device by tensors with data: token 0, label 0, and no padding."""
    return {
        name: torch.full_like(value, int(name == "attention_mask"), device="cpu") if torch.is_tensor(value) else value
        for name, value in given.items()
    }


def arguments(case: Case, call: Call, *, masked: bool = True) -> dict[str, Any]:
    """Return the forward method's keyword arguments for a call.

    With ``masked``, a mask is added if the method would otherwise read the values of token ids.
    """
    batch, length = call.batch.shape
    accepted = inspect.signature(getattr(transformers, case.architecture).forward).parameters
    ids = (batch, call.num_choices, length) if class_of(case.architecture).takes_choices else (batch, length)
    given: dict[str, Any] = {"input_ids": meta(ids)}
    if (masked and case.config.reads_ids) or needs_mask(case.model):
        given["attention_mask"] = meta(ids)
    flags = ("output_hidden_states", "output_attentions", "return_dict")
    given |= {flag: getattr(call, flag) for flag in flags}
    if call.encoder_sequence_length is not None and "encoder_hidden_states" in accepted:
        shape = (batch, call.encoder_sequence_length, case.config.hidden_size)
        given["encoder_hidden_states"] = meta(shape, torch.float32)
    if call.use_cache is not None and "use_cache" in accepted:
        given["use_cache"] = call.use_cache
    if call.labels:
        per_token = ("PreTraining", "MaskedLM", "LMHeadModel", "CausalLM", "TokenClassification", "DoubleHeadsModel")
        for target in set(TARGETS) & set(accepted):
            tokens = target == "labels" and case.architecture.endswith(per_token)
            regression = case.architecture.endswith("SequenceClassification") and case.config.num_labels == 1
            given[target] = meta(ids if tokens else (batch,), torch.float32 if regression else torch.int64)
    return given


def unmasked(case: Case, call: Call) -> dict[str, Any]:
    """Return the same arguments without a mask, unless the forward method fails without one."""
    return arguments(case, call, masked=False)


def meta(shape: tuple[int, ...], dtype: torch.dtype = torch.int64) -> torch.Tensor:
    return torch.empty(shape, dtype=dtype, device="meta")


def tensors_in(value: Any) -> list[tuple[tuple[int, ...], str]]:
    """Return the (shape, dtype) pairs of all tensors in an output. Tuples and caches are searched recursively."""
    if isinstance(value, torch.Tensor):
        return [(tuple(value.shape), str(value.dtype).removeprefix("torch."))]
    if value is None:
        return []
    if hasattr(value, "self_attention_cache"):
        value = (value.self_attention_cache, value.cross_attention_cache)
    elif hasattr(value, "layers"):
        value = [tensor for layer in value.layers for tensor in (layer.keys, layer.values)]
    return [tensor for inside in value for tensor in tensors_in(inside)]


def transformers4_python() -> Path:
    """The Python interpreter of the environment with transformers 4."""
    root = Path(__file__).parents[1]
    python = Path(os.environ.get("BERTCALC_TRANSFORMERS4_PYTHON", root / ".venv-transformers4" / "bin" / "python"))
    if not python.exists():
        pytest.fail(f"transformers 4 is missing at {python}: `make test` builds its environment.")
    return python


_ORACLES: dict[tuple[Path, Path], subprocess.Popen[str]] = {}


def _oracle(python: Path, script: Path) -> subprocess.Popen[str]:
    """Start the process that answers all questions of a run, once: it takes seconds to start."""
    if (python, script) not in _ORACLES:
        process = subprocess.Popen([python, script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        atexit.register(process.communicate)  # closes stdin, so that the process ends
        _ORACLES[python, script] = process
    return _ORACLES[python, script]


def ask(python: Path, script: Path, question: str) -> Any:
    """Return the answer of a script that runs in another environment. Its errors are on stderr.

    If the question ends the process, only this question fails: the next one starts another process.
    """
    process = _oracle(python, script)
    assert process.stdin
    assert process.stdout
    print(question, file=process.stdin, flush=True)
    answer = process.stdout.readline()
    if not answer:
        process.communicate()
        del _ORACLES[python, script]
        pytest.fail(f"{script.name} ended with {process.returncode} instead of an answer.")
    return json.loads(answer)


def ask_transformers4(questions: list[dict[str, Any]]) -> list[Any]:
    script = Path(__file__).with_name("transformers4_oracle.py")
    found: list[Any] = ask(transformers4_python(), script, json.dumps(questions))
    return found


def owned(real: Any) -> dict[str, torch.Tensor]:
    """The parameters of a real model, keyed by name. A tensor shared with an embedding table gets the table's name."""
    names: dict[torch.Tensor, list[str]] = {}
    for name, tensor in real.named_parameters(remove_duplicate=False):
        names.setdefault(tensor, []).append(name)

    def is_table(name: str) -> bool:
        return isinstance(real.get_submodule(name.rpartition(".")[0]), torch.nn.Embedding)

    return {next(filter(is_table, users), users[0]): tensor for tensor, users in names.items()}


def layers_of(config: Config) -> int:
    """Return how many layers have their own tensors."""
    return 1 if config.has("num_hidden_groups") else config.num_hidden_layers


def possible(case: Case, recompute: Recompute) -> Recompute:
    """Return the requested recomputation, or "none" if transformers does not support it for the architecture."""
    known = CLASSES[case.architecture].recomputes
    can = getattr(transformers, case.architecture).supports_gradient_checkpointing
    assert can == ("full" in known)
    return recompute if recompute in known else "none"


def bare(name: str, architecture: str) -> str:
    """A tensor or module name without the prefix that a class with a head gives to its base model."""
    return name.removeprefix(f"{CLASSES[architecture].prefix}.")


def component_of(name: str) -> str:
    """The component of BERT that a tensor or module belongs to."""
    top = bare(name, "BertModel").split(".")[0]
    return top if top in ("embeddings", "encoder", "pooler") else "head"
