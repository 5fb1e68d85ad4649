"""Read peft's adapter_config.json, or the configuration as Python prints it, and count the adapter's parameters.

>>> print(read_adapter("LoraConfig(target_modules={'query', 'value'}, base_model_name_or_path='bert-base-uncased')"))
Read as: an adapter_config.json (LORA).
This is BertModel with V = 30,522, H = 768, L = 12, A = 12, I = 3,072, P = 512, T = 2: 109,482,240 parameters.
The adapter adds 294,912 parameters to bert-base-uncased.
peft trains 294,912 of 109,777,152 parameters.
"""

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import fields, replace
from typing import Any

from bertcalc.changes.adapter import PeftChange, copies
from bertcalc.changes.ia3 import IA3, LNTuning
from bertcalc.changes.lora import Lora
from bertcalc.changes.prompts import PrefixTuning, PromptEncoder, Prompts, PromptTuning
from bertcalc.changes.targets import TASK_TYPES
from bertcalc.config import ConfigError
from bertcalc.families import CLASSES
from bertcalc.families.bert import BertConfig
from bertcalc.families.presets import PRESETS, preset_named
from bertcalc.model.model import Model
from bertcalc.proofreading.mentions.config_code import CodeAdapter, LoadedModel, adapters_in_code
from bertcalc.reading.plain_lines import LARGEST
from bertcalc.reading.several_configs import of_code
from bertcalc.reading.text_reading import TextReading
from bertcalc.text import N_, shorten
from bertcalc.text.loose_json import LONGEST, read_loosely
from bertcalc.text.problem import InputError, Problem, wrong

_KINDS: Mapping[str, type[PeftChange]] = {
    kind.peft_type: kind for kind in (Lora, IA3, LNTuning, PromptTuning, PrefixTuning, PromptEncoder)
}
_TASKS = {task_type: task for task, task_type in TASK_TYPES.items()}
_TYPES = {kind.peft_config: peft_type for peft_type, kind in _KINDS.items()} | {"AdaLoraConfig": "ADALORA"}
_CALL = re.compile(rf"\b({'|'.join(_TYPES)})\s{{0,9}}\(")
_BRACKET = re.compile(r"[][(){}]")
_ENUM = re.compile(r"<\w{1,40}\.(\w{1,40}): '[^'\n]{0,60}'>|\b(?:TaskType|PeftType)\.(\w{1,40})")
_NESTED = re.compile(r"\b[A-Za-z]\w{0,60}\([^()]{0,500}\)")
_SET = re.compile(r"\{((?:\s*(?:'[^'\n]{0,200}'|\"[^\"\n]{0,200}\")\s*,?){1,500})\}")
_QUOTED = re.compile(r"""['"]([\w./-]{1,200})['"]""")
_SHORT_PROGRAM = 2_000  # maximum number of characters of a program of which an adapter may be a small part
_LEAST = 4  # a call has to be at least a quarter of the text

# Keys that add parameters in a way that bertcalc does not count, with the values that have no effect.
_NOT_COUNTED: Mapping[str, tuple[Any, ...]] = {
    "target_parameters": (None, []),
    "trainable_token_indices": (None, [], {}),
    "layer_replication": (None, []),
    "use_qalora": (None, False),
    "use_bdlora": (None, False, {}),
}


def adapter_content(text: str) -> Mapping[str, Any] | None:
    """Parse an adapter's configuration: JSON, a dictionary, or a call such as LoraConfig(r=8, ...).

    Returns None for other texts. If a call names no base model, the only preset that the text mentions in quotation
    marks is used.
    """
    if len(text) > LARGEST:
        return None
    plain = text.strip("\ufeff \t\r\n")
    call = next(_calls(plain), None) if len(plain) <= LONGEST else None
    written = call[1] if call else plain if plain[:1] == "{" and "peft_type" in plain else ""
    adapters = _followed(plain) if _CALL.search(plain) else ()
    if call is None and len(plain) <= _SHORT_PROGRAM and any(adapter.base for adapter in adapters):
        call = adapters[0].config.text.partition("(")[0], adapters[0].config.text
    written = adapters[0].config.text if adapters else written
    if call and adapters and adapters[0].config.unknown:
        return {"peft_type": _TYPES[call[0]]}  # read_adapter names the value
    with suppress(InputError):
        content = read_loosely(_plain_values(written) if call else written, LARGEST) if written else None
        if isinstance(content, dict) and (call or "peft_type" in content):
            return _completed(content, call[0], plain) if call else content
    return None


def _calls(text: str) -> Iterator[tuple[str, str]]:
    """Yield (class name, call) for each call of a peft configuration that is at least a quarter of the text."""
    for match in _CALL.finditer(text):
        depth = 0
        for sign in _BRACKET.finditer(text, match.end() - 1):
            depth += 1 if sign[0] in "([{" else -1
            if not depth:
                if _LEAST * (sign.end() - match.start()) >= len(text):
                    yield match[1], f"{match[1]}{text[match.end() - 1 : sign.end()]}"
                break


