"""Judge what peft prints about a model with adapters: trainable parameters, all parameters, and the trainable share.

>>> from bertcalc import BertConfig, build
>>> from bertcalc.proofreading.mentions.calculations import find
>>> from bertcalc.proofreading.mentions.contexts import Surroundings
>>> text = "trainable params: 296,450 || all params: 109,780,228 || trainable%: 0.2700"
>>> entries, around = find(text, {}), Surroundings(text)
>>> print(judge_adapters(entries[0].best, around.of(entries[0]), build(BertConfig())).counts)
296,450 is the number of parameters that BertForSequenceClassification trains with Lora(r=8, target_modules=['query', \
'value'], task_type='SEQ_CLS').
>>> judge_trainable_share(entries[2].best, around.of(entries[2])).verdict
'right'

If the code above the line creates the adapter, the module reads it:

>>> code = 'config = LoraConfig(r=8, target_modules=["query", "key"], task_type=TaskType.SEQ_CLS)'
>>> adapted = adapted_by_code(code, build(BertConfig()))
>>> adapted.architecture, adapted.num_parameters(only_trainable=True)
('BertForSequenceClassification', 296450)
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from typing import Any, NamedTuple, get_args

from bertcalc.changes.lora import Lora
from bertcalc.changes.targets import TASK_TYPES, TaskType
from bertcalc.diagnosis.changed_counts import ChangedCount, adapter_counts, changed_in_words
from bertcalc.diagnosis.known_counts import every_count, known_counts
from bertcalc.diagnosis.peft_line import PeftLine, printed_by_peft
from bertcalc.model.model import Model
from bertcalc.proofreading.lora_claims import stated_ranks
from bertcalc.proofreading.mentions.calculations import ChainSide
from bertcalc.proofreading.mentions.contexts import Context
from bertcalc.proofreading.mentions.model_names import names_model
from bertcalc.proofreading.verdicts import LEAST, Judged, should_be
from bertcalc.text import N_
from bertcalc.text.problem import InputError, Problem

_ADAPTERS = re.compile(r"\bq?lora\b|adapter|\bpeft\b|trainable params:|\ball params|low[- ]rank|适配器|低秩", re.I)

_COUNTS = re.compile(r"\b(?:total|all|trainable) param", re.I)


def judge_adapters(side: ChainSide, context: Context, model: Model) -> Judged | None:
    """Judge a parameter count of a model with adapters; return None if the words name no adapter or no adapter fits.

    The count may include parameters outside the adapter, such as a trained head. If the text states no rank, the
    verdict is conditional, unless peft printed the number.
    """
    words = " ".join((*context.names, *context.headings, context.line))
    if context.of_other:
        return None  # counting every adapter of every model in a text would take seconds
    names_adapter = _ADAPTERS.search(words) or (_COUNTS.search(context.line) and context.is_in_text(_ADAPTERS))
    if side.reach or side.value < LEAST or side.value.denominator != 1 or not names_adapter:
        return None
    spoken = _spoken_of(context.text or words)
    fitting = [count for count in adapter_counts(model, int(side.value)) if _is_spoken_of(count, spoken)]
    count = next((count for count in fitting if count.rank in spoken.ranks), next(iter(fitting), None))
    if count is None:
        return None
    counts = count.in_words(f"{int(side.value):,}")
    if _ALONE.search(f"{context.after} {words}") and (alone := _of_lora_alone(count.model)) < side.value:
        reason = Problem.of(_WITH_HEAD, lora=alone, head=int(side.value) - alone)
        return Judged("wrong", Fraction(alone), counts, (reason,))
    if not count.rank or count.rank in spoken.ranks:
        return Judged("right", counts=counts)
    is_printed = printed_by_peft(context.line) is not None
    if is_printed and not spoken.ranks:
        return Judged("right", counts=counts)
    return Judged("conditional", side.value, counts, (counts,)) if is_printed or not spoken.ranks else None


_ALONE = re.compile(
    r"\b(?:only|just) (?:the )?lora(?:'s)?(?: param\w*| weights| matrices)?\b(?! (?:train|fine))"
    r"|\blora(?: param\w*| weights| matrices) (?:only|alone)\b|只[算计有]\S{0,3}\s?lora",
    re.I,
)
_WITH_HEAD = N_("LoRA's matrices alone have {lora} parameters; the other {head} belong to the trained head.")


def _of_lora_alone(model: Model) -> int:
    """The number of parameters that a model's LoRA trains, without the head."""
    changes = (replace(change, task_type=None) if isinstance(change, Lora) else change for change in model.changes)
    return model.changed(changes=tuple(changes)).num_parameters(only_trainable=True)


