"""A Python program that makes the steps of a change with the real libraries, and checks our counts."""

from collections.abc import Iterator, Sequence

from bertcalc.change_steps.effects import ChangedModel
from bertcalc.change_steps.step_texts import Step, arguments, kind_of
from bertcalc.changes.adapter import PeftChange
from bertcalc.changes.bitfit import BitFit
from bertcalc.changes.feed_forward import NarrowFeedForward
from bertcalc.changes.layers import DropLayers
from bertcalc.changes.vocabulary import ResizeVocabulary
from bertcalc.export.snippet import built
from bertcalc.model.model import Model
from bertcalc.model.modules import ModuleList
from bertcalc.storage.quantization_format import QuantizationFormat

_CONFIGS = {
    "lora": "LoraConfig",
    "ia3": "IA3Config",
    "prompt_tuning": "PromptTuningConfig",
    "prefix_tuning": "PrefixTuningConfig",
    "p_tuning": "PromptEncoderConfig",
    "ln_tuning": "LNTuningConfig",
}


def code(model: Model, steps: Sequence[Step]) -> str:
    """Write the program. It runs on shapes without weights, up to the quantization, which needs real weights."""
    changed = ChangedModel(model)
    lines = [built(model)]
    for step in steps:
        changed = changed.after(step)
        lines += ["", *_lines(changed.model, step)]
    whole, trained = changed.model.num_parameters(), changed.model.num_parameters(only_trainable=True)
    lines += [
        "",
        "trained = sum(tensor.numel() for tensor in model.parameters() if tensor.requires_grad)",
        f"assert sum(tensor.numel() for tensor in model.parameters()) == {whole:_}",
        f"assert trained == {trained:_}",
    ]
    return "\n".join(lines) + "\n"


def _lines(model: Model, step: Step) -> Iterator[str]:
    """The lines of a step, given the model after it."""
    kind = kind_of(step)
    given = ", ".join(f"{name}={_literal(value)}" for name, value in arguments(step).items())
    match step:
        case PeftChange():
            yield f"from peft import {_CONFIGS[kind]}, get_peft_model  # pip install peft==0.21.0"
            yield ""
            yield f"model = get_peft_model(model, {_CONFIGS[kind]}({given}))"
        case BitFit():
            head = " or not name.startswith(model.base_model_prefix)" if step.head else ""
            yield "for name, tensor in model.named_parameters():"
            yield f'    tensor.requires_grad = name.endswith("bias"){head}'
        case ResizeVocabulary():
            yield f"model.resize_token_embeddings({given}, mean_resizing=False)"
        case DropLayers():
            path = next(path for path, module, _copies in model.modules() if isinstance(module, ModuleList))
            kept = [f"layer for number, layer in enumerate(model.{path}) if number not in {sorted(step.layers)}"]
            yield f"model.{path} = torch.nn.ModuleList([{kept[0]}])"
            yield f"model.config.num_hidden_layers = len(model.{path})"
        case NarrowFeedForward():
            yield f"# Build the model with {given} instead, and copy the rows and columns to keep."
        case QuantizationFormat():
            yield f"# Then quantize: {step.title} ({step.source})."
        case _:
            yield f"# {kind}: {given}"


def _literal(value: object) -> str:
    return repr(list(value)) if isinstance(value, tuple) else repr(value)