def _plain_values(call: str) -> str:
    """Replace enumerations, sets and nested configurations in a call, so that it can be parsed like JSON."""
    name, bracket, inside = call.partition("(")
    inside = _ENUM.sub(lambda match: json.dumps(match[1] or match[2]), inside)
    inside = _SET.sub(r"[\1]", _NESTED.sub("None", inside))
    return f"{name}{bracket}{inside}"


def _followed(text: str) -> tuple[CodeAdapter, ...]:
    return adapters_in_code(text, _TYPES)


def _completed(content: Mapping[str, Any], name: str, text: str) -> Mapping[str, Any]:
    adapter = next(iter(_followed(text)), None)
    named = {word for word in _QUOTED.findall(text) if preset_named(word)}
    loaded = adapter.base.name if adapter and adapter.base else next(iter(named)) if len(named) == 1 else None
    base = content.get("base_model_name_or_path") or loaded
    return {"peft_type": _TYPES[name], **content, "base_model_name_or_path": base}


def read_adapter(text: str) -> TextReading:
    """Read an adapter's configuration and count its parameters. Raises InputError for other texts."""
    adapters = _followed(text)
    if len(adapters) > 1:
        raise wrong(_SEVERAL, lines=", ".join(f"{adapter.config.first}" for adapter in adapters))
    adapter = adapters[0] if adapters else None
    for key, value in adapter.config.unknown if adapter else ():
        raise wrong(UNKNOWN_VALUE, key, value, key=key, value=shorten(value))
    content = adapter_content(text)
    if content is None:
        raise wrong(N_("This is not an adapter_config.json: it has no peft_type."))
    kind, base = content["peft_type"], content.get("base_model_name_or_path")
    sentence = Problem.of(N_("Read as: an adapter_config.json ({kind})."), kind=shorten(f"{kind}"))
    name = _base(base)
    model = Model(PRESETS[name].config) if name else None
    notes: tuple[Problem, ...] = ()
    if model and name:
        if isinstance(base, str) and preset_named(base) is None:
            notes = (Problem.of(N_("The base model is assumed to be {name}, because of the folder name."), name=name),)
        with suppress(InputError):
            model = _of_task(model, content)
            model = _of_loaded(model, adapter.base) if adapter and adapter.base else model
    labels = adapter.base.num_labels if adapter and adapter.base else None
    notes = (*notes, *of_code(adapter.unfollowed if adapter else ()))
    try:
        if content.get("task_type") == _ENCODER_DECODER:
            if model:
                raise wrong(_NO_DECODER, "task_type", _ENCODER_DECODER, task=_ENCODER_DECODER, name=shorten(f"{base}"))
            content = {**content, "task_type": None}
        change = _change(content)
        if model is None or name is None:
            return _without_base(sentence, change, content)
        adapted = model.changed(changes=(change,))
    except InputError as error:
        return TextReading("adapter-config", sentence, model, model, notes=(*notes, *error.problems))
    return TextReading(
        "adapter-config",
        sentence,
        model,
        model,
        tuple(tensor for tensor in adapted.tensors() if not tensor.frozen),
        adapted.num_parameters(),
        notes=(*notes, *_of_adapted(adapted, model, name, labels)),
        detail=adapted,
    )


def _base(name: Any) -> str | None:
    """Return the preset with this name on the Hub, or with the name at the end of this path; None if there is none."""
    if not isinstance(name, str):
        return None
    return preset_named(name) or preset_named(re.split(r"[/\\]", name.rstrip("/\\"))[-1])


def _of_task(model: Model, content: Mapping[str, Any]) -> Model:
    """Return the model with the class that the adapter was made for.

    The file names this class or gives a task_type that implies it. Otherwise the model is returned unchanged.
    """
    mapping = content.get("auto_mapping")
    named = mapping.get("base_model_class") if isinstance(mapping, dict) else None
    if isinstance(named, str) and CLASSES.get(named) is model.family:
        return Model(model.config, named)
    task = _TASKS.get(content.get("task_type"))  # type: ignore[arg-type]  # any value, not only peft's
    return Model(model.config, model.family.for_task(task)) if task else model


def _of_loaded(model: Model, loaded: LoadedModel) -> Model:
    """Return the model with the class and the number of labels with which code loads it."""
    named = loaded.architecture(type(model.config).__name__)
    architecture = named if CLASSES.get(named) is model.family else model.architecture
    if loaded.num_labels is None or not type(model.config).has("num_labels"):
        return Model(model.config, architecture)
    return Model(replace(model.config, num_labels=loaded.num_labels), architecture)