class _SpokenOf(NamedTuple):
    """The adapters and options in a text (keys of ``_KINDS`` and ``_OPTIONS``), and the LoRA ranks that it states."""

    kinds: frozenset[str]
    ranks: frozenset[int]


_KINDS = {
    "Lora": r"\bq?lora\b|low[- ]rank|低秩|\bpeft\b|trainable params|adapter|适配器",
    "IA3": r"\bia3\b|\(ia\)",
    "LNTuning": r"\bln[- ]?tuning|norm.{0,20}\b(?:tun|train)|\b(?:tun|train).{0,20}norm",
    "BitFit": r"bitfit|bias(?:es)?.{0,20}\b(?:tun|train)|\b(?:tun|train).{0,30}bias|偏置",
    "PromptTuning": r"prompt|virtual token|软提示|提示微调",
    "PrefixTuning": r"prefix|virtual token|前缀",
    "PromptEncoder": r"prompt|p-tuning|virtual token",
}
# Arguments of peft's LoraConfig that train more than LoRA's matrices; considered only if the text names them.
_OPTIONS = {"use_dora": r"\bdora\b", "bias=": r"\bbias|偏置", "modules_to_save": r"modules_to_save|pooler|池化"}


@lru_cache(maxsize=8)
def _spoken_of(text: str) -> _SpokenOf:
    kinds = (kind for kind, pattern in {**_KINDS, **_OPTIONS}.items() if re.search(pattern, text, re.I))
    return _SpokenOf(frozenset(kinds), stated_ranks(text))


def _is_spoken_of(count: ChangedCount, spoken: _SpokenOf) -> bool:
    """Whether a text names the kinds of all adapters of a model, and all unusual options that they use."""
    changes = " ".join(map(str, count.model.changes))
    return all(type(change).__name__ in spoken.kinds for change in count.model.changes) and not any(
        option in changes and option not in spoken.kinds for option in _OPTIONS
    )


def judge_trainable_share(side: ChainSide, context: Context) -> Judged | None:
    """Judge the percentage in a line that peft printed, by the line's two counts; return None for any other number."""
    printed = printed_by_peft(context.line)
    if printed is None or side.text.strip(" %") != printed.share:
        return None
    return _share_verdict(printed, side.value, printed.trained, max(printed.whole, 1))


_CALL = re.compile(r"\bLoraConfig\s?\((?P<arguments>(?:[^()]|\([^()]{0,200}\)){0,2000})\)")
_COMMENT = re.compile(r"#[^\n]{0,200}")
_ARGUMENT = re.compile(
    r"\b(?P<name>[a-z_]{1,30})\s?=\s?(?P<value>\[[^\]]{0,400}\]|\([^)]{0,400}\)|\{[^}]{0,400}\}|[^,\n]{1,60})"
)
_TEXTS = re.compile(r"[\"']([\w.-]{1,60})[\"']")
_IGNORED = ("lora_alpha", "lora_dropout", "inference_mode", "use_rslora", "init_lora_weights", "fan_in_fan_out")
_LABELS = re.compile(r"\bnum_labels\s?=\s?(?:self\.)?(?P<number>[0-9]{1,4}\b|[A-Za-z_]\w{0,40}(?![\w(]))")
_CONSTANT = re.compile(
    r"(?m)^[ \t]{0,20}(?:self\.)?(?P<name>[A-Za-z_]\w{0,40})(?:\s?:\s?[\w\[\]]{1,20})?\s?=\s?"
    r"(?P<value>[0-9]{1,6}|\[[^\]\n]{1,200}\]|[\"'][\w./-]{1,80}[\"'])\s?,?\s?(?:#[^\n]{0,200})?$"
)
_USUAL_LABELS = 2
# Code that changes the counts in other ways.
_OTHERWISE = re.compile(r"resize_token|add_tokens|\.requires_grad\s?=", re.I)
# Code for quantization, which does not change the adapter's counts.
_QUANTIZED = re.compile(r"quantiz|bnb|bitsandbytes|load_in_[48]bit", re.I)


