"""A Python program that makes the steps of a change with the real libraries, and checks our counts."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from bertcalc.change_steps.effects import ChangedModel
from bertcalc.change_steps.step_texts import ChangeStep, kind_of
from bertcalc.changes.adapter import PeftChange
from bertcalc.changes.bitfit import BitFit
from bertcalc.changes.factorized import FactorizeEmbeddings
from bertcalc.changes.feed_forward import NarrowFeedForward
from bertcalc.changes.heads import PruneHeads
from bertcalc.changes.layers import DropLayers
from bertcalc.changes.prompts import NAMES_OF_WIDTH, Prompts
from bertcalc.changes.vocabulary import ResizeVocabulary
from bertcalc.export.quantization_code import RUNS_ON_CPU, quantization_lines
from bertcalc.export.snippet import built
from bertcalc.model.model import Model
from bertcalc.model.modules import ModuleList
from bertcalc.storage.quantization_format import QuantizationFormat
from bertcalc.text.records import arguments, in_python

# How people make the steps that no library makes.
_BY_HAND: Mapping[type[ChangeStep], str] = {
    PruneHeads: "Up to version 4.57, transformers had model.prune_heads for it.",
    NarrowFeedForward: "Build the model with this size, and copy the rows and columns to keep.",
    FactorizeEmbeddings: "Put a narrow Embedding and a Linear in the place of the word table; in ALBERT and ELECTRA, "
    "the size is a field.",
}


def code(model: Model, steps: Sequence[ChangeStep]) -> str:
    """Write the program. It runs on shapes without weights, unless it quantizes the model.

    It stops in front of a step that no library makes on a CPU: from there on, everything is a comment.
    """
    quantizes = any(isinstance(step, RUNS_ON_CPU) for step in steps)
    changed, lines, stopped = ChangedModel(model), built(model, with_weights=quantizes).splitlines(), False
    if quantizes:
        lines.insert(0, "from pathlib import Path\n")
    for step in steps:
        quantized = isinstance(step, QuantizationFormat)
        if not stopped and (quantized or type(step) in _BY_HAND):
            lines += _asserts(changed)
        stopped = stopped or type(step) in _BY_HAND or (quantized and not isinstance(step, RUNS_ON_CPU))
        changed = changed.after(step)
        written = ["", *(quantization_lines(changed) if quantized else _lines(changed.model, step))]
        lines += map(_comment, written) if stopped else written
    if not (steps and isinstance(steps[-1], QuantizationFormat)):
        written = _asserts(changed)
        lines += map(_comment, written) if stopped else written
    return "\n".join(lines) + "\n"


def _comment(line: str) -> str:
    return line if not line or line.startswith("#") else f"# {line}"


def _asserts(changed: ChangedModel) -> list[str]:
    """The lines that compare the counts with ours; of packed weights, the library has fewer entries."""
    model = changed.model
    every = f"assert sum(tensor.numel() for tensor in model.parameters()) == {model.num_parameters():_}"
    return [
        "",
        "trained = sum(tensor.numel() for tensor in model.parameters() if tensor.requires_grad)",
        *([] if changed.base else [every]),
        f"assert trained == {model.num_parameters(only_trainable=True):_}",
        'print(f"The counts agree: {trained:,} parameters are trained.")',
    ]


def _lines(model: Model, step: ChangeStep) -> Iterator[str]:
    """The lines of a step, given the model after it."""
    kind, values = kind_of(step), arguments(step)
    if isinstance(step, Prompts):  # peft has no default for it, and finds the sizes only under some names
        values = {"num_virtual_tokens": step.num_virtual_tokens} | values
        config: Any = model.config
        if config.own_name("hidden_size") not in NAMES_OF_WIDTH:
            values |= {"num_layers": config.num_hidden_layers, "num_attention_heads": config.num_attention_heads}
    texts = [f"{name}={in_python(value)}" for name, value in values.items()]
    match step:
        case PeftChange():
            yield f"from peft import {step.peft_config}, get_peft_model  # pip install peft==0.21.0"
            yield ""
            yield f"model = get_peft_model(model, {step.peft_config}({', '.join(texts)}))"
        case BitFit():
            trained = [tensor.name for tensor in model.tensors(folded=False) if not tensor.frozen]
            head = [name for name in trained if not name.endswith(".bias")]
            yield "for name, tensor in model.named_parameters():"
            yield f'    tensor.requires_grad = name.endswith(".bias"){f" or name in {head}" if head else ""}'
        case ResizeVocabulary():
            yield f"model.resize_token_embeddings({', '.join((*texts, 'mean_resizing=False'))})"
        case DropLayers():
            if not model.config.has("num_hidden_groups"):  # ALBERT's layers share their tensors
                path = next(path for path, module, _copies in model.modules() if isinstance(module, ModuleList))
                kept = f"layer for number, layer in enumerate(model.{path}) if number not in {list(step.layers)}"
                yield f"model.{path} = torch.nn.ModuleList([{kept}])"
            yield f"model.config.num_hidden_layers -= {len(step.layers)}"
        case _:
            yield f"# {kind}, {', '.join(texts)}: no library does this. {_BY_HAND[type(step)]}"
            yield "# What follows is for the model after it."
