"""Judge what peft prints of a model with adapters: the trainable parameters, all of them, and their share.

>>> from bertcalc import BertConfig, build
>>> from bertcalc.proofreading.calculations import find
>>> from bertcalc.proofreading.contexts import Surroundings
>>> text = "trainable params: 296,450 || all params: 109,780,228 || trainable%: 0.2700"
>>> entries, around = find(text, {}), Surroundings(text)
>>> print(judge_adapters(entries[0].best, around.of(entries[0]), build(BertConfig())).counts)
296,450 is the number of parameters that BertForSequenceClassification trains with Lora(r=8, target_modules=['query', \
'value'], task_type='SEQ_CLS').
>>> judge_trainable_share(entries[2].best, around.of(entries[2])).verdict
'right'
"""

import re
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

from bertcalc.diagnosis.changed_counts import ChangedCount, adapter_counts
from bertcalc.diagnosis.peft_line import printed_by_peft
from bertcalc.model.model import Model
from bertcalc.proofreading.calculations import ChainSide
from bertcalc.proofreading.contexts import Context
from bertcalc.proofreading.lora_claims import stated_ranks
from bertcalc.proofreading.verdicts import LEAST, Judged
from bertcalc.text import N_
from bertcalc.text.problem import Problem

_ADAPTERS = re.compile(r"\blora\b|adapter|\bpeft\b|trainable params:|\ball params|low[- ]rank|适配器|低秩", re.I)


def judge_adapters(side: ChainSide, context: Context, model: Model) -> Judged | None:
    """The verdict on the parameters of adapters, alone or with what is trained or frozen beside them.

    A setting that the text does not state is a condition, unless peft itself printed the number.
    """
    words = " ".join((*context.names, *context.headings, context.line))
    if context.of_other:
        return None  # counting every adapter of every model of a text would take seconds
    if side.reach or side.value < LEAST or side.value.denominator != 1 or not _ADAPTERS.search(words):
        return None
    spoken = _spoken_of(context.text or words)
    fitting = [known for known in adapter_counts(model, int(side.value)) if _is_spoken_of(known, spoken)]
    known = next((known for known in fitting if known.rank in spoken.ranks), next(iter(fitting), None))
    if known is None:
        return None
    counts = known.in_words(f"{int(side.value):,}")
    is_stated = not known.rank or known.rank in spoken.ranks
    if is_stated or printed_by_peft(context.line):
        return Judged("right", counts=counts)
    return None if spoken.ranks else Judged("conditional", side.value, counts, (counts,))


class _SpokenOf(NamedTuple):
    """The kinds of adapters that a text names, by their class here, and the ranks in it."""

    kinds: frozenset[str]
    ranks: frozenset[int]


_KINDS = {
    "Lora": r"\blora\b|low[- ]rank|低秩|\bpeft\b|trainable params|adapter|适配器",
    "IA3": r"\bia3\b|\(ia\)",
    "LNTuning": r"\bln[- ]?tuning|norm.{0,20}\b(?:tun|train)|\b(?:tun|train).{0,20}norm",
    "BitFit": r"bitfit|bias(?:es)?.{0,20}\b(?:tun|train)|\b(?:tun|train).{0,30}bias|偏置",
    "PromptTuning": r"prompt|virtual token|软提示|提示微调",
    "PrefixTuning": r"prefix|virtual token|前缀",
    "PromptEncoder": r"prompt|p-tuning|virtual token",
}
# What LoRA does besides its matrices only if the text names it: arguments of peft's LoraConfig.
_OPTIONS = {"use_dora": r"\bdora\b", "bias=": r"\bbias|偏置", "modules_to_save": r"modules_to_save|pooler|池化"}


@lru_cache(maxsize=8)
def _spoken_of(text: str) -> _SpokenOf:
    kinds = (kind for kind, pattern in {**_KINDS, **_OPTIONS}.items() if re.search(pattern, text, re.I))
    return _SpokenOf(frozenset(kinds), stated_ranks(text))


def _is_spoken_of(known: ChangedCount, spoken: _SpokenOf) -> bool:
    """Whether a text names the kind of an adapter and its unusual options."""
    changes = " ".join(map(str, known.model.changes))
    return all(type(change).__name__ in spoken.kinds for change in known.model.changes) and not any(
        option in changes and option not in spoken.kinds for option in _OPTIONS
    )


def judge_trainable_share(side: ChainSide, context: Context) -> Judged | None:
    """The verdict on the share that peft prints behind the two counts that it is computed from."""
    printed = printed_by_peft(context.line)
    if printed is None or side.text.strip(" %") != printed.share:
        return None
    counts = Problem.of(N_("the share of the trainable parameters"))
    if reason := printed.wrong_share():
        return Judged("wrong", Fraction(printed.trained, max(printed.whole, 1)), counts, (reason,))
    return Judged("right", counts=counts)