def judge_printed(start: int, value: Fraction, context: Context, model: Model) -> Judged | None:
    """Judge a number in a line that peft printed; return None for other numbers.

    The code above the line determines the adapter. If it does not, the counts in the line are compared with the known
    counts of ``model``. ``start`` is the position of the number in the text, and ``value`` is its value.
    """
    printed = printed_by_peft(context.line)
    if printed is None or context.of_other:
        return None
    adapted = adapted_by_code(context.text[:start], model)
    if adapted is None:
        return _without_adapter(printed, value, context, model)
    is_whole = printed.whole - printed.trained == adapted.num_parameters() - adapted.num_parameters(only_trainable=True)
    if value != printed.trained and not is_whole and _QUANTIZED.search(context.text[:start]):
        return None  # early releases of peft count a quantized matrix by its bytes
    if _is_without_head(printed, adapted):
        return Judged("conditional", value, None, (Problem.of(_WITHOUT_HEAD),))
    return next(_verdicts(printed, value, adapted), None)


def _is_without_head(printed: PeftLine, adapted: Model) -> bool:
    """Whether a printed line is right if the head has no trained copy, as in early releases of peft."""
    changes = tuple(replace(change, task_type=None) for change in adapted.changes if isinstance(change, Lora))
    if len(changes) < len(adapted.changes) or adapted.cls.task != "question-answering":
        return False
    without = adapted.changed(changes=changes)
    counts = without.num_parameters(only_trainable=True), without.num_parameters()
    return counts == (printed.trained, printed.whole)


_WITHOUT_HEAD = N_("This is correct without a trained copy of the head, which early releases of peft did not make.")


def _without_adapter(printed: PeftLine, value: Fraction, context: Context, model: Model) -> Judged | None:
    """Judge an "all params" count that lacks LoRA's parameters or is slightly wrong, or the share computed from it."""
    is_small = 0 < printed.trained * _LEAST_SHARE < printed.whole
    is_otherwise = context.is_in_text(_OTHERWISE) or context.is_in_text(_QUANTIZED)
    if not is_small or is_otherwise or _spoken_of(context.text).kinds & {"LNTuning", "BitFit"}:
        return None  # adapters of these kinds train parameters of the model itself
    counts = {count.total for count in every_count(model.config, known_counts) if not count.buffers}
    adapted = [count.model for count in adapter_counts(model, printed.trained)]
    if not context.is_in_text(_LORA) and not any(
        isinstance(change, Lora) for other in adapted for change in other.changes
    ):
        return None
    right = printed.whole + printed.trained
    if printed.whole in counts and value == printed.whole:
        reason = Problem.of(N_("This is the count without the adapter; with the adapter, it is {right}."), right=right)
        return Judged("wrong", Fraction(right), None, (reason,))
    if printed.whole not in counts:
        return _other_whole(printed, value, adapted)
    return _share_verdict(printed, value, printed.trained, right)


def _other_whole(printed: PeftLine, value: Fraction, adapted: Iterable[Model]) -> Judged | None:
    """Judge an "all params" count that is close to an adapted model's total; return None if it is equal or far off."""
    whole = min((model.num_parameters() for model in adapted), key=lambda whole: abs(whole - printed.whole), default=0)
    apart = abs(whole - printed.whole)
    if value != printed.whole or not apart or apart * _NEAR_WHOLE > whole:
        return None
    reason = Problem.of(N_("The model and its adapter have {right} parameters."), right=whole)
    return Judged("wrong", Fraction(whole), None, (reason,))


_NEAR_WHOLE = 200  # a count is close to a total if it differs by at most 1/200 of the total
_LEAST_SHARE = 20  # LoRA trains less than a twentieth of the parameters
_LORA = re.compile(r"lora", re.I)


def _verdicts(printed: PeftLine, value: Fraction, adapted: Model) -> Iterator[Judged]:
    """Yield a verdict for each number in a printed line that equals ``value``: both counts, and the share."""
    trained, whole = adapted.num_parameters(only_trainable=True), adapted.num_parameters()
    rights = ((printed.trained, trained, "trained"), (printed.whole, whole, "all"))
    for written, right, amount in rights:
        counts = Problem.of(_PRINTS, model=changed_in_words(adapted, "trained" if amount == "trained" else "all"))
        if value == written == right:
            yield Judged("right", counts=counts)
        elif value == written:
            yield should_be(right, counts)
    if judged := _share_verdict(printed, value, trained, whole):
        yield judged


