"""Count the parameters, FLOPs and memory of a preset or a config.json, with any field changed.

    python -m bertcalc bert-base-uncased --hidden-size 1024
    python -m bertcalc albert-base-v2 --architecture AlbertForMaskedLM --json
    python -m bertcalc --config config.json --batch-size 32 --sequence-length 512
    python -m bertcalc bert-base-uncased --changes "lora,r=16"
    python -m bertcalc read FILE

``read`` takes a text, such as the output of print(model), from FILE. If FILE is -, it reads standard input.

A preset can have changes, written as in a link to Compare: bert-base-uncased~hidden_size-1024.

Fields have Hugging Face's names, with - or _. If you change only hidden_size, the head size stays the same. --changes
takes steps, such as adapters and quantization, in the notation of the Change page's links.
"""

import argparse
import json
import os
import sys
from collections.abc import Callable, Sequence
from functools import partial
from io import TextIOWrapper
from pathlib import Path
from textwrap import fill
from typing import Any

from bertcalc import __version__
from bertcalc.api import of_another_type
from bertcalc.api import read as read_text
from bertcalc.change_steps.step_texts import without_spaces
from bertcalc.change_steps.step_texts import written as written_steps
from bertcalc.config import check_whole_number, letters
from bertcalc.controls.stops import moved
from bertcalc.explore.model_values import model_of_preset
from bertcalc.explore.quantities import EVERY_QUANTITY, Case
from bertcalc.families import CLASSES, hf_json
from bertcalc.families.presets import DEFAULT_PRESET, PRESETS, preset_named
from bertcalc.memory.peak import inference_peak_bytes, training_peak_bytes
from bertcalc.model.batch import BATCH, LARGEST, Batch
from bertcalc.model.model import Model
from bertcalc.model.terms import component_texts
from bertcalc.model.totals import totals_by_component
from bertcalc.model_ref import PRESENT, ModelRef, read_item
from bertcalc.reading.plain_lines import LARGEST as LONGEST_TEXT
from bertcalc.reading.text_reading import KINDS
from bertcalc.text import shorten, text_table
from bertcalc.text.amounts import whole
from bertcalc.text.problem import InputError, wrong
from bertcalc.text.strict_json import decode
from bertcalc.text.suggestions import nearest