_ENCODER_DECODER = "SEQ_2_SEQ_LM"
_NO_DECODER = N_("task_type {task} is for models with an encoder and a decoder, such as T5, and {name} is not one.")
_SEVERAL = N_("The code has several adapters (lines {lines}): keep one of them.")
UNKNOWN_VALUE = N_("The code sets {key} to {value}, whose value is not in the text: write the value itself.")


def _change(content: Mapping[str, Any]) -> PeftChange:
    """Return the adapter as a change of a model. Raises InputError if bertcalc does not count it."""
    kind = _KINDS.get(f"{content['peft_type']}")
    if kind is None:
        message = N_("bertcalc does not support adapters of this type. It supports {kinds}.")
        raise InputError(Problem.of(message, kinds=", ".join(_KINDS)))
    for key, values in _NOT_COUNTED.items():
        if key in content and content[key] not in values:
            raise InputError(Problem.of(N_("Adapters with {key} are not supported."), key=key))
    names = {part.name for part in fields(kind)}  # type: ignore[arg-type]  # all adapters are dataclasses
    arguments: dict[str, Any] = {key: value for key, value in content.items() if key in names and value is not None}
    if issubclass(kind, Prompts) and arguments.get("task_type") is None:
        arguments["task_type"] = "FEATURE_EXTRACTION"
    return kind(**arguments)


def _of_adapted(adapted: Model, model: Model, name: str, labels: int | None) -> Iterator[Problem]:
    count, trained = adapted.num_parameters(), adapted.num_parameters(only_trainable=True)
    message = N_("The adapter adds {count} parameters to {name}.")
    yield Problem.of(message, count=count - model.num_parameters(), name=name)
    copied = copies(adapted)
    if copied:
        message = N_(
            "They include a copy of {names} ({count} parameters), which is trained and saved; the original is frozen."
        )
        yield Problem.of(message, names=", ".join(map(shorten, copied)), count=sum(copied.values()))
    if labels is None and _has_labels(model, copied):
        message = N_(
            "An adapter_config.json does not contain the number of labels: the default of {labels} is assumed."
        )
        yield Problem.of(message, labels=model.config.num_labels)
    yield Problem.of(N_("peft trains {trained} of {count} parameters."), trained=trained, count=count)


def _has_labels(model: Model, copied: Mapping[str, int]) -> bool:
    """Whether peft trains a copy of a head that has a row for each label."""
    if not copied or model.cls.task == "question-answering":
        return False
    with suppress(ConfigError):
        labelled = model.changed(config=replace(model.config, num_labels=model.config.num_labels + 1))
        return labelled.num_parameters() != model.num_parameters()
    return False


def _without_base(sentence: Problem, change: PeftChange, content: Mapping[str, Any]) -> TextReading:
    """Read an adapter with an unknown base model.

    The parameters of virtual tokens (prompt tuning, prefix tuning, p-tuning) are counted if the file has their sizes.
    Other adapters are not counted.
    """
    base = content.get("base_model_name_or_path")
    message = N_("The base model {name} is not a preset, so the adapter's parameters cannot be counted.")
    note = Problem.of(message, name=shorten(f"{base}"))
    if base is None:
        message = N_("This does not name its base model, which determines its parameters: add base_model_name_or_path.")
        note = Problem.of(message)
    width, layers = content.get("token_dim"), content.get("num_layers")
    needs_layers = isinstance(change, PrefixTuning) and not _is_size(layers)
    if not isinstance(change, Prompts) or not _is_size(width) or needs_layers:
        return TextReading("adapter-config", sentence, notes=(note,))
    stacks = content.get("num_transformer_submodules")  # two in an encoder-decoder
    tokens = change.num_virtual_tokens * (stacks if isinstance(stacks, int) and _is_size(stacks) else 1)
    arguments: dict[str, Any] = {"num_virtual_tokens": tokens, "task_type": "FEATURE_EXTRACTION"}
    sizes: dict[str, Any] = {"hidden_size": width, "num_hidden_layers": layers if _is_size(layers) else 1}
    prompts = replace(change, **arguments, modules_to_save=None)
    adapted = Model(BertConfig(**sizes, num_attention_heads=1)).changed(changes=(prompts,))
    tensors = tuple(tensor for tensor in adapted.tensors() if tensor.name.startswith("prompt_encoder."))
    count = sum(tensor.num_parameters() for tensor in tensors)
    notes = [Problem.of(N_("The virtual tokens have {count} parameters, regardless of the base model."), count=count)]
    if content.get("modules_to_save") or content.get("task_type") in ("SEQ_CLS", "TOKEN_CLS", "QUESTION_ANS"):
        notes.append(Problem.of(N_("peft also trains a copy of the head, whose sizes are not in this file.")))
    return TextReading("adapter-config", sentence, None, None, tensors, count, notes=tuple(notes))


def _is_size(value: Any) -> bool:
    return type(value) is int and 0 < value < 10**7