def _share_verdict(printed: PeftLine, value: Fraction, trained: int, whole: int) -> Judged | None:
    """Judge a value by the right counts if it is the share in a printed line; otherwise return None."""
    if not value or value not in (Fraction(printed.share), Fraction(printed.share) / 100):
        return None
    counts = Problem.of(N_("the share of the trainable parameters"))
    reason = printed._replace(trained=trained, whole=whole).wrong_share()
    if reason is None:
        return Judged("right", counts=counts)
    return Judged("wrong", Fraction(100 * trained, whole) * value / Fraction(printed.share), counts, (reason,))


_PRINTS = N_("what peft prints for {model}")


_LOADED = re.compile(r"from_pretrained\(\s*[\"'](?:[^\"'/]{1,60}/)?([^\"'/]{1,80})[\"']")


def last_loaded(text: str) -> str:
    """The name of the model that a text loads last, without its owner; empty if it loads none.

    >>> last_loaded('AutoModel.from_pretrained("google-bert/bert-base-chinese")')
    'bert-base-chinese'
    """
    return next(reversed(_LOADED.findall(text)), "")


@lru_cache(maxsize=8)
def adapted_by_code(text: str, model: Model) -> Model | None:
    """The model with the adapter of the last LoraConfig in a text; None if there is none or the code is unclear."""
    call = next(reversed([*_CALL.finditer(text)]), None)
    loaded = last_loaded(text)
    if call is None or _OTHERWISE.search(text) or (loaded and not names_model(loaded)):
        return None
    constants = _constants(text)
    arguments = _arguments(_COMMENT.sub("", call["arguments"]), constants)
    if arguments is None:
        return None
    task = next((task for task, name in TASK_TYPES.items() if name == arguments.get("task_type")), "base")
    architecture = next((cls.name for cls in model.family.classes if cls.task == task), None)
    if task == "causal-lm" and model.family.name == "eurobert":
        architecture = model.architecture  # LLaMA is counted as a EuroBERT, which has no class for this task
        arguments.pop("task_type")
    labels = next(reversed([*_LABELS.finditer(text)]), None)
    written = constants.get(labels["number"], labels["number"]) if labels else f"{_USUAL_LABELS}"
    if architecture is None or not written.isdigit():
        return None
    number = int(written)
    try:
        config = replace(model.config, num_labels=number) if type(model.config).has("num_labels") else model.config
        base = model.changed(config=config, architecture=architecture, changes=())
        return base.changed(changes=(Lora(**arguments),))
    except (InputError, TypeError):
        return None


def _constants(text: str) -> dict[str, str]:
    """Map each name to its value if a program only ever assigns the same number, text or list to it: LORA_R = 8.

    >>> _constants("LORA_R = 8  # rank\\nTARGETS = ['query', 'value']\\nr = 4\\nr = 8")
    {'LORA_R': '8', 'TARGETS': "['query', 'value']"}
    """
    values: dict[str, set[str]] = {}
    for constant in _CONSTANT.finditer(text):
        values.setdefault(constant["name"], set()).add(constant["value"])
    return {name: next(iter(assigned)) for name, assigned in values.items() if len(assigned) == 1}


def _arguments(code: str, constants: Mapping[str, str]) -> dict[str, Any] | None:
    """Return the arguments that affect the trained parameters, by name; None if one is unclear or r is missing."""
    arguments: dict[str, Any] = {}
    for argument in _ARGUMENT.finditer(code):
        name, value = argument["name"], argument["value"].strip()
        value = constants.get(value.removeprefix("self."), value)
        texts = _TEXTS.findall(value)
        if name in _IGNORED:
            continue
        if name == "r" and value.isdigit():
            arguments["r"] = int(value)
        elif name in ("target_modules", "modules_to_save") and texts:
            arguments[name] = tuple(texts) if value[0] in "[({" else texts[0]
        elif name == "task_type" and (task := _task(value)):
            arguments[name] = task
        elif name == "bias" and texts and texts[0] in ("none", "all", "lora_only"):
            arguments[name] = texts[0]
        elif name == "use_dora" and value in ("True", "False"):
            arguments[name] = value == "True"
        else:
            return None
    return arguments if "r" in arguments else None


def _task(value: str) -> TaskType | None:
    tasks: tuple[TaskType, ...] = get_args(TaskType)
    return next((task for task in tasks if task in value), None)
