"""The first step that pages offer for each kind of step, with arguments that fit the model."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from bertcalc.change_steps.step_texts import KINDS, ChangeStep
from bertcalc.changes.factorized import FactorizeEmbeddings
from bertcalc.changes.feed_forward import NarrowFeedForward
from bertcalc.changes.heads import PruneHeads
from bertcalc.changes.ia3 import IA3, LNTuning
from bertcalc.changes.layers import DropLayers
from bertcalc.changes.lora import Lora
from bertcalc.changes.prompts import NAMES_OF_WIDTH, Prompts
from bertcalc.changes.targets import HEADS, IA3_FEED_FORWARD, IA3_TARGETS, LAYER_NORMS, LORA_TARGETS, TASK_TYPES
from bertcalc.changes.vocabulary import ResizeVocabulary
from bertcalc.model.model import Model
from bertcalc.model.modules import Norm
from bertcalc.storage.adapter_file import without_adapter
from bertcalc.storage.bitsandbytes_format import BitsAndBytesConfig
from bertcalc.storage.documented_formats import AwqConfig
from bertcalc.storage.gguf_format import Gguf
from bertcalc.storage.quantization_format import QuantizationFormat
from bertcalc.text.problem import InputError


def first_step(kind: str, model: Model) -> ChangeStep:
    """Return a step of a kind in ``KINDS`` with arguments that fit the model.

    Steps that resize the model halve its vocabulary, layers, heads or width. Adapters target peft's default modules, or
    the same projections under the model's names, and train the task's head. bitsandbytes does not quantize this head,
    because quantized weights are not trained. GGUF mixes types if llama.cpp can convert the model.

    >>> from bertcalc import load
    >>> first_step("layers", load("bert-base-uncased"))
    DropLayers(layers=(1, 3, 5, 7, 9, 11))
    >>> first_step("lora", load("distilbert-base-uncased")).target_modules
    ('q_lin', 'v_lin')
    """
    config: Any = model.final_config
    family, task = model.family.name, TASK_TYPES.get(model.cls.task)
    match kind:
        case "vocabulary":
            return ResizeVocabulary(_half(config.vocab_size))
        case "layers":
            return DropLayers(range(1, config.num_hidden_layers, 2) or (0,))
        case "heads":
            return PruneHeads(_half(config.num_attention_heads))
        case "feed_forward":
            return NarrowFeedForward(_half(config.intermediate_size))
        case "embeddings":
            has_factors = config.has("embedding_size")
            return FactorizeEmbeddings(_half(config.embedding_size if has_factors else config.hidden_size))
        case "lora":
            targets = LORA_TARGETS.get(family) or _names(model, "query", "value", "query, key, value")
            return Lora(target_modules=targets, task_type=task)
        case "ia3":
            down = IA3_FEED_FORWARD.get(family) or _names(model, "down")
            targets = IA3_TARGETS.get(family) or (*_names(model, "key", "value", "query, key, value"), *down)
            return IA3(targets, down, task_type=task)
        case "ln_tuning":
            modules = {path: module for path, module, _copies in model.modules()}
            norms = {path.rpartition(".")[2]: None for path, module in modules.items() if isinstance(module, Norm)}
            others = [path for path in modules if path.rpartition(".")[2] in norms]
            exclude = tuple(path for path in others if not isinstance(modules[path], Norm)) or None
            return LNTuning(LAYER_NORMS.get(family) or tuple(norms), task_type=task, exclude_modules=exclude)
        case "prompt_tuning" | "prefix_tuning" | "p_tuning":
            make: Any = KINDS[kind]
            tuning: Prompts = make(task_type=task or "FEATURE_EXTRACTION")
            width = tuning.needed_width(config)
            peft_finds_it = config.own_name("hidden_size") in NAMES_OF_WIDTH and width == config.hidden_size
            return tuning if peft_finds_it else replace(tuning, token_dim=width)
        case "bitsandbytes":
            skip = tuple(name for name in HEADS.get(task, ()) if name in model.children) or None
            return BitsAndBytesConfig(load_in_4bit=True, bnb_4bit_quant_type="nf4", llm_int8_skip_modules=skip)
        case "awq":  # if the default group size does not divide the number of columns, use one group
            return AwqConfig() if _stores(AwqConfig(), model) else AwqConfig(group_size=-1)
        case "gguf":
            return Gguf("Q4_K_M", pure=not _stores(Gguf("Q4_K_M"), model))
    return KINDS[kind]()


def added(steps: Sequence[ChangeStep], step: ChangeStep) -> list[ChangeStep]:
    """Insert a step at its place in the order: sizes first, then quantization, then adapters and freezing.

    >>> [type(step).__name__ for step in added([Lora(r=8)], DropLayers([0]))]
    ['DropLayers', 'Lora']
    """
    after = [place for place, other in enumerate(steps) if other.turn > step.turn]
    place = after[0] if after else len(steps)
    return [*steps[:place], step, *steps[place:]]


def _stores(form: QuantizationFormat, model: Model) -> bool:
    """Whether a format can store a model. Its adapter is ignored, because adapters are added after quantization."""
    with suppress(InputError):
        return bool(form.pieces(without_adapter(model), "F32"))
    return False


def _half(size: int) -> int:
    return max(1, size // 2)


def _names(model: Model, *roles: str) -> tuple[str, ...]:
    """Return the shortest names that match the layers' modules with these roles and, if possible, no other modules."""
    paths = {path: module.place for path, module, _copies in model.modules() if "*" in path and not module.children}
    names = []
    for path, place in paths.items():
        if place.role in roles and place.block in ("attention", "feed-forward"):
            parts = path.rpartition("*.")[2].split(".")
            ends = [".".join(parts[start:]) for start in reversed(range(len(parts)))]
            names.append(next((end for end in ends if _means(end, paths) == {place}), ends[-1]))
    return tuple(dict.fromkeys(names))


def _means(name: str, paths: Mapping[str, Any]) -> set[Any]:
    """Return the places of the modules that peft matches with a name."""
    return {place for path, place in paths.items() if path.endswith(f".{name}")}