_OTHERS = "For other models, use the dashboard's Any model page, or python -m bertcalc.discover for their defaults."
# Remarks that are printed after a figure's unit, keyed by quantity.
_MORE = {"training_memory": ", in a loop that holds the outputs until the next forward pass has returned"}
_CONSTANTS = {"True": "true", "False": "false", "None": "none"}


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table or the JSON and return 0. For invalid input, print the error and return 2.

    ``arguments`` defaults to the arguments of the process.
    """
    given = sys.argv[1:] if arguments is None else arguments
    if given and given[0] == "read":
        return _read_text(given[1:])
    parser = argparse.ArgumentParser(
        prog="python -m bertcalc",
        usage="%(prog)s [PRESET] [options] [--FIELD VALUE ...]",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    presets = fill(", ".join(PRESETS), 110, initial_indent="  ", subsequent_indent="  ", break_on_hyphens=False)
    parser.add_argument_group("PRESET", f"a published model (default: {DEFAULT_PRESET})\n\n{presets}")
    parser.add_argument("--config", type=Path, metavar="FILE", help="a config.json, instead of a preset")
    parser.add_argument("--batch-size", default="1")
    parser.add_argument("--sequence-length", default="128")
    parser.add_argument("--json", action="store_true", help="print JSON; reasons explains figures that are null")
    parser.add_argument("--version", action="version", version=f"bertcalc {__version__}")
    parser.add_argument_group("any field", "such as --hidden-size 1024, or --architecture BertForMaskedLM")
    asked, fields = parser.parse_known_args(arguments)
    try:
        case = _case(asked, fields)
        print(json.dumps(_data(case), indent=2) if asked.json else _table(case))
    except InputError as error:
        print(error, file=sys.stderr)
        return 2
    return 0


def _read_text(arguments: Sequence[str]) -> int:
    """Read the text of a file or standard input, and print the result as sentences."""
    parser = argparse.ArgumentParser(
        prog="python -m bertcalc read",
        description="Read a printed model, a listing of tensors, a summary, a config.json, a number or an article.",
        allow_abbrev=False,
    )
    parser.add_argument("file", metavar="FILE", help="a text file, or - for standard input")
    parser.add_argument("--kind", choices=KINDS, help="what to read it as; recognized without it")
    asked = parser.parse_args(arguments)
    try:
        print(read_text(_text_of(asked.file), asked.kind))
    except InputError as error:
        print(error, file=sys.stderr)
        return 2
    return 0


def _text_of(name: str) -> str:
    try:
        if name == "-":
            data = sys.stdin.buffer.read(4 * LONGEST_TEXT + 1)
        else:
            with Path(name).open("rb") as file:
                data = file.read(4 * LONGEST_TEXT + 1)
    except (OSError, ValueError) as error:  # ValueError: a name with a null character
        reason = getattr(error, "strerror", None) or str(error)
        raise wrong("{path} cannot be read: {reason}.", path=shorten(name), reason=reason) from None
    return decode(data)


def _case(asked: argparse.Namespace, fields: Sequence[str]) -> Case:
    preset, changes = _read_fields(fields)
    if preset and asked.config:
        raise wrong("Give a preset or --config, not both.")
    present = _described(asked.config) if asked.config else None
    wanted, *linked = (preset or DEFAULT_PRESET).split("~")
    base = PRESENT if present else preset_named(wanted)
    if base is None:
        near = nearest(wanted.rpartition("/")[2], PRESETS)
        hint = f"did you mean {near}?" if near else "python -m bertcalc --help lists them."
        raise wrong("there is no preset {value}: {known}", value=shorten(wanted), known=hint)
    start = present or model_of_preset(base)
    item = read_item("~".join([base, *linked, *changes]), type(start.config))
    try:
        changed = _with_heads(item, start).changed(present)
    except InputError as error:
        raise wrong("{error}{more}", error=str(error), more=_of_another_family(item, start)) from None
    sizes: dict[str, Any] = {name: whole(getattr(asked, name)) for name in BATCH}
    for name, size in sizes.items():
        most = changed.model.config.longest if name == "sequence_length" else LARGEST
        if problem := check_whole_number(name, size, 1, most, 1):
            raise InputError(problem)
    return Case(changed.model, Batch(**sizes), base=changed.base)


def _of_another_family(item: ModelRef, start: Model) -> str:
    """A sentence with a suitable preset if the class belongs to a different family than ``start``; otherwise ""."""
    architecture = dict(item.changes).get("architecture", start.architecture)
    family = CLASSES[architecture]
    if family is start.family:
        return ""
    base = next(iter(family.presets))
    return f" {architecture} does not belong to the family of {item.base}: start from {base}."


def _with_heads(item: ModelRef, start: Model) -> ModelRef:
    """Add the number of heads that keeps the head size if hidden_size is changed, but not the number of heads."""
    changes = dict(item.changes)
    if "hidden_size" not in changes or "num_attention_heads" in changes:
        return item
    heads = moved(start.config, "hidden_size", changes["hidden_size"]).num_attention_heads
    return item._replace(changes=(*item.changes, ("num_attention_heads", heads)))


def _described(path: Path) -> Model:
    """Read the model that a config.json describes. If the file names no class, the model has no head.

    Prints remarks on the file. Raises InputError if the file cannot be read.
    """
    text = hf_json.text_of_file(path)
    try:
        described = hf_json.read(text)
    except InputError as error:
        raise of_another_type(error, _OTHERS) from None
    for remark in described.remarks:
        print(remark, file=sys.stderr)
    return Model(described.config, described.architecture)


def _read_fields(arguments: Sequence[str]) -> tuple[str | None, list[str]]:
    """Return the preset, or None if there is none, and the fields in the notation of links: hidden_size-1024.

    Raises InputError if an argument is neither a preset nor a field with a value.
    """
    preset, changes, rest = None, [], list(arguments)
    while rest:
        argument = rest.pop(0)
        if preset is None and not argument.startswith("-"):
            preset = argument
            continue
        option, equals, value = argument.partition("=")
        if not equals:
            value = rest.pop(0) if rest else ""
        if option == "--changes":
            value = without_spaces(value)
        if option.startswith("--") and value and not any(sign.isspace() or sign == "~" for sign in option + value):
            name = option.removeprefix("--").replace("-", "_")
            changes.append(f"{name}-{_CONSTANTS.get(value, value)}")
        else:
            message = "Cannot read {option}: write a field and its value, such as --hidden-size 1024."
            raise wrong(message, option=shorten(option))
    return preset, changes


def _figures(case: Case) -> dict[str, int | InputError]:
    changed, sizes = case.changed, case.batch.shape
    own = ("trainable", "file") if changed.steps else ()
    counts: dict[str, Callable[[], int]] = {
        **{
            key: partial(EVERY_QUANTITY[key].of, case)
            for key in (*own, "forward", "training", "weights", "activations")
        },
        # EVERY_QUANTITY also has the peaks, but computing them there needs SymPy.
        "inference_memory": lambda: inference_peak_bytes(changed.in_inference(), *sizes),
        "training_memory": lambda: training_peak_bytes(changed.in_training(case.plan), *sizes),
    }
    figures: dict[str, int | InputError] = {}
    for key, count in counts.items():
        try:
            figures[key] = count()
        except InputError as error:
            figures[key] = error
    return figures


def _data(case: Case) -> dict[str, Any]:
    """All figures, for JSON. A figure that cannot be computed is None, with the reason under ``reasons``."""
    model, figures = case.model, _figures(case)
    reasons = {key: str(figure) for key, figure in figures.items() if isinstance(figure, InputError)}
    try:
        config = json.loads(hf_json.write(model))
    except InputError as error:  # raised if no config.json can describe the steps
        config, reasons["config"] = None, str(error)
    return {
        "architecture": model.architecture,
        "config": config,
        "changes": written_steps(case.changed.steps),
        **case.batch.sizes(),
        "parameters": model.num_parameters(),
        "components": totals_by_component(model),
        "formulas": component_texts(model),
        **{key: figure if isinstance(figure, int) else None for key, figure in figures.items()},
        "reasons": reasons,
    }


def _table(case: Case) -> str:
    model, formulas = case.model, component_texts(case.model)
    rows: list[tuple[str, str, str]] = [
        (component, f"{count:,}", formulas[component]) for component, count in totals_by_component(model).items()
    ]
    rows.append((EVERY_QUANTITY["parameters"].meaning, f"{model.num_parameters():,}", ""))
    for key, figure in _figures(case).items():
        count, note = f"{figure:,}" if isinstance(figure, int) else "-", EVERY_QUANTITY[key].unit + _MORE.get(key, "")
        if isinstance(figure, InputError):
            note = str(figure)
        rows.append((EVERY_QUANTITY[key].meaning, count, note))
    values = ", ".join(f"{letter} = {size:,}" for letter, size in letters(model.final_config).items())
    steps = ", ".join(map(str, case.changed.steps))
    sizes = f"{case.batch.batch_size:,} x {case.batch.sequence_length:,} tokens, float32"
    head = [f"{model.architecture}: {values}", *([steps] if steps else []), sizes]
    return "\n".join([*head, "", text_table(rows, "<><")])


def run() -> None:
    """Run the command and exit. It is not an error if the reader closes the pipe early, as ``head`` does."""
    # A terminal may lack symbols of formulas, so these are escaped. A closed stream is None.
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    code: int | str | None = 1
    try:
        try:
            code = main()
        except SystemExit as end:  # from argparse
            code = end.code
        if sys.stdout:
            sys.stdout.flush()
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # else Python reports the error again at exit
        code = 0
        if not isinstance(error, BrokenPipeError):
            print(f"The output cannot be written: {error.strerror}.", file=sys.stderr)
            code = 1
    sys.exit(code)


if __name__ == "__main__":
    run()
